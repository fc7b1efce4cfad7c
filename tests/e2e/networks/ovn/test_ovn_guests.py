"""Networks of kind OVN on a real OVN: two chassis, namespaces as guests.

What is wanted comes as values; that rows become those is for the tests of services.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv6Network

import pytest

from computeagent.protocol.networks import (
    AddressPair,
    Direction,
    FixedAddress,
    GroupRule,
    GroupSpec,
    HostRoute,
    RouterLeg,
    SubnetSpec,
)
from controlplane.kernel.macs import eui64
from servers.networks.ovn.objects.groups import NUMBERS
from servers.networks.ovn.objects.state import OvnPort, OvnState
from tests.fixtures.ovn import Guest
from tests.worlds.dhcp6 import CLIENT
from tests.worlds.ovn import OPEN, STATE, OvnWorld, until

pytestmark = [pytest.mark.processes, pytest.mark.long]


@pytest.fixture
def world(ovn_world: OvnWorld) -> Iterator[OvnWorld]:
    yield ovn_world
    if ovn_world.state is not STATE:
        ovn_world.tell(STATE)


CONNECT = """
import socket, sys
address, port, source = sys.argv[1:]
socket.create_connection((address, int(port)), 1, (source, 0) if source else None)
"""

SIX_GATEWAY = FixedAddress("sub-6", "fd00:9::1")
SEND = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 0))
s.sendto(b"hello", (sys.argv[2], 26))
"""
HEAR = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('', 26))
print('ready', flush=True)
while 1:
    print(s.recvfrom(9)[1][0], flush=True)
