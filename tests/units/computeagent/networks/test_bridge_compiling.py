"""What a document means for a host: values, and what of it is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from computeagent.networks.base import NetworkPlace
from computeagent.networks.bridge.checked import checked_mac, checked_network, link_local
from computeagent.networks.bridge.compiling import host_plan
from computeagent.networks.bridge.group_rules import Groups, members_seen, ranges_seen
from computeagent.networks.bridge.names import is_ours
from computeagent.networks.bridge.plan import HostPlan
from computeagent.networks.bridge.ruleset import whole
from computeagent.protocol.networks import (
    AddressPair,
    Direction,
    FixedAddress,
    FloatingSpec,
    GroupRule,
    HostNetworks,
    HostRoute,
    NetworkSpec,
    RouterLeg,
    RouterSpec,
    SubnetSpec,
)
from tests.worlds.bridge_place import OPEN, document, group, network, new_id, port_in, rule

PLACE = NetworkPlace(underlay_address="192.0.2.1", bridge_mappings={"public": "br-ex"}, namespace_prefix="kn-x")
IN_OPEN = {"group_ids": (OPEN.id,)}


def plan(wanted: HostNetworks, place: NetworkPlace = PLACE, **before: object) -> HostPlan:
    return host_plan(wanted, place, Path("/d"), **{"zones": {}, "profiles": {}, **before})  # type: ignore[arg-type]


def said(wanted: HostNetworks, place: NetworkPlace = PLACE) -> dict[str, str]:
    return {problem.id: problem.message for problem in plan(wanted, place).problems}


HOSTILE = ["; drop", '"', "\n", "a b", "../../etc", "$(reboot)", "::1%eth0", "fa:16:3e:00:00:01\n", "é"]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_hostile_gets_into_what_programs_are_given(text: str) -> None:
    of = network()
    good = port_in(of, "10.50.0.5", **IN_OPEN)
    bad = [
        replace(good, id=text),
        replace(port_in(of, "10.50.0.6"), mac=text),
        replace(port_in(of, "10.50.0.7"), network_id=text),
        replace(port_in(of), addresses=(replace(good.addresses[0], address=text),)),
        replace(port_in(of, "10.50.0.8"), allowed_pairs=(AddressPair("10.0.0.1", text),)),
        replace(port_in(of, "10.50.0.9"), group_ids=(text,)),
    ]
    named = replace(port_in(of, "10.50.0.10", **IN_OPEN), hostname=text)
    networks = [
        of,
        NetworkSpec(text),
        NetworkSpec(new_id(), subnets=(SubnetSpec(new_id(), text),)),
        network(peers=(text,)),
    ]
    networks.append(NetworkSpec(new_id(), subnets=(SubnetSpec(new_id(), "10.0.0.0/24", dns_servers=(text,)),)))
    routers = (
        RouterSpec(text),
        RouterSpec(new_id(), (RouterLeg(new_id(), of.id, text, ()),)),
        RouterSpec(new_id(), routes=(HostRoute(text, "10.0.0.1"),)),
        RouterSpec(new_id(), floating=(FloatingSpec(new_id(), text, "10.0.0.1"),)),
    )
    rules = group(
        rule(Direction.INGRESS, protocol=text),
        rule(Direction.INGRESS, remote_cidr=text),
        rule(Direction.EGRESS, remote_group_id=text),
    )
    ports = [good, *bad, named, replace(port_in(of, "10.50.0.11"), group_ids=(rules.id,))]
    made = plan(document(networks, ports, [OPEN, rules], routers=routers))
    assert set(made.taps) == {good.id, named.id, ports[-1].id} and made.routers == {}
    assert set(made.bridges) == {of.id}
    # Of what is given to programs nothing has any of it.
    given = whole(made.tables)
    given += "".join(f"{each.dhcp.configuration}{each.dhcp.hosts}" for each in made.services.values() if each.dhcp)
    for needle in ("reboot", "etc", "; drop", "%", "é", "::1%eth0", "10.0.0.1/24", '""'):
        assert needle not in given
    # A problem for each thing that was left out, and for each rule of the group.
    assert len(made.problems) == len(bad) + len(networks) - 1 + len(routers) + len(rules.rules)


def test_a_range_is_taken_where_an_address_is_meant_and_refused() -> None:
    of = network()
    port = port_in(of, "10.50.0.5")
    wide = replace(port, addresses=(replace(port.addresses[0], address="10.50.0.0/24"),))
    assert "10.50.0.0/24" in said(document([of], [wide]))[port.id]


@pytest.mark.parametrize("mac", ["01:00:5e:00:00:01", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00", "fa:16:3e:00:00", ""])
def test_the_mac_of_a_port_is_that_of_one_card(mac: str) -> None:
    with pytest.raises(ValueError, match="MAC"):
        checked_mac(mac)


def test_the_link_local_address_follows_from_the_mac() -> None:
    assert str(link_local("fa:16:3e:00:00:01")) == "fe80::f816:3eff:fe00:1"


def test_what_a_host_cannot_have_is_a_problem_of_its_own() -> None:
    outside = NetworkSpec(new_id(), physical_network="dmz")
    alone = network(segment=5, peers=("192.0.2.2",))
    port, lost = port_in(alone, "10.50.0.5", **IN_OPEN), port_in(outside)
    router = RouterSpec(new_id(), (RouterLeg(new_id(), alone.id, "fa:16:3e:00:00:01", ()),))
    wanted = document([outside, alone], [port, lost], routers=(router,))
    problems = said(wanted, NetworkPlace(has_namespaces=False))
    assert "physical network 'dmz'" in problems[outside.id] and "no address among them" in problems[alone.id]
    assert "network" in problems[lost.id] and "namespace" in problems[router.id] and port.id not in problems
    assert plan(wanted, NetworkPlace(has_namespaces=False)).services == {}


def test_ports_whose_interfaces_would_have_one_name_are_not_both_plugged() -> None:
    of = network()
    one = port_in(of, "10.50.0.5", **IN_OPEN)
    other = replace(port_in(of, "10.50.0.6", **IN_OPEN), id=one.id[:-1] + ("0" if one.id[-1] != "0" else "1"))
    made = plan(document([of], [one, other]))
    assert list(made.taps) == [one.id] and made.problems[0].id == other.id


def test_numbers_that_are_in_force_remain() -> None:
    first, second, third = network(), network(), network()
    ports = [port_in(each, "10.50.0.5", **IN_OPEN) for each in (first, second, third)]
    profiles = {(second.id, (OPEN.id,)): 7, (new_id(), ()): 1}
    made = plan(document([first, second, third], ports), zones={second.id: 9, new_id(): 1}, profiles=profiles)
    assert made.profiles[second.id, (OPEN.id,)] == 7 and sorted(made.profiles.values()) == [2, 3, 7]
    assert {made.bridges[each.id].zone for each in (first, third)} == {2, 3} and made.bridges[second.id].zone == 9


def test_members_of_other_networks_are_seen_where_nobody_here_can_have_their_address() -> None:
    here, there = network("10.50.0.0/24"), network("10.51.0.0/24")
    members = {here.id: ("10.50.0.5",), there.id: ("10.51.0.5", "10.50.0.77", "fd00::1")}
    named = group(members=members)
    groups = Groups({named.id: named}, {here.id: checked_network(here)})
    assert members_seen(groups, named.id, here.id, 4) == ("10.50.0.5", "10.51.0.5")
    assert members_seen(groups, named.id, here.id, 6) == ("fd00::1",)
    assert members_seen(groups, new_id(), here.id, 4) == ()


def test_ranges_of_members_are_seen_likewise_and_never_twice() -> None:
    here, there = network("10.50.0.0/24"), network("10.51.0.0/24")
    ranges = {here.id: ("192.0.2.0/24", "192.0.2.128/25", "fd00::/64"), there.id: ("198.51.100.0/24", "10.0.0.0/8")}
    named = group(ranges=ranges)
    groups = Groups({named.id: named}, {each.id: checked_network(each) for each in (here, there)})
    assert list(map(str, ranges_seen(groups, named.id, here.id, 4))) == ["192.0.2.0/24", "198.51.100.0/24"]
    assert list(map(str, ranges_seen(groups, named.id, here.id, 6))) == ["fd00::/64"]


@pytest.mark.parametrize(
    ("of_rule", "why"),
    [
        ({"protocol": "tcp", "port_min": 90, "port_max": 80}, "range of ports"),
        ({"protocol": "gre", "port_min": 1, "port_max": 1}, "has no ports"),
        ({"port_min": 80, "port_max": 80}, "no protocol"),
        ({"protocol": "icmp", "port_min": 300}, "no type"),
        ({"protocol": "icmp", "port_max": 0}, "no type"),
        ({"protocol": "256"}, "no protocol"),
        ({"remote_cidr": "fd00::/64"}, "IP version 4"),
    ],
)
def test_a_rule_that_cannot_be_meant_lets_nothing_through(of_rule: dict[str, object], why: str) -> None:
    of, meant = network(), rule(Direction.INGRESS, protocol="tcp")
    unsound: GroupRule = rule(Direction.INGRESS, **of_rule)
    named = group(unsound, meant)
    made = plan(document([of], [port_in(of, "10.50.0.5", group_ids=(named.id,))], [named]))
    assert [(problem.id, why in problem.message) for problem in made.problems] == [(unsound.id, True)]
    chains = next(table for table in made.tables if table.family == "ip").chains
    (of_group,) = (
        chain for name, chain in chains.items() if name.startswith("ingress_") and named.id.replace("-", "") in name
    )
    assert of_group.rules == ("ct protocol 6 accept",)


@pytest.mark.parametrize(
    ("routes", "told"),
    [
        ((), ""),
        ((HostRoute("10.9.0.0/16", "10.50.0.9"),), ",10.9.0.0/16,10.50.0.9,0.0.0.0/0,10.50.0.1"),
        ((HostRoute("0.0.0.0/0", "10.50.0.9"),), ",0.0.0.0/0,10.50.0.9"),
    ],
)
def test_guests_are_told_one_way_out(routes: tuple[HostRoute, ...], told: str) -> None:
    """A default route of the subnet's own is said in place of the gateway's, as with OVN."""
    of = network()
    subnet = replace(of.subnets[0], gateway="10.50.0.1", routes=routes)
    made = plan(document([replace(of, subnets=(subnet,))], [port_in(of, "10.50.0.5", **IN_OPEN)]))
    dhcp = made.services[of.id].dhcp
    assert dhcp is not None
    said = [line for line in dhcp.configuration.splitlines() if ",121" in line]
    assert said == ([f"dhcp-option-force=tag:s0,121{told}"] if told else [])


@pytest.mark.parametrize(
    ("mode", "word", "is_told"),
    [
        ("", "static", True),
        ("dhcpv6-stateful", "static", True),
        ("dhcpv6-stateless", "ra-stateless", False),
        ("slaac", "ra-only", False),
    ],
)
def test_guests_are_told_by_host_and_router_alike_whence_addresses_are(mode: str, word: str, is_told: bool) -> None:
    six = SubnetSpec(new_id(), "fd00:50::/64", "fd00:50::1", ipv6_mode=mode)
    of = replace(network(), subnets=(six,))
    leg = RouterLeg(new_id(), of.id, "fa:16:3e:00:00:01", (FixedAddress(six.id, "fd00:50::1"),))
    router = RouterSpec(new_id(), (leg,))
    made = plan(document([of], [port_in(of, "fd00:50::5", **IN_OPEN)], routers=(router,)))
    assert made.problems == ()
    dhcp = made.services[of.id].dhcp
    assert dhcp is not None and f"dhcp-range=set:s0,fd00:50::,{word},64," in dhcp.configuration
    assert f"dhcp-range=fd00:50::,{word},64" in made.routers[router.id].advertisements
    assert ("fd00:50::5" in dhcp.hosts) is is_told


def test_a_router_takes_in_sources_of_either_ip_version_from_its_networks_alone() -> None:
    six = SubnetSpec(new_id(), "fd00:50::/64", "fd00:50::1")
    of = network()
    of = replace(of, subnets=(*of.subnets, six))
    addresses = (FixedAddress(of.subnets[0].id, "10.50.0.1"), FixedAddress(six.id, "fd00:50::1"))
    leg = RouterLeg(new_id(), of.id, "fa:16:3e:00:00:01", addresses)
    routes = (HostRoute("10.9.0.0/16", "10.50.0.9"), HostRoute("10.8.0.0/16", "203.0.113.1"))
    router = RouterSpec(new_id(), (leg,), routes=routes)

    def taken(spec: RouterSpec) -> tuple[str, ...]:
        made = plan(document([of], [port_in(of, "10.50.0.5", **IN_OPEN)], routers=(spec,)))
        return made.routers[spec.id].tables[0].chains["taken"].rules

    name = f'iifname "{plan(document([of], [], routers=(router,))).routers[router.id].legs[0].name}"'
    assert taken(router) == (
        f"{name} ip saddr != {{ 10.9.0.0/16, 10.50.0.0/24 }} drop",
        f"{name} ip6 saddr != {{ fd00:50::/64 }} drop",
    )
    anywhere = replace(router, routes=(HostRoute("0.0.0.0/0", "10.50.0.9"),))
    assert taken(anywhere) == (f"{name} ip6 saddr != {{ fd00:50::/64 }} drop",)


def test_only_names_of_ours_are_ever_removed() -> None:
    ours = ["knb0123456789ab", "knx0123456789ab", "tp0123456789ab", "knp0123456789ab"]
    others = [
        "knb-bridge",
        "tp0",
        "tp-link-adapter",
        "kn0123456789ab",
        "eth0",
        "knb0123456789abc",
        "virbr0",
        "knq0123456789ab",
    ]
    assert all(map(is_ours, ours)) and not any(map(is_ours, others))
