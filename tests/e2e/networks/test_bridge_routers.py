"""Routers: between networks, to the outside and back by floating addresses; equal addresses behind two of them."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from computeagent.networks.bridge.checked import link_local
from computeagent.protocol.networks import (
    AddressPair,
    FloatingSpec,
    HostRoute,
    NetworkSpec,
    RouterLeg,
    RouterSpec,
    SubnetSpec,
)
from tests.worlds.bridge_place import OPEN, Guest, HostPort, Place, document, network, new_id, port_in, run

pytestmark = [pytest.mark.processes, pytest.mark.long]
IN_OPEN = {"group_ids": (OPEN.id,)}
GATEWAY = "203.0.113.1"
SEND = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 0))
s.sendto(b"hello", (sys.argv[2], 26))
"""


def _external() -> NetworkSpec:
    return NetworkSpec(
        id=new_id(),
        mtu=1500,
        subnets=(SubnetSpec(id=new_id(), cidr="203.0.113.0/24", gateway=GATEWAY, has_dhcp=False),),
        physical_network="public",
    )


def _leg(of: NetworkSpec, *addresses: str) -> RouterLeg:
    port = port_in(of, *addresses)
    return RouterLeg(port.id, of.id, port.mac, port.addresses)


@pytest.fixture
def outside(make_place: Callable[..., Place]) -> Callable[[Place], Guest]:
    """A machine in the physical network of a place."""

    def make(place: Place) -> Guest:
        namespace = f"{place.name}-out"
        run("ip", "netns", "add", namespace)
        guest = Guest(namespace, HostPort(id=new_id(), network_id="", mac=""), GATEWAY, 24)
        place.guests.append(guest)
        run("ip", "-n", place.name, "link", "add", "out", "type", "veth", "peer", "name", "eth0", "netns", namespace)
        place.run("ip", "link", "set", "out", "master", "br-ex", "up")
        guest.run("ip", "link", "set", "lo", "up")
        guest.run("ip", "link", "set", "eth0", "up")
        guest.run("ip", "address", "add", f"{GATEWAY}/24", "dev", "eth0")
        return guest

    return make


def _with_bridge(make_place: Callable[..., Place]) -> Place:
    place = make_place(bridge_mappings={"public": "br-ex"})
    place.run("ip", "link", "add", "br-ex", "type", "bridge")
    place.run("ip", "link", "set", "br-ex", "up")
    place.run("ip", "address", "add", "203.0.113.2/24", "dev", "br-ex")
    place.plug.open()
    return place


def test_out_by_the_routers_address_and_in_by_a_floating_one(
    make_place: Callable[..., Place], outside: Callable[[Place], Guest]
) -> None:
    place = _with_bridge(make_place)
    world = outside(place)
    external = _external()
    one, two = network("10.50.0.0/24"), network("10.51.0.0/24")
    a, b = port_in(one, "10.50.0.5", **IN_OPEN), port_in(two, "10.51.0.6", **IN_OPEN)
    router = RouterSpec(
        id=new_id(),
        legs=(_leg(one, "10.50.0.1"), _leg(two, "10.51.0.1")),
        gateway=_leg(external, "203.0.113.10"),
        floating=(FloatingSpec(new_id(), "203.0.113.22", "10.51.0.6", b.id),),
        routes=(HostRoute("198.51.100.0/24", "10.51.0.6"),),
    )
    nets, ports = [external, one, two], [a, b]
    assert place.plug.apply(document(nets, ports, routers=(router,))).problems == ()
    guest_a, guest_b = place.guest(a), place.guest(b)
    for guest, gateway in ((guest_a, "10.50.0.1"), (guest_b, "10.51.0.1")):
        guest.run("ip", "route", "add", "default", "via", gateway)
        guest.listens(22)
    assert guest_a.pings("10.50.0.1") and guest_a.asks("10.51.0.6", 22), "to another network of the router"
    _listens_and_says_who(world)
    assert _who(guest_a) == "203.0.113.10" and _who(guest_b) == "203.0.113.22"
    assert world.asks("203.0.113.22", 22) and world.pings("203.0.113.22") and not world.asks("203.0.113.10", 22)
    assert guest_a.asks("203.0.113.22", 22), "from inside by the address outside"
    guest_b.run("ip", "address", "add", "198.51.100.7/32", "dev", "lo")
    assert not guest_a.pings("198.51.100.7"), "a port receives by any route, but answers from its own addresses alone"
    # The hypervisor's own address in the outside network is for none of them, yet it reaches them.
    assert not guest_a.pings("203.0.113.2") and not guest_b.pings("203.0.113.2")
    assert run(*place.place.prefix, "busybox", "ping", "-q", "-c", "1", "-W", "1", "203.0.113.22").returncode == 0
    # Without its floating address it goes out as others do, and nothing comes in.
    assert place.plug.apply(document(nets, ports, revision=2, routers=(replace(router, floating=()),))).problems == ()
    assert not world.asks("203.0.113.22", 22) and _who(guest_b) == "203.0.113.10"
    silent = replace(router, floating=(), has_snat=False)
    assert place.plug.apply(document(nets, ports, revision=3, routers=(silent,))).problems == ()
    assert not guest_a.asks(GATEWAY, 25)
    assert (
        place.plug.apply(document(nets, ports, revision=4, routers=(replace(router, is_enabled=False),))).problems == ()
    )
    assert not guest_a.pings("10.50.0.1") and not guest_a.asks("10.51.0.6", 22)
    names = run("ip", "netns", "list").stdout
    assert f"{place.name}-router" not in names


