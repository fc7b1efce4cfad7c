"""Who reaches a port: against an evaluator that sends every packet by itself, and case by case with its reasons."""

import ipaddress
import uuid
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servers.networks.domain.network_map import (
    FloatingFacts,
    GroupFacts,
    NetworkMap,
    PortFacts,
    RouterFacts,
    SubnetFacts,
    Trouble,
)
from servers.networks.domain.reachability import Traffic, reach_from_network, reach_from_port
from servers.networks.domain.rules import RuleRequest, rule_canonical


def number(value: int) -> uuid.UUID:
    return uuid.UUID(int=value)


NET_A, NET_B, PUBLIC = number(1), number(2), number(3)
SUBNET_A, SUBNET_B, SUBNET_P = number(11), number(12), number(13)
WEB, DB = number(21), number(22)
ROUTER = number(31)
PORT_A, PORT_B = number(41), number(42)
SUBNETS = {
    SUBNET_A: SubnetFacts(SUBNET_A, NET_A, "10.0.0.0/29", "10.0.0.1"),
    SUBNET_B: SubnetFacts(SUBNET_B, NET_B, "10.0.1.0/29", "10.0.1.1"),
    SUBNET_P: SubnetFacts(SUBNET_P, PUBLIC, "203.0.113.0/24"),
}
OFF = (Trouble("web-1 does not run: its status is SHUTOFF, its power shutdown.", "Start the instance."),)

rules = st.builds(
    RuleRequest,
    direction=st.sampled_from(["ingress", "egress"]),
    protocol=st.sampled_from(["tcp", "udp", ""]),
    port_min=st.sampled_from([None, 20, 22]),
    port_max=st.sampled_from([None, 22, 25]),
    remote_cidr=st.sampled_from(["", "10.0.0.0/29", "10.0.0.2/31", "10.0.1.2/32", "203.0.113.0/24", "198.51.100.0/30"]),
    remote_group_id=st.sampled_from([None, None, WEB, DB]),
).filter(lambda rule: not (rule.remote_cidr and rule.remote_group_id))


def canonical(rule: RuleRequest) -> RuleRequest:
    """Ports only where they belong, both of them."""
    has_ports = rule.protocol and rule.port_min is not None and rule.port_max is not None
    return rule_canonical(rule if has_ports else replace(rule, port_min=None, port_max=None))


port_rules = st.lists(rules.map(canonical), max_size=5).map(tuple)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[NetworkMap, PortFacts, PortFacts]:
    """Two guests in one network or two, perhaps a router with a gateway, perhaps a floating address."""
    to_net = draw(st.sampled_from([SUBNET_A, SUBNET_B]))
    source = PortFacts(
        PORT_A,
        NET_A,
        "db-1",
        {"10.0.0.2": SUBNET_A},
        draw(st.sampled_from([(), (DB,), (WEB, DB)])),
        draw(st.booleans()),
        draw(st.sampled_from([(), (), (), OFF])),
    )
    address = "10.0.0.3" if to_net == SUBNET_A else "10.0.1.3"
    to = PortFacts(
        PORT_B,
        SUBNETS[to_net].network_id,
        "web-1",
        {address: to_net},
        draw(st.sampled_from([(), (WEB,), (WEB, DB)])),
        draw(st.booleans()),
        draw(st.sampled_from([(), (), (), OFF])),
    )
    legs = draw(st.sampled_from([{}, {"10.0.0.1": SUBNET_A}, {"10.0.1.1": SUBNET_B}, "both"]))
    legs = {"10.0.0.1": SUBNET_A, "10.0.1.1": SUBNET_B} if legs == "both" else legs
    external = draw(st.sampled_from([None, PUBLIC]))
    router = RouterFacts(
        ROUTER,
        "r1",
        legs,
        external,
        ("203.0.113.9",) if external else (),
        draw(st.booleans()),
        trouble=draw(st.sampled_from([(), (), (Trouble("Router r1 is disabled."),)])),
    )
    has_floating = external is not None and to_net in legs.values() and draw(st.booleans())
    floating = (FloatingFacts("203.0.113.20", PORT_B, address, PUBLIC, ROUTER),) if has_floating else ()
    members = {
        WEB: frozenset(a for p in (source, to) for a in p.addresses if WEB in p.group_ids),
        DB: frozenset(a for p in (source, to) for a in p.addresses if DB in p.group_ids),
    }
    groups = {pk: GroupFacts(pk, name, draw(port_rules), members[pk]) for pk, name in ((WEB, "web"), (DB, "db"))}
    return NetworkMap(SUBNETS, {ROUTER: router}, groups, floating, frozenset({PUBLIC})), source, to


