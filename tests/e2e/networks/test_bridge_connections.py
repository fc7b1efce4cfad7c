"""Guests of one network reach each other and nobody else, and get their addresses by DHCP."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv6Network
from typing import Any

import pytest

from computeagent.networks.base import NetworkError, tap_name
from computeagent.networks.bridge.plug import BridgePlug
from computeagent.protocol.networks import FixedAddress, HostRoute, SubnetSpec
from controlplane.kernel.macs import eui64
from tests.fixtures.patience import eventually
from tests.worlds.bridge_place import OPEN, Guest, Place, document, network, new_id, port_in, port_spec, run
from tests.worlds.dhcp6 import CLIENT

pytestmark = [pytest.mark.processes, pytest.mark.long]
IN_OPEN = {"group_ids": (OPEN.id,)}


def test_guests_of_one_network_reach_each_other_and_those_of_another_do_not(place: Place) -> None:
    place.plug.open()
    first, second = network(), network()
    a, b = port_in(first, "10.50.0.5", **IN_OPEN), port_in(first, "10.50.0.6", **IN_OPEN)
    c, d = port_in(second, "10.50.0.6", **IN_OPEN), port_in(second, "10.50.0.7", **IN_OPEN)
    applied = place.plug.apply(document([first, second], [a, b, c, d]))
    assert applied.problems == ()
    guest_a, guest_b, guest_c, guest_d = (place.guest(port) for port in (a, b, c, d))
    guest_b.listens(80)
    guest_c.listens(81)
    assert guest_a.pings("10.50.0.6") and guest_a.asks("10.50.0.6", 80) and not guest_a.asks("10.50.0.6", 81)
    assert guest_d.pings("10.50.0.6") and guest_d.asks("10.50.0.6", 81) and not guest_d.asks("10.50.0.6", 80)
    assert not guest_a.pings("10.50.0.7")
    shown = json.loads(place.run("ip", "-json", "address", "show"))
    assert [each["ifname"] for each in shown if each["addr_info"] and each["ifname"].startswith("kn")] == []
    applied = place.plug.apply(document([first, second], [a, b, c, d]))
    assert set(applied.active_ports) == {a.id, b.id, c.id, d.id}


def test_a_guest_is_told_its_address_and_all_that_belongs_to_it(place: Place, tmp_path: object) -> None:
    of = network("10.51.0.0/24", mtu=1400)
    subnet = replace(of.subnets[0], dns_servers=("192.0.2.53",), routes=(HostRoute("198.51.100.0/24", "10.51.0.9"),))
    of = replace(of, subnets=(subnet,))
    port = port_in(of, "10.51.0.5", hostname="web-1", **IN_OPEN)
    hostile = port_in(of, "10.51.0.6", hostname="x,set:a\ndhcp-script=/bin/sh", **IN_OPEN)
    assert place.plug.apply(document([of], [port, hostile])).problems == ()
    told = _lease(place, place.guest(port, configured=False))
    assert told["ip"] == "10.51.0.5" and told["mask"] == "24" and told["mtu"] == "1400" and told["hostname"] == "web-1"
    assert told["router"] == "10.51.0.1" and told["dns"] == "192.0.2.53"
    assert told["staticroutes"].split() == ["198.51.100.0/24", "10.51.0.9", "0.0.0.0/0", "10.51.0.1"]
    other = _lease(place, place.guest(hostile, configured=False))
    assert other["ip"] == "10.51.0.6" and "hostname" not in other


def test_an_address_goes_to_another_port_at_once(place: Place) -> None:
    of = network()
    first, second = port_in(of, "10.50.0.5", **IN_OPEN), port_in(of, "10.50.0.5", **IN_OPEN)
    place.plug.apply(document([of], [first]))
    assert _lease(place, place.guest(first, configured=False))["ip"] == "10.50.0.5"
    place.plug.apply(document([of], [second], revision=2))
    assert _lease(place, place.guest(second, configured=False))["ip"] == "10.50.0.5"


def test_a_guest_asks_for_its_address_of_ipv6_and_makes_none_up(place: Place) -> None:
    """dnsmasq says by its advertisements that addresses are to be asked for, and makes nobody a router; who asks gets
    the port's address, whichever other one it would like, and who has none of IPv6 gets none.
    """
    of = network()
    six = SubnetSpec(id=new_id(), cidr="fd00:50::/64", dns_servers=("fd00:50::53",))
    of = replace(of, subnets=(*of.subnets, six))
    a, b = (port_in(of, f"10.50.0.{n}", f"fd00:50::{n}", **IN_OPEN) for n in (5, 6))
    four = port_in(of, "10.50.0.7", **IN_OPEN)
    assert place.plug.apply(document([of], [a, b, four])).problems == ()
    guest_a, guest_b, guest_four = (place.guest(each, configured=False) for each in (a, b, four))

    leases = [_lease6(each) for each in (guest_a, guest_b)]
    assert leases == [{"answer": 7, "address": f"fd00:50::{n}", "dns": ["fd00:50::53"]} for n in (5, 6)]
    assert _lease6(guest_four)["address"] == ""
    for guest, lease in ((guest_a, leases[0]), (guest_b, leases[1])):
        assert _addresses6(guest) == [], "an advertisement made it take an address by itself"
        guest.run("ip", "address", "add", f"{lease['address']}/64", "dev", "eth0", "nodad")
    assert guest_a.pings("fd00:50::6", 2)
    assert "default" not in guest_a.run("ip", "-6", "route")


@pytest.mark.parametrize("mode", ["slaac", "dhcpv6-stateless"])
def test_a_guest_makes_the_address_that_it_is_let_send_from(place: Place, mode: str) -> None:
    """The prefix is advertised, the kernel makes the address that our rows have, and the rules know it."""
    six = SubnetSpec(id=new_id(), cidr="fd00:50::/64", dns_servers=("fd00:50::53",), ipv6_mode=mode)
    of = replace(network(), subnets=(six,))
    ports = []
    for _ in range(2):
        bare = port_in(of, **IN_OPEN)
        ports.append(replace(bare, addresses=(FixedAddress(six.id, str(eui64(IPv6Network(six.cidr), bare.mac))),)))
    assert place.plug.apply(document([of], ports)).problems == ()
    guests = [place.guest(each, configured=False) for each in ports]
    for guest in guests:
        guest.run("sysctl", "-qw", "net.ipv6.conf.eth0.router_solicitation_interval=1")
        guest.run("ip", "link", "set", "eth0", "down")  # a card that comes up asks for routers
        guest.run("ip", "link", "set", "eth0", "up")
    for guest, port in zip(guests, ports, strict=True):
        eventually(lambda guest=guest: _addresses6(guest), "the guest to make its address")
        assert _addresses6(guest) == [port.addresses[0].address]
    eventually(lambda: guests[0].pings(ports[1].addresses[0].address, 2), "the two to reach each other")
    guests[0].run("ip", "address", "add", "fd00:50::99/64", "dev", "eth0", "nodad")
    assert not guests[0].pings(ports[1].addresses[0].address, 1, "-I", "fd00:50::99")


def _lease6(guest: Guest) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(guest.run(sys.executable, "-c", CLIENT, guest.port.mac))
    return said


def _addresses6(guest: Guest) -> list[str]:
    (link,) = json.loads(guest.run("ip", "-6", "-json", "address", "show", "dev", "eth0"))
    return [each["local"] for each in link["addr_info"] if each["scope"] == "global"]


def test_a_network_reaches_over_two_hosts(make_place: Callable[..., Place]) -> None:
    one, other = make_place(underlay_address="192.0.2.1"), make_place(underlay_address="192.0.2.2")
    run("ip", "-n", one.name, "link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", other.name)
    for place in (one, other):
        place.run("ip", "address", "add", f"{place.place.underlay_address}/24", "dev", "wire")
        place.run("ip", "link", "set", "wire", "mtu", "1600", "up")
    of, another = network(segment=4242), network(segment=4243)
    a, b = port_in(of, "10.50.0.5", **IN_OPEN), port_in(of, "10.50.0.6", **IN_OPEN)
    c = port_in(another, "10.50.0.7", **IN_OPEN)
    nets = [replace(of, peers=("192.0.2.2",)), replace(another, peers=("192.0.2.2",))]
    assert one.plug.apply(document(nets, [a])).problems == ()
    nets = [replace(of, peers=("192.0.2.1",)), replace(another, peers=("192.0.2.1",))]
    assert other.plug.apply(document(nets, [b, c])).problems == ()
    guest_a, guest_b, guest_c = one.guest(a), other.guest(b), other.guest(c)
    guest_b.listens(80)
    assert guest_a.pings("10.50.0.6", 2) and guest_a.asks("10.50.0.6", 80)
    assert not guest_a.pings("10.50.0.7") and not guest_c.pings("10.50.0.5")
    assert guest_a.succeeds("busybox", "ping", "-q", "-c", "1", "-W", "1", "-s", "3000", "10.50.0.6")
    # The other host leaves the network: nothing goes there any more, nor is it taken from there.
    assert one.plug.apply(document([of], [a], revision=2)).problems == ()
    assert not guest_b.pings("10.50.0.5")


def test_a_tap_is_plugged_for_its_user_and_unplugged(make_place: Callable[..., Place]) -> None:
    place = make_place(tap_uid=1234)
    of = network(mtu=1400)
    port = port_in(of, "10.50.0.5", **IN_OPEN)
    with pytest.raises(NetworkError, match="not among those"):
        place.plug.plug(port_spec(port))
    assert place.plug.apply(document([of], [port])).active_ports == ()
    tap = place.plug.plug(port_spec(port))
    assert (tap.name, tap.mtu, tap.has_offloads) == (tap_name(port.id), 1400, True)
    assert place.plug.plug(port_spec(port)) == tap
    (shown,) = json.loads(place.run("ip", "-json", "-details", "link", "show", "dev", tap.name))
    assert shown["linkinfo"]["info_data"]["user"] in {1234, "1234"} and shown["linkinfo"]["info_data"]["vnet_hdr"]
    assert shown["master"].startswith("knb") and shown["mtu"] == 1400
    assert place.plug.apply(document([of], [port])).active_ports == (port.id,)
    place.plug.unplug(port.id)
    place.plug.unplug(port.id)
    assert place.plug.apply(document([of], [port])).active_ports == ()


def _lease(place: Place, guest: object) -> dict[str, str]:
    """What busybox's client was told, by its own names."""
    script = place.directory / "udhcpc.sh"
    script.write_text('#!/bin/sh\n[ "$1" = bound ] && env > "$0.told"\nexit 0\n')
    script.chmod(0o755)
    options = [word for name in ("router", "dns", "hostname", "mtu", "staticroutes") for word in ("-O", name)]
    guest.run("busybox", "udhcpc", "-i", "eth0", "-n", "-q", "-t", "4", "-T", "1", *options, "-s", str(script))  # type: ignore[attr-defined]
    lines = (place.directory / "udhcpc.sh.told").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