def test_nothing_leaves_a_router_under_an_address_that_is_not_its_own(
    make_place: Callable[..., Place], outside: Callable[[Place], Guest]
) -> None:
    place = _with_bridge(make_place)
    world, external = outside(place), _external()
    of = network("10.50.0.0/24")
    claims = ("192.0.2.77", "203.0.113.99")  # anybody's, and what another project may have as its floating address
    pairs = tuple(AddressPair(one) for one in claims)
    thief = port_in(of, "10.50.0.5", allowed_pairs=pairs, **IN_OPEN)
    router = RouterSpec(id=new_id(), legs=(_leg(of, "10.50.0.1"),), gateway=_leg(external, "203.0.113.10"))
    assert place.plug.apply(document([external, of], [thief], routers=(router,))).problems == ()
    guest = place.guest(thief)
    guest.run("ip", "route", "add", "default", "via", "10.50.0.1")
    for claim in claims:
        guest.run("ip", "address", "add", f"{claim}/32", "dev", "eth0")
    for each in (router, replace(router, has_snat=False)):
        assert place.plug.apply(document([external, of], [thief], revision=2, routers=(each,))).problems == ()
        seen = _senders_heard(world)
        for source in (*claims, "10.50.0.5"):
            guest.run(sys.executable, "-c", SEND, source, GATEWAY)
        own = "203.0.113.10" if each.has_snat else "10.50.0.5"
        assert seen.stdout is not None and seen.stdout.readline() == f"{own}\n"
        seen.kill()


def test_a_router_takes_in_from_a_network_what_can_come_from_there(make_place: Callable[..., Place]) -> None:
    """A project's router has a leg in a network that projects share: nobody behind it speaks there as another one."""
    place = make_place()
    shared, own = network("10.50.0.0/24"), network("10.51.0.0/24")
    victim = port_in(shared, "10.50.0.5", **IN_OPEN)
    pairs = tuple(AddressPair(one) for one in ("10.50.0.77", "fd00:50::77", "192.168.7.0/24"))
    thief = port_in(own, "10.51.0.6", allowed_pairs=pairs, **IN_OPEN)
    legs = (_leg(shared, "10.50.0.1"), _leg(own, "10.51.0.1"))
    router = RouterSpec(id=new_id(), legs=legs, routes=(HostRoute("192.168.7.0/24", "10.51.0.6"),))
    assert place.plug.apply(document([shared, own], [victim, thief], routers=(router,))).problems == ()
    guest, world = place.guest(thief), place.guest(victim)
    for each, gateway in ((guest, "10.51.0.1"), (world, "10.50.0.1")):
        each.run("ip", "route", "add", "default", "via", gateway)
    sources = ("10.50.0.77", "192.168.7.9", "10.51.0.6")
    for claim in sources[:2]:
        guest.run("ip", "address", "add", f"{claim}/32", "dev", "eth0")
    seen = _senders_heard(world)
    for source in sources:
        guest.run(sys.executable, "-c", SEND, source, "10.50.0.5")
    assert seen.stdout is not None
    assert [seen.stdout.readline().strip() for _ in range(2)] == ["192.168.7.9", "10.51.0.6"]


def test_two_subnets_of_one_network_have_each_its_leg(make_place: Callable[..., Place]) -> None:
    """No leg answers for the address of the other one, from which nothing of this subnet would be taken in."""
    place = make_place()
    of = network("10.50.0.0/24")
    of = replace(of, subnets=(*of.subnets, replace(of.subnets[0], id=new_id(), cidr="10.52.0.0/24")))
    first, second = port_in(of, "10.50.0.5", **IN_OPEN), port_in(of, "10.52.0.6", **IN_OPEN)
    legs = (_leg(of, "10.50.0.1"), _leg(of, "10.52.0.1"))
    routers = (RouterSpec(id=new_id(), legs=legs),)
    assert place.plug.apply(document([of], [first, second], routers=routers)).problems == ()
    one, other = place.guest(first), place.guest(second)
    for guest, gateway in ((one, "10.50.0.1"), (other, "10.52.0.1")):
        guest.run("ip", "route", "add", "default", "via", gateway)
    for leg, gateway in zip(legs, ("10.50.0.1", "10.52.0.1"), strict=True):
        said = one.run("arping", "-D", "-c", "2", "-w", "2", "-I", "eth0", gateway, check=False).lower()
        assert set(re.findall(r"\[([0-9a-f:]{17})\]", said)) == {leg.mac}
    assert one.pings("10.52.0.6") and other.pings("10.50.0.5")


