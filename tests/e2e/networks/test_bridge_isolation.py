"""What a hostile guest tries from inside: others' addresses, others' DHCP, its hypervisor, other tenants."""

import ipaddress
import json
import subprocess
import sys
from dataclasses import replace

import pytest

from computeagent.protocol.networks import AddressPair, HostPort, NetworkSpec, SubnetSpec
from tests.worlds.bridge_place import OPEN, Guest, Place, document, network, new_id, port_in
from tests.worlds.frames import arp, ethernet, icmp6, sees, send, udp4, udp6

pytestmark = [pytest.mark.processes, pytest.mark.long]
MARK = b"kilonova-hostile"
BROADCAST = "ff:ff:ff:ff:ff:ff"
ELSEWHERE = "fa:16:3e:99:99:99"


def _pair(place: Place, **more: object) -> tuple[Guest, Guest, NetworkSpec, list[HostPort]]:
    of = network()
    of = replace(of, subnets=(*of.subnets, SubnetSpec(id=new_id(), cidr="fd00:50::/64")))
    ports = [port_in(of, f"10.50.0.{n}", f"fd00:50::{n}", group_ids=(OPEN.id,)) for n in (5, 6)]
    ports[0] = replace(ports[0], **more)
    assert place.plug.apply(document([of], ports)).problems == ()
    guest, victim = (place.guest(port) for port in ports)
    return guest, victim, of, ports


def test_a_guest_sends_from_its_own_addresses_alone(place: Place) -> None:
    guest, victim, _, (port, other) = _pair(place)
    me, to, port_pair = port.mac, other.mac, (4000, 4001)

    def arrives(frame: bytes, mark: bytes = MARK) -> bool:
        return sees(victim, mark, lambda: send(guest, frame), 0.4)

    assert arrives(udp4((me, to), ("10.50.0.5", "10.50.0.6"), port_pair, MARK)), "what is its own arrives"
    assert not arrives(udp4((ELSEWHERE, to), ("10.50.0.5", "10.50.0.6"), port_pair, MARK)), "another's MAC"
    assert not arrives(udp4((me, to), ("10.50.0.9", "10.50.0.6"), port_pair, MARK)), "another's address"
    assert not arrives(udp4((me, to), ("0.0.0.0", "10.50.0.6"), port_pair, MARK)), "no address"  # noqa: S104
    assert arrives(udp6((me, to), ("fd00:50::5", "fd00:50::6"), port_pair, MARK))
    assert not arrives(udp6((me, to), ("fd00:50::9", "fd00:50::6"), port_pair, MARK))
    assert not arrives(udp6((me, to), ("fe80::1", "fd00:50::6"), port_pair, MARK)), "another's link-local address"
    own = bytes.fromhex(me.replace(":", ""))
    assert arrives(arp(me, me, "10.50.0.5", "10.50.0.6"), own + bytes([10, 50, 0, 5]))
    assert not arrives(arp(me, me, "10.50.0.1", "10.50.0.6", operation=2), own + bytes([10, 50, 0, 1]))
    foreign = bytes.fromhex(ELSEWHERE.replace(":", ""))
    assert not arrives(arp(me, ELSEWHERE, "10.50.0.5", "10.50.0.6", operation=2), foreign + bytes([10, 50, 0, 5]))
    assert not arrives(ethernet(me, to, 0x8100, b"\0\x05\x08\0" + MARK)), "a frame of a VLAN"
    assert not arrives(ethernet(me, to, 0x88B5, MARK)), "another protocol than IP"
    other_mac = udp4((me, ELSEWHERE), ("10.50.0.5", "10.50.0.6"), port_pair, MARK)
    assert not arrives(other_mac), "what is for nobody here is not for everybody"


def test_a_guest_neither_routes_for_others_nor_gives_them_addresses(place: Place) -> None:
    guest, victim, of, (port, other) = _pair(place)
    me, everybody = port.mac, "33:33:00:00:00:01"

    def arrives(frame: bytes, mark: bytes) -> bool:
        return sees(victim, mark, lambda: send(guest, frame), 0.4)

    offer = udp4((me, BROADCAST), ("10.50.0.5", "255.255.255.255"), (67, 68), MARK)
    assert not arrives(offer, MARK)
    assert not arrives(udp6((me, other.mac), ("fd00:50::5", "fd00:50::6"), (547, 546), MARK), MARK)
    local = _link_local(port.mac)
    advertisement = bytes([64, 0, 7, 8]) + bytes(8) + MARK
    assert not arrives(icmp6((me, everybody), (local, "ff02::1"), 134, advertisement), MARK)
    assert not arrives(icmp6((me, other.mac), (local, "fd00:50::6"), 137, bytes(4) + MARK), MARK)
    # An address is claimed by a neighbour advertisement: its own it may, others' not.
    for target, is_own in (("fd00:50::5", True), ("fd00:50::1", False), ("fe80::1", False)):
        claim = bytes([0x20, 0, 0, 0]) + ipaddress.ip_address(target).packed + b"\x02\x01" + MARK[:6]
        assert arrives(icmp6((me, everybody), (local, "ff02::1"), 136, claim), MARK[:6]) is is_own, target
    # Without security it may, in its own network.
    place.plug.apply(document([of], [replace(port, has_security=False), other], revision=2))
    assert arrives(offer, MARK)