def passes(world: NetworkMap, port: PortFacts, way: str, remote: str, traffic: Traffic) -> bool:
    """One packet, against each rule on its own."""
    if not port.has_security:
        return True
    address = ipaddress.ip_address(remote)
    for group in port.group_ids:
        for rule in world.groups[group].rules:
            right_way = rule.direction == way and rule.protocol in ("", traffic.protocol)
            right_port = rule.port_min is None or traffic.port in range(rule.port_min, (rule.port_max or 0) + 1)
            if rule.remote_group_id:
                right_remote = remote in world.groups[rule.remote_group_id].members
            else:
                right_remote = not rule.remote_cidr or address in list(ipaddress.ip_network(rule.remote_cidr))
            if right_way and right_port and right_remote:
                return True
    return False


def naive(world: NetworkMap, source: PortFacts, to: PortFacts, traffic: Traffic) -> bool:
    if source.trouble or to.trouble:
        return False
    (own,), (fixed,), router = source.addresses, to.addresses, world.routers[ROUTER]
    joined = set(router.legs.values())
    if source.network_id == to.network_id:
        return passes(world, source, "egress", fixed, traffic) and passes(world, to, "ingress", own, traffic)
    if joined == {SUBNET_A, SUBNET_B}:
        open_ = passes(world, source, "egress", fixed, traffic) and passes(world, to, "ingress", own, traffic)
        return open_ and not router.trouble
    return False  # only one router: without a leg in both networks, nothing of one gets to the other


@settings(max_examples=300)
@given(worlds(), st.sampled_from(["tcp", "udp"]), st.sampled_from([20, 22, 25, 80]))
def test_port_to_port_agrees_with_a_naive_evaluator(world, protocol: str, port: int) -> None:
    known, source, to = world
    traffic = Traffic(protocol, port)
    found = reach_from_port(known, source, to, traffic)
    assert found.is_reachable == naive(known, source, to, traffic), found.steps
    assert found.is_reachable == all(step.is_open for step in found.steps)


@settings(max_examples=300)
@given(worlds(), st.sampled_from([20, 22, 80]))
def test_range_from_outside_agrees_with_each_of_its_addresses(world, port: int) -> None:
    known, _, to = world
    cidr, traffic = "198.51.100.0/29", Traffic("tcp", port)
    found = reach_from_network(known, cidr, to, traffic)
    router = known.routers[ROUTER]
    way = bool(known.floating) and not router.trouble and not to.trouble
    each = [passes(known, to, "ingress", str(address), traffic) for address in ipaddress.ip_network(cidr)]
    assert found.is_reachable == (way and all(each))
    if not all(each) and any(each):
        assert found.partly


def world_of(*rules_of_web: RuleRequest, legs=None, external=None, floating=(), **more) -> NetworkMap:
    router = RouterFacts(ROUTER, "r1", legs or {}, external, ("203.0.113.9",) if external else (), **more)
    groups = {
        WEB: GroupFacts(WEB, "web", tuple(map(rule_canonical, rules_of_web))),
        DB: GroupFacts(DB, "db", (RuleRequest("egress"),)),
    }
    return NetworkMap(SUBNETS, {ROUTER: router}, groups, tuple(floating), frozenset({PUBLIC}))


SOURCE = PortFacts(PORT_A, NET_A, "db-1", {"10.0.0.2": SUBNET_A}, (DB,))
TO = PortFacts(PORT_B, NET_B, "web-1", {"10.0.1.3": SUBNET_B}, (WEB,))
SSH = Traffic("tcp", 22)
BOTH = {"10.0.0.1": SUBNET_A, "10.0.1.1": SUBNET_B}
FLOATING = FloatingFacts("203.0.113.20", PORT_B, "10.0.1.3", PUBLIC, ROUTER)


def closed(found) -> list[tuple[str, str]]:
    return [(step.message, step.remedy) for step in found.steps if not step.is_open]


def test_missing_rule_is_named_with_what_would_open_it() -> None:
    found = reach_from_port(world_of(legs=BOTH), SOURCE, TO, SSH)
    assert closed(found) == [
        (
            "No rule of web lets in TCP port 22 from 10.0.0.2 at web-1.",
            "Add to the group web: Lets in TCP port 22 from 10.0.0.2/32.",
        )
    ]
    opened = reach_from_port(
        world_of(RuleRequest("ingress", 4, "tcp", 22, 22, "10.0.0.2/32"), legs=BOTH), SOURCE, TO, SSH
    )
    assert opened.is_reachable
    assert "A rule of group web passes it: Lets in TCP port 22 from 10.0.0.2/32." in [s.message for s in opened.steps]