"""


def connects(guest: Guest, address: str, port: int, *, sent_from: str = "") -> bool:
    command = [sys.executable, "-c", CONNECT, address, str(port), sent_from]
    done = subprocess.run(["ip", "netns", "exec", guest.namespace, *command], capture_output=True, check=False)
    return done.returncode == 0


@pytest.fixture
def listener(world: OvnWorld) -> Iterator[int]:
    """Port 8080 of a2 answers."""
    code = "import socket as s; l=s.create_server(('',8080)); all(iter(lambda: l.accept()[0].close() or 1, 0))"
    process = subprocess.Popen(["ip", "netns", "exec", world["a2"].namespace, sys.executable, "-c", code])
    until(lambda: ":8080" in world["a2"].run("ss", "-ltn"))
    yield 8080
    process.kill()
    process.wait()


def with_group(state: OvnState, group: GroupSpec) -> OvnState:
    return replace(state, groups=(*(one for one in state.groups if one.id != group.id), group))


def test_dhcp_tells_address_route_mtu_and_name(world: OvnWorld) -> None:
    lease = world["a1"].lease(world.script)
    assert (lease["ip"], lease["router"], lease["mtu"]) == ("10.9.0.11", "10.9.0.1", "1442")
    assert (lease["hostname"], lease["dns"]) == ("web-1", "9.9.9.9")
    assert "169.254.169.254/32 0.0.0.0" in lease["staticroutes"]
    assert "0.0.0.0/0 10.9.0.1" in lease["staticroutes"]


def test_a_guest_asks_for_its_address_of_ipv6_and_hears_of_the_way_out(world: OvnWorld) -> None:
    """As with bridges: nobody makes an address up, and the router alone is a way out."""
    six = SubnetSpec("sub-6", "fd00:9::/64", "fd00:9::1", dns_servers=("fd00:9::53",))
    net = replace(STATE.networks[0], subnets=(*STATE.networks[0].subnets, six))
    ports = tuple(
        OvnPort(
            replace(one.port, addresses=(*one.port.addresses, FixedAddress("sub-6", f"fd00:9::{number}"))), one.host
        )
        for number, one in enumerate(STATE.ports[:2], start=11)
    )
    leg = replace(
        STATE.routers[0].router.legs[0],
        addresses=(FixedAddress("sub-a", "10.9.0.1"), FixedAddress("sub-6", "fd00:9::1")),
    )
    router = replace(STATE.routers[0], router=replace(STATE.routers[0].router, legs=(leg,)))
    state = with_group(STATE, replace(OPEN, rules=(*OPEN.rules, GroupRule("out6", Direction.EGRESS, 6))))
    world.tell(replace(state, networks=(net, *STATE.networks[1:]), ports=(*ports, *STATE.ports[2:]), routers=(router,)))
    world.site.central.nb("--wait=hv", "sync")
    guest = world["a1"]
    guest.run("sysctl", "-qw", "net.ipv6.conf.eth0.router_solicitations=5")
    guest.run("ip", "link", "set", "eth0", "down")  # a card that comes up asks for routers
    guest.run("ip", "link", "set", "eth0", "up")
    guest.address("10.9.0.11/24", "10.9.0.1")
    try:
        lease = json.loads(guest.run(sys.executable, "-c", CLIENT, "fa:16:3e:00:01:0b"))
        assert lease == {"answer": 7, "address": "fd00:9::11", "dns": ["fd00:9::53"]}
        until(lambda: "default via fe80::" in guest.run("ip", "-6", "route"))
        assert "scope global" not in guest.run("ip", "-6", "address", "show", "dev", "eth0")
        for name, address in (("a1", lease["address"]), ("a2", "fd00:9::12")):
            world[name].run("ip", "address", "add", f"{address}/64", "dev", "eth0", "nodad")
        until(lambda: guest.run("busybox", "ping", "-c1", "-W1", "fd00:9::1", check=False).count("1 packets received"))
    finally:
        for name in ("a1", "a2"):
            world[name].run("ip", "-6", "address", "flush", "dev", "eth0", "scope", "global")


@pytest.mark.parametrize("mode", ["slaac", "dhcpv6-stateless"])
def test_a_guest_makes_the_address_that_it_is_let_send_from(world: OvnWorld, mode: str) -> None:
    """As with bridges: the router advertises the prefix, and the address that the kernel makes is the port's."""
    six = SubnetSpec("sub-6", "fd00:9::/64", "fd00:9::1", dns_servers=("fd00:9::53",), ipv6_mode=mode)
    net = replace(STATE.networks[0], subnets=(*STATE.networks[0].subnets, six))
    made = {one.port.id: str(eui64(IPv6Network(six.cidr), one.port.mac)) for one in STATE.ports[:2]}
    ports = tuple(
        OvnPort(replace(one.port, addresses=(*one.port.addresses, FixedAddress("sub-6", made[one.port.id]))), one.host)
        for one in STATE.ports[:2]
    )
    legs = (*STATE.routers[0].router.legs, RouterLeg("leg-6", net.id, "fa:16:3e:00:09:06", (SIX_GATEWAY,)))
    router = replace(STATE.routers[0], router=replace(STATE.routers[0].router, legs=legs))
    rules = (*OPEN.rules, GroupRule("out6", Direction.EGRESS, 6), GroupRule("in6", Direction.INGRESS, 6))
    state = with_group(STATE, replace(OPEN, rules=rules))
    world.tell(replace(state, networks=(net, *STATE.networks[1:]), ports=(*ports, *STATE.ports[2:]), routers=(router,)))
    world.site.central.nb("--wait=hv", "sync")
    try:
        for name in made:
            world[name].run("sysctl", "-qw", "net.ipv6.conf.eth0.router_solicitations=5")
            world[name].run("ip", "link", "set", "eth0", "down")  # a card that comes up asks for routers
            world[name].run("ip", "link", "set", "eth0", "up")
        for name, address in made.items():
            until(lambda name=name, address=address: address in world[name].run("ip", "-6", "address"))
        ping = ("busybox", "ping", "-c1", "-W1", made["a2"])
        until(lambda: world["a1"].run(*ping, check=False).count("1 packets received"))
        if mode == "dhcpv6-stateless":
            lease = json.loads(world["a1"].run(sys.executable, "-c", CLIENT, "fa:16:3e:00:01:0b"))
            assert lease.get("address", "") == ""
    finally:
        for name, address in (("a1", "10.9.0.11"), ("a2", "10.9.0.12")):
            world[name].run("ip", "-6", "address", "flush", "dev", "eth0", "scope", "global")
            world[name].address(f"{address}/24", "10.9.0.1")


