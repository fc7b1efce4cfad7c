"""A host's part of networks of kind OVN, on a real OVN."""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from computeagent.networks.base import NetworkAbilities, NetworkError, NetworkPlace, tap_name
from computeagent.networks.bridge.commands import Commands
from computeagent.networks.ovn.datapath import Datapath
from computeagent.networks.ovn.limits import ConnectionLimits
from computeagent.networks.ovn.plug import OvnPlug
from computeagent.networks.ovn.switch import Switch
from computeagent.protocol.guests import PortSpec
from computeagent.protocol.networks import HostNetworks, HostPort, NetworkBackendKind
from servers.networks.ovn.objects.state import OvnPort
from tests.fixtures.ovn import Chassis
from tests.worlds.ovn import NET_A, NET_B, STATE, A, B, OvnWorld, guest_port, until

pytestmark = [pytest.mark.processes, pytest.mark.long]
OVN = NetworkBackendKind.OVN
TAPPED = guest_port("5cf0e2f4-0000-4000-8000-000000000031", NET_A, 31, "open")
WEB = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = (sys.argv[1] + " " + self.client_address[0]).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers()
        self.wfile.write(body)
    def log_message(self, *a): pass
http.server.HTTPServer(("169.254.169.254", 80), Handler).serve_forever()
"""
FLOOD = """
import socket, sys
for number in range(int(sys.argv[2])):
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.bind(("", 20000 + number))
    one.sendto(b"x", (sys.argv[1], 9000))
"""
ASK = "import urllib.request as u; print(u.urlopen('http://169.254.169.254/', timeout=2).read().decode())"


def plug_of(
    chassis: Chassis, host: str = "", *, database: str = "", ready_s: int = 30, max_connections: int = 0
) -> OvnPlug:
    place = NetworkPlace(
        prefix=("nsenter", f"--net=/run/netns/{chassis.namespace}"), namespace_prefix=chassis.namespace
    )
    where = database or f"unix:{chassis.socket}"
    return OvnPlug(place, host or chassis.name, where, ready_s=ready_s, max_connections=max_connections)


@pytest.fixture
def world(ovn_world: OvnWorld) -> Iterator[OvnWorld]:
    ovn_world.tell(replace(STATE, ports=(*STATE.ports, OvnPort(TAPPED, "hv1"))))
    yield ovn_world
    plug = plug_of(ovn_world.site.chassis[0])
    plug.open()
    plug.apply(HostNetworks(99, OVN))
    ovn_world.tell(STATE)


@pytest.fixture
def plug(world: OvnWorld) -> OvnPlug:
    found = plug_of(world.site.chassis[0])
    found.open()
    return found


def document(revision: int, *ports: HostPort) -> HostNetworks:
    return HostNetworks(revision, OVN, networks=(A, B), ports=ports)


def spec(port: HostPort) -> PortSpec:
    return PortSpec(port.mac, port.network_id, id=port.id, kind=OVN)


def test_a_port_is_plugged_and_its_rules_are_in_force(world: OvnWorld, plug: OvnPlug) -> None:
    assert plug.abilities() == NetworkAbilities((OVN,), ("physnet1",))
    assert plug.apply(document(1, TAPPED)).active_ports == ()
    tap = plug.plug(spec(TAPPED))
    assert (tap.name, tap.mtu, tap.has_offloads) == (tap_name(TAPPED.id), 1442, False)
    assert plug.plug(spec(TAPPED)) == tap
    assert plug.apply(document(1, TAPPED)).active_ports == (TAPPED.id,)
    until(lambda: world.ups.get(TAPPED.id))
    plug.unplug(TAPPED.id)
    plug.unplug(TAPPED.id)
    assert plug.apply(document(1, TAPPED)).active_ports == ()
    until(lambda: not world.ups[TAPPED.id])


def test_what_no_document_names_is_removed(world: OvnWorld, plug: OvnPlug) -> None:
    """Also a tap that a killed agent made and joined to nothing, and never what others joined."""
    chassis = world.site.chassis[0]
    plug.apply(document(1, TAPPED))
    plug.plug(spec(TAPPED))
    chassis.run("ip", "tuntap", "add", "tp0123456789ab", "mode", "tap")
    guests = chassis.vsctl("list-ports", "br-int").split()
    again = plug_of(chassis)
    again.open()
    assert again.apply(document(2)) == again.apply(document(2))
    links = chassis.run("ip", "-brief", "link")
    assert tap_name(TAPPED.id) not in links
    assert "tp0123456789ab" not in links
    assert "kns" not in links
    left = chassis.vsctl("list-ports", "br-int").split()
    assert {"g0", "g1"} <= set(left)
    assert set(guests) - set(left) == {tap_name(TAPPED.id), *(one for one in guests if one.startswith("kns"))}


def test_a_port_that_ovn_does_not_know_is_refused(world: OvnWorld) -> None:
    plug = plug_of(world.site.chassis[0], ready_s=1)
    plug.open()
    unknown = guest_port("5cf0e2f4-0000-4000-8000-000000000032", NET_A, 32, "open")
    plug.apply(document(1, unknown))
    with pytest.raises(NetworkError, match="OVN did not have its rules in force within 1 s"):
        plug.plug(spec(unknown))
    with pytest.raises(NetworkError, match="not among those"):
        plug.plug(spec(TAPPED))


def test_an_earlier_document_takes_nothing_away(plug: OvnPlug) -> None:
    plug.apply(document(5, TAPPED))
    plug.plug(spec(TAPPED))
    applied = plug.apply(document(4))
    assert (applied.revision, applied.active_ports) == (5, (TAPPED.id,))


def test_metadata_is_answered_on_the_guests_own_host(world: OvnWorld, plug: OvnPlug) -> None:
    """Two networks with equal addresses each have a place of their own, and each guest is seen under its address."""
    chassis = world.site.chassis[0]
    here = [one.port for one in STATE.ports if one.host == "hv1"]
    applied = plug.apply(document(1, *here))
    assert not applied.problems
    servers = []
    try:
        for network in (NET_A, NET_B):
            prefix = plug.service_prefix(network)
            assert prefix is not None
            servers.append(subprocess.Popen([*prefix, sys.executable, "-c", WEB, f"{chassis.name} {network[-1]}"]))
        for name, said in (("a1", "hv1 a 10.9.0.11"), ("b1", "hv1 b 10.9.0.12")):
            guest = world[name]
            guest.run("ip", "route", "replace", "169.254.169.254/32", "dev", "eth0")
            ask = (sys.executable, "-c", ASK)
            until(lambda guest=guest, ask=ask: guest.run(*ask, check=False))  # type: ignore[misc]
            assert guest.run(*ask) == said
    finally:
        for server in servers:
            server.kill()
            server.wait()
    assert plug.apply(document(1, *here)) == replace(applied, active_ports=plug.apply(document(1, *here)).active_ports)


def test_each_port_has_its_share_of_connections_and_no_more(world: OvnWorld) -> None:
    """Limits are set with the plug, healed, changed, and go with the port; others' zones have none."""
    chassis = world.site.chassis[0]
    plug = plug_of(chassis, max_connections=7)
    plug.open()
    plug.apply(document(1, TAPPED))
    assert limits(chassis) == {}
    plug.plug(spec(TAPPED))
    assert limits(chassis) == {TAPPED.id: 7}
    chassis.appctl("dpctl/ct-del-limits", f"zone={zones(chassis)[TAPPED.id]}")
    chassis.appctl("dpctl/ct-set-limits", f"zone={zones(chassis)['b1']},limit=3")
    assert plug.apply(document(1, TAPPED)).problems == ()
    assert limits(chassis) == {TAPPED.id: 7}
    changed = plug_of(chassis, max_connections=9)
    changed.open()
    changed.apply(document(2, TAPPED))
    assert limits(chassis) == {TAPPED.id: 9}
    changed.unplug(TAPPED.id)
    changed.apply(document(2, TAPPED))
    assert limits(chassis) == {}


