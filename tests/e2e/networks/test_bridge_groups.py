"""Security groups on the wire: closed unless a rule says otherwise, at once when one does or no longer does."""

import selectors
from dataclasses import replace

import pytest

from computeagent.protocol.networks import AddressPair, Direction, GroupSpec, SubnetSpec
from tests.worlds.bridge_place import Guest, Place, document, group, network, new_id, port_in, rule

pytestmark = pytest.mark.processes
OUT = group(*(rule(Direction.EGRESS, ip_version=version) for version in (4, 6)))
IN, OUTWARD = Direction.INGRESS, Direction.EGRESS


def _pair(place: Place, server: GroupSpec) -> tuple[Guest, Guest, object]:
    """A client that may send everything, a server in this group, and what applies a group for it."""
    of = network()
    of = replace(of, subnets=(*of.subnets, SubnetSpec(id=new_id(), cidr="fd00:50::/64")))
    client = port_in(of, "10.50.0.5", "fd00:50::5", group_ids=(OUT.id,))
    served = port_in(of, "10.50.0.6", "fd00:50::6", group_ids=(server.id, OUT.id))

    def apply(revision: int, now: GroupSpec) -> None:
        assert place.plug.apply(document([of], [client, served], [OUT, now], revision)).problems == ()

    apply(1, server)
    return place.guest(client), place.guest(served), apply


def test_a_closed_port_is_opened_by_a_rule_and_closed_again_with_its_connections(place: Place) -> None:
    closed = group()
    client, server, apply = _pair(place, closed)
    server.listens(22)
    server.listens(23)
    server.listens(53, "udp")
    assert not client.asks("10.50.0.6", 22) and not client.pings("10.50.0.6") and not client.asks("fd00:50::6", 22)
    ssh, telnet = rule(IN, protocol="tcp", port_min=22, port_max=22), rule(IN, protocol="tcp", port_min=23, port_max=30)
    apply(2, replace(closed, rules=(ssh,)))
    assert client.asks("10.50.0.6", 22)
    assert not client.asks("10.50.0.6", 23) and not client.asks("fd00:50::6", 22) and not client.pings("10.50.0.6")
    apply(3, replace(closed, rules=(ssh, telnet)))
    held = client.start("busybox", "nc", "10.50.0.6", "22")
    other = client.start("busybox", "nc", "10.50.0.6", "23")
    assert _echoes(held) and _echoes(other)
    apply(4, replace(closed, rules=(telnet, rule(IN, protocol="udp"))))
    assert _echoes(other), "a connection that is still allowed goes on"
    assert not _echoes(held), "a connection ends with its rule"
    assert client.asks("10.50.0.6", 53, "udp") and not client.asks("10.50.0.6", 22)
    six = replace(rule(IN, protocol="tcp", remote_cidr="fd00:50::5/128"), ip_version=6)
    apply(5, replace(closed, rules=(six, rule(IN, protocol="icmp", port_min=8, port_max=0))))
    assert client.asks("fd00:50::6", 22) and client.pings("10.50.0.6") and not client.pings("fd00:50::6")
    apply(6, replace(closed, rules=(replace(rule(IN, protocol="icmp"), ip_version=6),)))
    assert client.pings("fd00:50::6") and not client.pings("10.50.0.6")


@pytest.mark.long
def test_what_goes_out_is_judged_as_well(place: Place) -> None:
    of, everything = network(), group(rule(IN))
    web = group(rule(OUTWARD, protocol="tcp", port_min=80, port_max=80, remote_cidr="10.50.0.6/32"))
    a = port_in(of, "10.50.0.5", group_ids=(web.id,))
    b, c = (port_in(of, f"10.50.0.{n}", group_ids=(everything.id,)) for n in (6, 7))
    assert place.plug.apply(document([of], [a, b, c], [everything, web])).problems == ()
    guest_a, guest_b, guest_c = (place.guest(port) for port in (a, b, c))
    for guest in (guest_b, guest_c):
        guest.listens(80)
        guest.listens(81)
    assert guest_a.asks("10.50.0.6", 80), "the answer needs no rule of its own"
    assert not guest_a.asks("10.50.0.6", 81) and not guest_a.asks("10.50.0.7", 80)
    assert not guest_b.asks("10.50.0.7", 80), "a group without a rule for it lets nothing out"


@pytest.mark.long
def test_members_of_a_group_are_let_in_wherever_they_are(place: Place) -> None:
    of = network()
    peers = group()
    peers = replace(
        peers, rules=(rule(IN, remote_group_id=peers.id),), members={of.id: ("10.50.0.5", "10.50.0.6", "10.50.0.99")}
    )
    a, b = (port_in(of, f"10.50.0.{n}", group_ids=(peers.id, OUT.id)) for n in (5, 6))
    c = port_in(of, "10.50.0.7", group_ids=(OUT.id,), allowed_pairs=(AddressPair("10.50.0.100"),))
    assert place.plug.apply(document([of], [a, b, c], [peers, OUT])).problems == ()
    guest_a, guest_b, guest_c = (place.guest(port) for port in (a, b, c))
    guest_b.listens(22)
    assert guest_a.asks("10.50.0.6", 22) and not guest_c.asks("10.50.0.6", 22)
    left = replace(peers, members={of.id: ("10.50.0.6",)})
    place.plug.apply(document([of], [a, b, c], [left, OUT], revision=2))
    assert not guest_a.asks("10.50.0.6", 22)
    guest_c.run("ip", "address", "add", "10.50.0.100/32", "dev", "eth0")
    guest_c.run("ip", "route", "add", "10.50.0.6/32", "dev", "eth0", "src", "10.50.0.100")
    assert not guest_c.asks("10.50.0.6", 22)
    wider = replace(left, ranges={of.id: ("10.50.0.96/28", "10.50.0.100/31")})
    assert place.plug.apply(document([of], [a, b, c], [wider, OUT], revision=3)).problems == ()
    assert guest_c.asks("10.50.0.6", 22) and not guest_a.asks("10.50.0.6", 22)
    narrower = replace(left, ranges={of.id: ("10.50.0.64/28",)})
    assert place.plug.apply(document([of], [a, b, c], [narrower, OUT], revision=4)).problems == ()
    assert not guest_c.asks("10.50.0.6", 22)


@pytest.mark.long
def test_ports_without_security_and_ports_that_are_off(place: Place) -> None:
    of = network()
    free = port_in(of, "10.50.0.5", has_security=False)
    other = port_in(of, "10.50.0.6", has_security=False)
    assert place.plug.apply(document([of], [free, other])).problems == ()
    guest, beside = place.guest(free), place.guest(other)
    guest.run("ip", "address", "add", "10.50.0.77/24", "dev", "eth0")
    assert beside.pings("10.50.0.5") and beside.pings("10.50.0.77")
    place.plug.apply(document([of], [replace(free, is_enabled=False), other], revision=2))
    assert not beside.pings("10.50.0.5") and not guest.pings("10.50.0.6")
    place.plug.apply(document([of], [free, other], revision=3))
    assert beside.pings("10.50.0.5")


def _echoes(process: object) -> bool:
    """Whether what is sent comes back within a second."""
    stdin, stdout = process.stdin, process.stdout  # type: ignore[attr-defined]
    stdin.write("hello\n")
    stdin.flush()
    with selectors.DefaultSelector() as selector:
        selector.register(stdout, selectors.EVENT_READ)
        return bool(selector.select(1.0)) and stdout.readline() == "hello\n"