def test_one_network_reaches_across_hosts_and_no_other(world: OvnWorld) -> None:
    """Both networks have the same addresses: a1 pings 10.9.0.12 of its own, and 10.9.0.13 is in the other."""
    assert world["a1"].pings("10.9.0.12")
    assert world["b1"].pings("10.9.0.13")
    assert not world["a1"].pings("10.9.0.13", within_s=0)


def test_a_rule_opens_a_port_and_closes_it(world: OvnWorld, listener: int) -> None:
    assert not connects(world["a1"], "10.9.0.12", listener)
    began = time.monotonic()
    world.tell(
        with_group(STATE, replace(OPEN, rules=(*OPEN.rules, GroupRule("web", Direction.INGRESS, 4, "tcp", 8080, 8080))))
    )
    until(lambda: connects(world["a1"], "10.9.0.12", listener))
    print(f"rule to effect: {time.monotonic() - began:.3f} s")
    world.tell(STATE)
    until(lambda: not connects(world["a1"], "10.9.0.12", listener))


def test_a_group_lets_in_the_members_of_another(world: OvnWorld, listener: int) -> None:
    web = GroupRule("web", Direction.INGRESS, 4, "tcp", 8080, 8080, remote_group_id="closed")
    state = with_group(STATE, replace(OPEN, rules=(*OPEN.rules, web)))
    world.tell(state)
    time.sleep(0.3)
    assert not connects(world["a1"], "10.9.0.12", listener)
    member = OvnPort(replace(STATE.ports[0].port, group_ids=("open", "closed")), "hv1")
    world.tell(replace(state, ports=(member, *STATE.ports[1:])))
    until(lambda: connects(world["a1"], "10.9.0.12", listener))


def test_a_group_lets_in_what_members_of_another_may_send_from_besides(world: OvnWorld, listener: int) -> None:
    """An address that a1 has by an allowed pair, as one that two guests take over from each other."""
    web = GroupRule("web", Direction.INGRESS, 4, "tcp", 8080, 8080, remote_group_id="closed")
    pair = AddressPair("10.9.0.128/26")
    one = replace(STATE.ports[0].port, group_ids=("open", "closed"), allowed_pairs=(pair,))
    state = replace(
        with_group(STATE, replace(OPEN, rules=(*OPEN.rules, web))), ports=(OvnPort(one, "hv1"), *STATE.ports[1:])
    )
    guest = world["a1"]
    guest.run("ip", "address", "add", "10.9.0.130/24", "dev", "eth0")
    try:
        world.tell(state)
        until(lambda: connects(guest, "10.9.0.12", listener))
        assert not connects(guest, "10.9.0.12", listener, sent_from="10.9.0.130")
        world.tell(replace(state, pairs={"closed": (pair.address,)}))
        until(lambda: connects(guest, "10.9.0.12", listener, sent_from="10.9.0.130"))
    finally:
        guest.run("ip", "address", "delete", "10.9.0.130/24", "dev", "eth0")


def test_a_guest_without_rules_gets_nothing(world: OvnWorld) -> None:
    closed = OvnPort(replace(STATE.ports[1].port, group_ids=()), "hv2")
    world.tell(replace(STATE, ports=(STATE.ports[0], closed, *STATE.ports[2:])))
    until(lambda: not world["a1"].pings("10.9.0.12", within_s=0))


def test_a_port_that_is_not_enabled_passes_nothing(world: OvnWorld) -> None:
    off = OvnPort(replace(STATE.ports[1].port, is_enabled=False), "hv2")
    world.tell(replace(STATE, ports=(STATE.ports[0], off, *STATE.ports[2:])))
    until(lambda: not world["a1"].pings("10.9.0.12", within_s=0))