def test_pairs_that_a_port_may_send_from_besides(place: Place) -> None:
    pairs = (
        AddressPair("10.50.0.100"),
        AddressPair("192.0.2.0/25"),
        AddressPair("10.50.0.200", "00:00:5e:00:01:01"),
        AddressPair("fd00:50::a:0/112"),
    )
    guest, victim, _, (port, other) = _pair(place, allowed_pairs=pairs)
    for mac, address, is_allowed in (
        (port.mac, "10.50.0.100", True),
        (port.mac, "192.0.2.127", True),
        (port.mac, "192.0.2.128", False),
        ("00:00:5e:00:01:01", "10.50.0.200", True),
        (port.mac, "10.50.0.200", False),
        ("00:00:5e:00:01:01", "10.50.0.5", False),
    ):
        frame = udp4((mac, other.mac), (address, "10.50.0.6"), (4000, 4001), MARK)
        assert sees(victim, MARK, lambda frame=frame: send(guest, frame), 0.4) is is_allowed, (mac, address)
    for address, is_allowed in (("fd00:50::a:7", True), ("fd00:50::b:7", False)):
        frame = udp6((port.mac, other.mac), (address, "fd00:50::6"), (4000, 4001), MARK)
        assert sees(victim, MARK, lambda frame=frame: send(guest, frame), 0.4) is is_allowed, address


def test_no_guest_reaches_its_hypervisor(place: Place) -> None:
    """Not by its addresses, not through it, though it routes; and not by the bridge's own MAC."""
    for index, has_security in enumerate((True, False)):
        guest, _, of, _ = _pair(place, has_security=has_security)
        bridge = f"knb{of.id.replace('-', '')[:12]}"
        place.run("ip", "address", "replace", "10.9.9.9/32", "dev", "lo")
        place.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        # It could answer: but for our rules the guest would get through.
        place.run("ip", "route", "replace", "10.50.0.0/24", "dev", bridge, "src", "10.9.9.9")
        mac = _mac_of(place, bridge)
        listener = (
            "import socket; s = socket.create_server(('', 9000)); print('ready', flush=True)\nwhile 1: s.accept()"
        )
        process = subprocess.Popen(
            [*place.place.prefix, sys.executable, "-c", listener], stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            guest.run("ip", "route", "add", "10.9.9.9/32", "dev", "eth0")
            guest.run("ip", "neigh", "replace", "10.9.9.9", "lladdr", mac, "dev", "eth0", "nud", "permanent")
            assert not guest.asks("10.9.9.9", 9000) and not guest.pings("10.9.9.9")
            local = _link_local(mac)
            assert not guest.pings(f"{local}%eth0"), index
        finally:
            process.kill()
            process.wait()


def test_the_service_namespace_serves_this_hosts_guests_and_nothing_else(place: Place) -> None:
    guest, victim, of, ports = _pair(place)
    prefix = place.plug.service_prefix(of.id)
    assert prefix is not None and place.plug.service_prefix(new_id()) is None
    server = (
        "import socket\ns = socket.create_server(('', 80)); t = socket.create_server(('', 81))\n"
        "print('ready', flush=True)\n"
        "while 1:\n    c, peer = s.accept(); c.recv(9); c.send(b'hello\\n'); print(peer[0], flush=True); c.close()"
    )
    process = subprocess.Popen([*prefix, sys.executable, "-c", server], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        # By the gateway, which is not there: the frame is for its MAC, and comes to the namespace all the same.
        guest.run("ip", "route", "add", "169.254.169.254/32", "via", "10.50.0.1")
        guest.run("ip", "neigh", "replace", "10.50.0.1", "lladdr", ELSEWHERE, "dev", "eth0", "nud", "permanent")
        assert guest.asks("169.254.169.254", 80) and process.stdout.readline() == "10.50.0.5\n"
        assert not guest.asks("169.254.169.254", 81)
        # And where the address is on the link.
        victim.run("ip", "route", "add", "169.254.169.254/32", "dev", "eth0")
        assert victim.asks("169.254.169.254", 80) and process.stdout.readline() == "10.50.0.6\n"
        # Nobody asks under another's address, with or without security.
        place.plug.apply(document([of], [replace(ports[0], has_security=False), ports[1]], revision=2))
        assert guest.asks("169.254.169.254", 80)
        guest.run("ip", "address", "add", "10.50.0.66/24", "dev", "eth0")
        guest.run("ip", "route", "replace", "169.254.169.254/32", "via", "10.50.0.1", "src", "10.50.0.66")
        assert not guest.asks("169.254.169.254", 80)
    finally:
        process.kill()
        process.wait()


def _mac_of(place: Place, link: str) -> str:
    (shown,) = json.loads(place.run("ip", "-json", "link", "show", "dev", link))
    return str(shown["address"])


def _link_local(mac: str) -> str:
    octets = bytearray.fromhex(mac.replace(":", ""))
    octets[0] ^= 2
    halves = (octets[:3] + b"\xff\xfe" + octets[3:]).hex(":", 2)
    return f"fe80::{halves}"
