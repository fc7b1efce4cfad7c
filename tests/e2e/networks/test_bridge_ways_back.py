"""An agent that is killed anywhere while it carries out a document, and what others did to its work meanwhile."""

import json
import os
import pickle
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from computeagent.networks.bridge.dhcp_server import running
from computeagent.networks.bridge.plug import BridgePlug
from computeagent.protocol.networks import HostNetworks, RouterLeg, RouterSpec, SubnetSpec
from controlplane.kernel.kill_points import VARIABLE
from tests.fixtures.patience import PATIENCE_S
from tests.fixtures.processes import ROOT
from tests.worlds.bridge_place import OPEN, Place, document, group, network, new_id, port_in, rule

pytestmark = [pytest.mark.processes, pytest.mark.long]
IN_OPEN = {"group_ids": (OPEN.id,)}
PROGRAM = """
import pickle, sys
from computeagent.networks.bridge.plug import BridgePlug
place, directory, documents = pickle.load(sys.stdin.buffer)
plug = BridgePlug(place, directory)
for wanted in documents:
    print([str(problem) for problem in plug.apply(wanted).problems])
"""


def _agent(place: Place, documents: Sequence[HostNetworks], drill: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=pickle.dumps((place.place, place.directory, list(documents))),
        capture_output=True,
        check=False,
        cwd=ROOT,
        timeout=PATIENCE_S,
        env={**os.environ, VARIABLE: str(drill)},
    )


def _state(place: Place) -> dict[str, object]:
    """All that can be seen of what was made."""
    links = json.loads(place.run("ip", "-json", "link", "show"))
    state: dict[str, object] = {
        "links": sorted((each["ifname"], each.get("master"), each["mtu"], each.get("ifalias")) for each in links),
        "rules": sorted(place.run("nft", "list", "ruleset").splitlines()),
        "fdb": sorted(each["dst"] for each in json.loads(place.run("bridge", "-json", "fdb", "show")) if "dst" in each),
        "files": sorted(str(path) for path in place.directory.rglob("*") if path.name != "leases"),
    }
    names = sorted(name for name in os.listdir("/run/netns") if name.startswith(f"{place.name}-"))
    for name in names:
        addresses = json.loads(place.run("ip", "-netns", name, "-json", "address", "show"))
        state[name] = (
            sorted(f"{a['local']}/{a['prefixlen']}" for each in addresses for a in each["addr_info"]),
            place.run("ip", "-netns", name, "route", "show"),
            sorted(place.run("nsenter", f"--net=/run/netns/{name}", "nft", "list", "ruleset").splitlines()),
        )
    state["servers"] = sorted(
        str(path.parent) for path in place.directory.rglob("dnsmasq.conf") if running(path.parent) is not None
    )
    state["processes"] = len(_servers(place))
    return state


def _servers(place: Place) -> list[int]:
    mark, found = str(place.directory).encode(), []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
        except OSError:
            continue
        if words.startswith(b"dnsmasq") and mark in words:
            found.append(int(path.parent.name))
    return found


def _documents() -> tuple[HostNetworks, HostNetworks]:
    """One, and another in which everything is something else: one network stays, with another port."""
    first, second, third = network(segment=11, peers=("192.0.2.2",)), network(), network("10.60.0.0/24", segment=13)
    first = replace(first, subnets=(*first.subnets, SubnetSpec(id=new_id(), cidr="fd00:50::/64", gateway="fd00:50::1")))
    a, b, c, d = (
        port_in(first, "10.50.0.5", **IN_OPEN),
        port_in(second, "10.50.0.5", **IN_OPEN),
        port_in(first, "10.50.0.6", "fd00:50::6", **IN_OPEN),
        port_in(third, "10.60.0.6", **IN_OPEN),
    )
    legs = [port_in(first, "10.50.0.1", "fd00:50::1"), port_in(second, "10.50.0.1"), port_in(third, "10.60.0.1")]
    leg_a, leg_b, leg_c = (RouterLeg(leg.id, leg.network_id, leg.mac, leg.addresses) for leg in legs)
    routers = RouterSpec(id=new_id(), legs=(leg_b,)), RouterSpec(id=new_id(), legs=(leg_a, leg_c))
    return (
        document([first, second], [a, b], routers=routers[:1]),
        document([replace(first, peers=("192.0.2.3",)), third], [c, d], revision=2, routers=routers[1:]),
    )