def test_others_addresses_are_not_sent_from(world: OvnWorld) -> None:
    guest = world["a1"]
    guest.run("ip", "address", "add", "10.9.0.99/24", "dev", "eth0")
    try:
        assert not guest.pings("10.9.0.12", within_s=0, sent_from="10.9.0.99")
        assert world["a2"].pings("10.9.0.1")
        guest.run("arping", "-U", "-c2", "-I", "eth0", "-s", "10.9.0.1", "10.9.0.1", check=False)
        assert "fa:16:3e:00:09:01" in world["a2"].run("ip", "neighbour", "show", "10.9.0.1")
        assert "10.9.0.99" not in world["a2"].run("ip", "neighbour")
    finally:
        guest.run("ip", "address", "delete", "10.9.0.99/24", "dev", "eth0")
    assert guest.pings("10.9.0.12")


def test_another_mac_is_not_sent_from(world: OvnWorld) -> None:
    guest = world["b1"]
    guest.run("ip", "link", "set", "eth0", "address", "fa:16:3e:00:02:77")
    assert not guest.pings("10.9.0.13", within_s=0)
    guest.run("ip", "link", "set", "eth0", "address", "fa:16:3e:00:02:0c")
    assert guest.pings("10.9.0.13")


def test_outside_by_the_router_and_back_by_the_floating_address(world: OvnWorld) -> None:
    assert world["a1"].pings("203.0.113.1"), "by the router's own address"
    assert world["a2"].pings("203.0.113.1"), "by the floating address"
    assert world.site.outside.pings("203.0.113.22")
    mac = world.site.outside.run("ip", "neighbour", "show", "203.0.113.22")
    assert "fa:16:3e:00:09:22" in mac, "the floating address is outside at its guest's own host"


def test_nothing_leaves_a_router_under_an_address_that_is_not_its_own(world: OvnWorld) -> None:
    """What a port may send from inside by its pairs is outside somebody else's, such as another floating address."""
    claims = ("192.0.2.77", "203.0.113.99")
    pairs = tuple(AddressPair(claim) for claim in claims)
    thief = OvnPort(replace(STATE.ports[0].port, allowed_pairs=pairs), "hv1")
    world.tell(replace(STATE, ports=(thief, *STATE.ports[1:])))
    world.site.central.nb("--wait=hv", "sync")
    guest, outside = world["a1"], world.site.outside
    assert guest.pings("203.0.113.1")
    seen = subprocess.Popen(
        ["ip", "netns", "exec", outside.namespace, sys.executable, "-c", HEAR], stdout=subprocess.PIPE, text=True
    )
    try:
        assert seen.stdout is not None and seen.stdout.readline() == "ready\n"
        for claim in claims:
            guest.run("ip", "address", "add", f"{claim}/32", "dev", "eth0")
        for source in (*claims, "10.9.0.11"):
            guest.run(sys.executable, "-c", SEND, source, "203.0.113.1")
        assert seen.stdout.readline() == "203.0.113.9\n"
    finally:
        for claim in claims:
            guest.run("ip", "address", "delete", f"{claim}/32", "dev", "eth0", check=False)
        seen.kill()
        seen.wait()