def test_a_guest_fills_the_table_of_connections_no_further(world: OvnWorld) -> None:
    chassis, guest = world.site.chassis[0], world["a1"]
    switch = Switch(Commands(()), chassis.name, f"unix:{chassis.socket}")
    held = ConnectionLimits(Datapath(Commands(()), f"unix:{chassis.socket}"), switch, 10)
    held.ensure(["a1"])
    guest.run(sys.executable, "-c", FLOOD, "10.9.0.12", "60")
    said = chassis.appctl("dpctl/ct-get-limits", f"zone={zones(chassis)['a1']}")
    assert "limit=10,count=10" in said, said
    assert world["b1"].pings("10.9.0.13"), "others have theirs"
    ConnectionLimits(Datapath(Commands(()), f"unix:{chassis.socket}"), switch, 0).ensure(["a1"])
    assert limits(chassis) == {}
    assert guest.pings("10.9.0.12")


def zones(chassis: Chassis) -> dict[str, int]:
    return Switch(Commands(()), chassis.name, f"unix:{chassis.socket}").zones()


def limits(chassis: Chassis) -> dict[str, int]:
    """Of ports, as the switch itself says them."""
    by_zone = {str(zone): port for port, zone in zones(chassis).items()}
    said = re.findall(r"zone=(\d+),limit=(\d+)", chassis.appctl("dpctl/ct-get-limits"))
    return {by_zone[zone]: int(limit) for zone, limit in said}


def test_a_host_says_what_it_lacks(world: OvnWorld) -> None:
    chassis = world.site.chassis[0]
    with pytest.raises(NetworkError, match=r"knows this host as hv1, and its agent is other"):
        plug_of(chassis, "other").open()
    with pytest.raises(NetworkError, match=r"Open vSwitch does not run"):
        plug_of(chassis, database="unix:/nowhere").open()