@pytest.mark.parametrize(
    ("world", "source", "to", "reason"),
    [
        (world_of(RuleRequest("ingress")), SOURCE, TO, "No router has the address 10.0.0.1"),
        (world_of(RuleRequest("ingress"), legs={"10.0.0.1": SUBNET_A}), SOURCE, TO, "Router r1 has no way"),
        (world_of(RuleRequest("ingress"), legs=BOTH), replace(SOURCE, group_ids=()), TO, "in no security group"),
        (world_of(RuleRequest("ingress"), legs=BOTH), replace(SOURCE, group_ids=(WEB,)), TO, "lets out TCP port 22"),
        (world_of(RuleRequest("ingress"), legs=BOTH), SOURCE, replace(TO, trouble=OFF), "does not run"),
        (world_of(RuleRequest("ingress"), legs=BOTH), SOURCE, replace(TO, addresses={}), "has no address"),
        (
            world_of(RuleRequest("ingress"), legs=BOTH, trouble=(Trouble("Router r1 is disabled."),)),
            SOURCE, TO, "Router r1 is disabled.",
        ),
    ],
)  # fmt: skip
def test_each_closed_link_says_so(world, source, to, reason: str) -> None:
    found = reach_from_port(world, source, to, SSH)
    assert not found.is_reachable
    assert any(reason in message for message, _ in closed(found)), closed(found)


def test_outside_needs_a_floating_address_and_a_rule() -> None:
    legs = {"10.0.1.1": SUBNET_B}
    without = reach_from_network(world_of(RuleRequest("ingress"), legs=legs, external=PUBLIC), "0.0.0.0/0", TO, SSH)
    assert closed(without)[0][1] == "Give the port a floating address."
    world = world_of(RuleRequest("ingress"), legs=legs, external=PUBLIC, floating=[FLOATING])
    found = reach_from_network(world, "0.0.0.0/0", TO, SSH)
    assert (found.is_reachable, found.address) == (True, "203.0.113.20")
    narrow = world_of(
        RuleRequest("ingress", 4, "tcp", 22, 22, "192.0.2.0/24"), legs=legs, external=PUBLIC, floating=[FLOATING]
    )
    found = reach_from_network(narrow, "0.0.0.0/0", TO, SSH)
    assert found.partly == ("Lets in TCP port 22 from 192.0.2.0/24.",)
    assert closed(found)[0][1] == "Add to the group web: Lets in TCP port 22 from anywhere (IPv4)."


def test_two_routers_meet_outside_and_the_source_is_seen_under_the_gateways_address() -> None:
    other = number(32)
    rule = RuleRequest("ingress", 4, "tcp", 22, 22, "203.0.113.8/32")
    world = world_of(rule, legs={"10.0.1.1": SUBNET_B}, external=PUBLIC, floating=[FLOATING])
    first = RouterFacts(other, "r2", {"10.0.0.1": SUBNET_A}, PUBLIC, ("203.0.113.8",))
    known = replace(world, routers={**world.routers, other: first})
    found = reach_from_port(known, SOURCE, TO, SSH)
    assert (found.is_reachable, found.address) == (True, "203.0.113.20"), found.steps
    hidden = replace(known, routers={**world.routers, other: replace(first, has_snat=False)})
    assert "does no SNAT" in closed(reach_from_port(hidden, SOURCE, TO, SSH))[0][0]


def test_static_routes_are_followed_and_rings_end() -> None:
    other, middle, net_m = number(32), number(14), number(4)
    subnets = {**SUBNETS, middle: SubnetFacts(middle, net_m, "10.0.2.0/29", "10.0.2.1")}
    one = RouterFacts(ROUTER, "r1", {"10.0.0.1": SUBNET_A, "10.0.2.1": middle}, routes={"10.0.1.0/29": "10.0.2.2"})
    two = RouterFacts(other, "r2", {"10.0.1.1": SUBNET_B, "10.0.2.2": middle}, routes={"10.0.0.0/29": "10.0.2.1"})
    groups = world_of(RuleRequest("ingress")).groups
    known = NetworkMap(subnets, {ROUTER: one, other: two}, groups)
    assert reach_from_port(known, SOURCE, TO, SSH).is_reachable
    one_way = replace(known, routers={ROUTER: one, other: replace(two, routes={})})
    assert "Answers do not come back" in closed(reach_from_port(one_way, SOURCE, TO, SSH))[0][0]
    lost = replace(two, legs={"10.0.2.2": middle}, routes={"10.0.1.0/29": "10.0.2.1"})
    ring = replace(known, routers={ROUTER: one, other: lost})
    assert "round in a ring" in closed(reach_from_port(ring, SOURCE, TO, SSH))[0][0]