def test_a_router_takes_in_from_a_network_what_can_come_from_there(world: OvnWorld) -> None:
    """As with bridges: who is in another network of the router knows by the address who speaks."""
    third = replace(STATE.networks[1], subnets=(replace(STATE.networks[1].subnets[0], cidr="10.8.0.0/24"),))
    victim = OvnPort(replace(STATE.ports[2].port, addresses=(FixedAddress("sub-b", "10.8.0.12"),)), "hv1")
    pairs = (AddressPair("10.8.0.77"), AddressPair("192.168.7.9"))
    thief = OvnPort(replace(STATE.ports[0].port, allowed_pairs=pairs), "hv1")
    leg = RouterLeg("leg-b", third.id, "fa:16:3e:00:09:08", (FixedAddress("sub-b", "10.8.0.1"),))
    before = STATE.routers[0].router
    routes = (HostRoute("192.168.7.0/24", "10.9.0.11"),)
    router = replace(STATE.routers[0], router=replace(before, legs=(*before.legs, leg), routes=routes))
    udp = GroupRule("udp", Direction.INGRESS, 4, "udp", 26, 26)
    state = with_group(STATE, replace(OPEN, rules=(*OPEN.rules, udp)))
    networks = (STATE.networks[0], third, STATE.networks[2])
    world.tell(replace(state, networks=networks, ports=(thief, STATE.ports[1], victim), routers=(router,)))
    world.site.central.nb("--wait=hv", "sync")
    guest, other = world["a1"], world["b1"]
    other.run("ip", "address", "flush", "dev", "eth0", "scope", "global")
    other.address("10.8.0.12/24", "10.8.0.1")
    seen = subprocess.Popen(
        ["ip", "netns", "exec", other.namespace, sys.executable, "-c", HEAR], stdout=subprocess.PIPE, text=True
    )
    try:
        assert seen.stdout is not None and seen.stdout.readline() == "ready\n"
        assert guest.pings("10.8.0.12") and guest.pings("203.0.113.9") and other.pings("10.9.0.1")
        for pair in pairs:
            guest.run("ip", "address", "add", f"{pair.address}/32", "dev", "eth0")
        for source in ("10.8.0.77", "192.168.7.9", "10.9.0.11"):
            guest.run(sys.executable, "-c", SEND, source, "10.8.0.12")
        assert [seen.stdout.readline().strip() for _ in range(2)] == ["192.168.7.9", "10.9.0.11"]
    finally:
        for pair in pairs:
            guest.run("ip", "address", "delete", f"{pair.address}/32", "dev", "eth0", check=False)
        seen.kill()
        seen.wait()
        other.run("ip", "address", "flush", "dev", "eth0", "scope", "global")
        other.address("10.9.0.12/24", "10.9.0.1")


def test_a_chassis_that_is_not_asked_for_gets_no_port(world: OvnWorld) -> None:
    thief = world.site.chassis[1].guest("a1", "fa:16:3e:00:01:0b")
    try:
        time.sleep(0.5)
        assert world.site.central.sb("--bare", "--columns=chassis", "find", "port_binding", "logical_port=a1") == (
            world.site.central.sb("--bare", "--columns=_uuid", "find", "chassis", "name=hv1")
        )
    finally:
        thief.unplug()


def test_up_is_heard(world: OvnWorld) -> None:
    world["b2"].unplug()
    until(lambda: not world.ups["b2"])
    world["b2"].plug("b2")
    until(lambda: world.ups["b2"])
    assert dict(world.northbound.ports_up())["b2"]


def test_every_rule_parses(world: OvnWorld) -> None:
    """The database takes any match, and only hosts' logs say which they did not understand."""
    rules = [
        GroupRule(f"{way}{version}{protocol}{ports}{remote}", way, version, protocol, *ports, **{kind: remote})
        for way in Direction
        for version in (4, 6)
        for protocol in ("", "tcp", "udp", "sctp", "icmp", "icmpv6", "0", "255", *NUMBERS)
        for ports in ((None, None), (1, None), (3, 4))
        for kind, remote in (
            ("remote_cidr", ""),
            ("remote_cidr", "10.0.0.0/8" if version == 4 else "fd00::/8"),
            ("remote_group_id", "closed"),
        )
    ]
    world.tell(with_group(STATE, replace(OPEN, rules=(*OPEN.rules, *rules))))
    world.site.central.nb("--wait=hv", "sync")
    for chassis in world.site.chassis:
        assert not re.findall(r".*(?:error parsing|Syntax error|syntax error).*", chassis.log("controller"))
    assert not re.findall(r".*(?:error|invalid).*", world.site.central.log("northd"))
