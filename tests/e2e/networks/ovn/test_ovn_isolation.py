"""What a hostile guest in a network of kind OVN tries from inside, frame by frame: as with bridges, so with OVN."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from computeagent.protocol.networks import AddressPair, Direction, GroupRule
from servers.networks.ovn.objects.state import OvnPort
from tests.worlds.bridge_place import Guest
from tests.worlds.frames import arp, ethernet, sees, send, udp4
from tests.worlds.ovn import OPEN, STATE, OvnWorld, until

pytestmark = [pytest.mark.processes, pytest.mark.long]
MARK = b"kilonova-hostile"
BROADCAST, ELSEWHERE = "ff:ff:ff:ff:ff:ff", "fa:16:3e:99:99:99"
ME, OTHER, FROM, TO = "fa:16:3e:00:01:0b", "fa:16:3e:00:01:0c", "10.9.0.11", "10.9.0.12"
LISTENER = "import socket; s = socket.create_server(('', 9000)); print('ready', flush=True)\nwhile 1: s.accept()"
CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], 9000), 1)"


@pytest.fixture
def world(ovn_world: OvnWorld) -> Iterator[OvnWorld]:
    """All lets in and out whatever OVN lets through for other reasons; a1 may send from one more address."""
    every = tuple(GroupRule(f"{way}{version}", way, version) for way in Direction for version in (4, 6))
    first = replace(STATE.ports[0].port, allowed_pairs=(AddressPair("10.9.0.200"),))
    groups = (replace(OPEN, rules=every), *STATE.groups[1:])
    ovn_world.tell(replace(STATE, groups=groups, ports=(OvnPort(first, "hv1"), *STATE.ports[1:])))
    ovn_world.site.central.nb("--wait=hv", "sync")
    yield ovn_world
    ovn_world.tell(STATE)


def inside(world: OvnWorld, name: str) -> Guest:
    port = next(one.port for one in STATE.ports if one.port.id == name)
    return Guest(world[name].namespace, port, port.addresses[0].address, 24)


def test_a_guest_sends_from_its_own_addresses_alone_and_answers_for_nobody(world: OvnWorld) -> None:
    guest, victim = inside(world, "a1"), inside(world, "a2")

    def arrives(frame: bytes, mark: bytes = MARK) -> bool:
        return sees(victim, mark, lambda: send(guest, frame), 0.5)

    own = udp4((ME, OTHER), (FROM, TO), (4000, 4001), MARK)
    until(lambda: arrives(own))
    assert arrives(udp4((ME, OTHER), ("10.9.0.200", TO), (4000, 4001), MARK)), "its allowed pair"
    for macs, address in (((ELSEWHERE, OTHER), FROM), ((ME, OTHER), "10.9.0.77"), ((ME, OTHER), "10.9.0.1")):
        assert not arrives(udp4(macs, (address, TO), (4000, 4001), MARK)), (macs, address)
    mine, foreign = (bytes.fromhex(mac.replace(":", "")) for mac in (ME, ELSEWHERE))
    assert not arrives(arp(ME, ME, "10.9.0.1", TO, operation=2), mine + bytes([10, 9, 0, 1])), "the gateway's address"
    assert not arrives(arp(ME, ELSEWHERE, FROM, TO, operation=2), foreign + bytes([10, 9, 0, 11])), "another MAC"
    offer = udp4((ME, BROADCAST), (FROM, "255.255.255.255"), (67, 68), MARK)
    assert not arrives(offer), "answers of DHCP"
    assert not arrives(ethernet(ELSEWHERE, OTHER, 0x88B5, MARK)), "another protocol from another MAC"
    assert arrives(own), "and its own arrives still"


def test_no_guest_reaches_its_hypervisor(world: OvnWorld) -> None:
    """Neither by the switch's own MAC on the link, nor by the router."""
    chassis, guest = world.site.chassis[0], inside(world, "a1")
    (link,) = json.loads(chassis.run("ip", "-json", "link", "show", "dev", "br-int"))
    process = subprocess.Popen([*chassis.prefix, sys.executable, "-c", LISTENER], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        assert chassis.run(sys.executable, "-c", CONNECT, "192.0.2.11") == "", "it listens"
        assert not guest.succeeds(sys.executable, "-c", CONNECT, "192.0.2.11"), "by the router"
        guest.run("ip", "route", "add", "192.0.2.11/32", "dev", "eth0")
        for mac in (link["address"], "fa:16:3e:00:09:01"):
            guest.run("ip", "neigh", "replace", "192.0.2.11", "lladdr", mac, "dev", "eth0", "nud", "permanent")
            assert not guest.succeeds(sys.executable, "-c", CONNECT, "192.0.2.11"), mac
    finally:
        guest.run("ip", "route", "del", "192.0.2.11/32", "dev", "eth0", check=False)
        guest.run("ip", "neigh", "del", "192.0.2.11", "dev", "eth0", check=False)
        process.kill()
        process.wait()