def test_equal_addresses_of_two_tenants_do_not_meet(
    make_place: Callable[..., Place], outside: Callable[[Place], Guest]
) -> None:
    place = _with_bridge(make_place)
    world, external = outside(place), _external()
    networks, ports, routers = [external], [], []
    for number in (1, 2):
        of = network("10.50.0.0/24")
        port = port_in(of, "10.50.0.5", **IN_OPEN)
        floating = FloatingSpec(new_id(), f"203.0.113.2{number}", "10.50.0.5", port.id)
        gateway = _leg(external, f"203.0.113.1{number}")
        routers.append(RouterSpec(new_id(), (_leg(of, "10.50.0.1"),), gateway, floating=(floating,)))
        networks.append(of)
        ports.append(port)
    assert place.plug.apply(document(networks, ports, routers=tuple(routers))).problems == ()
    _listens_and_says_who(world)
    for number, port in enumerate(ports, 1):
        guest = place.guest(port)
        guest.run("ip", "route", "add", "default", "via", "10.50.0.1")
        guest.listens(100 + number)
        assert _who(guest) == f"203.0.113.2{number}"
    assert world.asks("203.0.113.21", 101) and world.asks("203.0.113.22", 102)
    assert not world.asks("203.0.113.21", 102) and not world.asks("203.0.113.22", 101)


def test_a_router_of_ipv6_tells_guests_their_way_out(
    make_place: Callable[..., Place], outside: Callable[[Place], Guest]
) -> None:
    place = _with_bridge(make_place)
    six = tuple(SubnetSpec(id=new_id(), cidr=f"fd00:{n}::/64", gateway=f"fd00:{n}::1") for n in (51, 52))
    one, two = (replace(network(), subnets=(subnet,)) for subnet in six)
    a, b = port_in(one, "fd00:51::5", **IN_OPEN), port_in(two, "fd00:52::6", **IN_OPEN)
    router = RouterSpec(id=new_id(), legs=(_leg(one, "fd00:51::1"), _leg(two, "fd00:52::1")))
    assert place.plug.apply(document([one, two], [a, b], routers=(router,))).problems == ()
    guest_a, guest_b = place.guest(a), place.guest(b)
    guest_b.listens(22)
    for guest in (guest_a, guest_b):
        guest.run("ip", "link", "set", "eth0", "down")  # a card that comes up asks for routers
        guest.run("sysctl", "-qw", "net.ipv6.conf.eth0.keep_addr_on_down=1")
        guest.run("ip", "link", "set", "eth0", "up")
        address = guest.port.addresses[0].address
        guest.run("ip", "address", "replace", f"{address}/64", "dev", "eth0", "nodad")
    for guest, of in ((guest_a, one), (guest_b, two)):
        for _ in range(400):
            routes = json.loads(guest.run("ip", "-6", "-json", "route", "show", "default"))
            if routes:
                break
            guest.run("sleep", "0.1")
        leg = next(leg for leg in router.legs if leg.network_id == of.id)
        assert [route["gateway"] for route in routes] == [str(link_local(leg.mac))]
        # Nobody makes up an address of its own: the prefix is not for that.
        shown = json.loads(guest.run("ip", "-6", "-json", "address", "show", "dev", "eth0", "scope", "global"))
        found = [address.get("local") for each in shown if each for address in each["addr_info"] if address]
        assert found == [guest.address]
    assert guest_a.asks("fd00:52::6", 22)


def _listens_and_says_who(world: Guest) -> None:
    program = (
        "import socket\ns = socket.create_server(('', 25)); print('ready', flush=True)\n"
        "while 1:\n    c, peer = s.accept(); c.send(peer[0].encode()); c.close()\n"
    )
    process = world.start(sys.executable, "-c", program)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"


def _senders_heard(world: Guest) -> "subprocess.Popen[str]":
    """Says who sends it something by UDP, one a line."""
    program = (
        "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('', 26))\n"
        "print('ready', flush=True)\nwhile 1: print(s.recvfrom(9)[1][0], flush=True)\n"
    )
    process = world.start(sys.executable, "-c", program)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def _who(guest: Guest) -> str:
    """The address under which the guest is seen outside."""
    return guest.run("busybox", "nc", "-w", "2", GATEWAY, "25")