HOLD = """
import socket, sys
address, port, many = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
held = []
for _ in range(many):
    one = socket.socket()
    one.settimeout(0.3)
    try:
        one.connect((address, port))
        held.append(one)
    except OSError:
        pass
print(len(held), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("has_security", [True, False])
def test_one_guest_fills_the_hosts_table_of_connections_no_further_than_its_limit(
    make_place: Callable[..., Place], has_security: bool
) -> None:
    place = make_place()
    place.plug = BridgePlug(place.place, place.directory, max_connections=20)
    of = network()
    more = IN_OPEN if has_security else {"has_security": False}
    many, first, second = (port_in(of, f"10.50.0.{number}", **more) for number in (5, 6, 7))
    other = port_in(of, "10.50.0.8", **IN_OPEN)
    assert place.plug.apply(document([of], [many, first, second, other])).problems == ()
    thief, target, another, bystander = (place.guest(each) for each in (many, first, second, other))
    target.listens(80)
    another.listens(80)

    process = thief.start(sys.executable, "-c", HOLD, "10.50.0.6", "80", "30")
    assert process.stdout is not None
    assert 15 <= int(process.stdout.readline()) <= 20
    assert not thief.asks("10.50.0.7", 80)  # it has its share, wherever it turns
    assert not bystander.asks("10.50.0.6", 80)  # so has who was asked
    assert bystander.asks("10.50.0.7", 80)
    process.kill()