def test_killed_anywhere_and_started_again_it_ends_the_same(make_place: object, tmp_path: Path) -> None:
    place: Place = make_place(underlay_address="192.0.2.1")  # type: ignore[operator]
    place.run("ip", "address", "add", "192.0.2.1/32", "dev", "lo")
    before, after = _documents()
    drill = tmp_path / "drill"
    (drill / "armed").mkdir(parents=True)
    done = _agent(place, [before, after], drill)
    assert done.stdout.decode() == "[]\n[]\n", done.stderr.decode()
    assert _agent(place, [after], drill).stdout == b"[]\n"  # numbers of profiles are those of a new agent
    state = _state(place)
    assert state["processes"] == 3 and len(state["servers"]) == 3  # type: ignore[arg-type]
    points = sorted(path.name for path in (drill / "seen").iterdir() if ".bridge." in path.name)
    assert len(points) >= 10
    for point in points:
        assert _agent(place, [before], drill).stdout == b"[]\n"
        (drill / "armed" / point).write_text("kill")
        assert _agent(place, [after], drill).returncode == -signal.SIGKILL, point
        assert _agent(place, [after], drill).stdout == b"[]\n", point
        assert _state(place) == state, point
    BridgePlug(place.place, place.directory).apply(document([], []))
    assert _servers(place) == []


A_SERVER = "the id of a process that answers DHCP"


def test_what_somebody_else_removed_is_there_again(place: Place) -> None:
    of = network()
    group_of = group(rule(OPEN.rules[0].direction))
    ports = [port_in(of, f"10.50.0.{n}", group_ids=(group_of.id, OPEN.id)) for n in (5, 6)]
    leg = port_in(of, "10.50.0.1")
    router = RouterSpec(id=new_id(), legs=(RouterLeg(leg.id, of.id, leg.mac, leg.addresses),))
    wanted = document([of], ports, [OPEN, group_of], routers=(router,))
    assert place.plug.apply(wanted).problems == ()
    guest, other = (place.guest(port) for port in ports)
    state = _state(place)
    bridge = f"knb{of.id.replace('-', '')[:12]}"
    for harm in (
        ("nft", "delete", "table", "bridge", "kilonova"),
        ("nft", "flush", "ruleset"),
        ("ip", "link", "delete", "dev", bridge),
        ("ip", "link", "set", "dev", bridge, "type", "bridge", "nf_call_iptables", "0"),
        ("ip", "netns", "delete", f"{place.name}-net-{of.id.replace('-', '')[:12]}"),
        ("ip", "netns", "delete", f"{place.name}-router-{router.id.replace('-', '')[:12]}"),
        ("kill", "-9", A_SERVER),
    ):
        # By now: what was harmed before may have brought another one.
        place.run(*(str(_servers(place)[0]) if word == A_SERVER else word for word in harm))
        assert place.plug.apply(wanted).problems == (), harm
        assert _without_zones(_state(place)) == _without_zones(state), harm
        assert guest.pings("10.50.0.6") and other.pings("10.50.0.1"), harm


def test_a_later_document_is_carried_out_on_what_somebody_else_harmed(place: Place) -> None:
    """Rules are changed by what differs; where the kernel has something else, they are made anew."""
    of = network()
    ports = [port_in(of, f"10.50.0.{n}", **IN_OPEN) for n in (5, 6, 7)]
    place.plug.apply(document([of], ports[:2]))
    place.run("nft", "flush", "ruleset")
    assert place.plug.apply(document([of], ports, revision=2)).problems == ()
    clean = BridgePlug(place.place, place.directory)
    changed = _state(place)
    clean.apply(document([of], ports))
    assert _state(place) == changed
    # One that is older than that in force is not carried out: a port's tap would go.
    assert place.plug.apply(document([of], [], revision=1)).revision == 2
    assert _state(place) == changed


def _without_zones(state: dict[str, object]) -> dict[str, object]:
    """A bridge that was made anew may have another number."""
    return {key: re.sub(r"zone \d+", "zone", repr(value)) for key, value in state.items() if key != "files"}
