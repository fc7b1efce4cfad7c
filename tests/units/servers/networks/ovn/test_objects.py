"""What rows become in OVN's northbound database, as values."""

import re
from dataclasses import replace
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computeagent.protocol.networks import (
    AddressPair,
    Direction,
    FixedAddress,
    GroupRule,
    GroupSpec,
    HostPort,
    HostRoute,
    NetworkSpec,
    RouterLeg,
    RouterSpec,
    SubnetSpec,
)
from servers.networks.ovn.objects.groups import NUMBERS, group_rows, rule_match
from servers.networks.ovn.objects.networks import network_rows
from servers.networks.ovn.objects.ports import port_rows
from servers.networks.ovn.objects.routers import gateways_of, router_problem, router_rows
from servers.networks.ovn.objects.row import NorthboundRow
from servers.networks.ovn.objects.state import OvnLayout, OvnPort, OvnRouter, OvnState
from servers.networks.ovn.objects.wanted import wanted_rows

SUBNET = SubnetSpec("s4", "10.9.0.0/24", gateway="10.9.0.1", metadata_address="10.9.0.2", dns_servers=("9.9.9.9",))
SIX = SubnetSpec("s6", "fd00:9::/64", gateway="fd00:9::1")
NETWORK = NetworkSpec("n1", mtu=1442, subnets=(SUBNET, SIX))
PORT = HostPort(
    "p1",
    "n1",
    "fa:16:3e:00:00:07",
    (FixedAddress("s4", "10.9.0.7"), FixedAddress("s6", "fd00:9::7")),
    group_ids=("g1",),
)
INGRESS = GroupRule("r1", Direction.INGRESS)


def one(rows: list[NorthboundRow], table: str) -> NorthboundRow:
    (found,) = [row for row in rows if row.table == table]
    return found


@pytest.mark.parametrize(
    ("rule", "match"),
    [
        (INGRESS, "outport == @g && ip4"),
        (replace(INGRESS, direction=Direction.EGRESS, ip_version=6), "inport == @g && ip6"),
        (replace(INGRESS, remote_cidr="0.0.0.0/0"), "outport == @g && ip4"),
        (replace(INGRESS, remote_cidr="10.0.0.0/8"), "outport == @g && ip4 && ip4.src == 10.0.0.0/8"),
        (
            replace(INGRESS, direction=Direction.EGRESS, remote_cidr="10.0.0.0/8"),
            "inport == @g && ip4 && ip4.dst == 10.0.0.0/8",
        ),
        (replace(INGRESS, remote_group_id="a-b"), "outport == @g && ip4 && ip4.src == {$kn_ab_ip4, $kn_ab_pairs_ip4}"),
        (replace(INGRESS, protocol="tcp", port_min=22, port_max=22), "outport == @g && ip4 && tcp && tcp.dst == 22"),
        (
            replace(INGRESS, protocol="udp", port_min=1, port_max=9),
            "outport == @g && ip4 && udp && udp.dst >= 1 && udp.dst <= 9",
        ),
        (
            replace(INGRESS, protocol="icmp", port_min=3, port_max=4),
            "outport == @g && ip4 && icmp4 && icmp4.type == 3 && icmp4.code == 4",
        ),
        (replace(INGRESS, protocol="icmp", ip_version=6), "outport == @g && ip6 && icmp6"),
        (replace(INGRESS, protocol="vrrp"), "outport == @g && ip4 && ip.proto == 112"),
        (replace(INGRESS, protocol="47"), "outport == @g && ip4 && ip.proto == 47"),
        (replace(INGRESS, protocol="dccp", port_min=5, port_max=5), ""),
    ],
)
def test_match(rule: GroupRule, match: str) -> None:
    assert rule_match(rule, "g") == match


RULES = st.builds(
    GroupRule,
    id=st.uuids().map(str),
    direction=st.sampled_from(Direction),
    ip_version=st.sampled_from([4, 6]),
    protocol=st.sampled_from(["", "tcp", "udp", "sctp", "icmp", "icmpv6", "0", "255", *NUMBERS]),
    port_min=st.none() | st.integers(0, 65535),
    port_max=st.none() | st.integers(0, 65535),
    remote_group_id=st.just("") | st.uuids().map(str),
)


@given(RULES)
def test_match_is_made_of_known_words(rule: GroupRule) -> None:
    match = rule_match(rule, "kn_1")
    sets = r"\{\$kn_[0-9a-f]{32}_ip[46], \$kn_[0-9a-f]{32}_pairs_ip[46]\}"
    word = rf"(inport|outport) == @kn_1|ip4|ip6|ip[46]\.(src|dst) == {sets}|ip\.proto == \d+"
    typed = r"tcp|udp|sctp|icmp4|icmp6|(tcp|udp|sctp)\.dst (==|>=|<=) \d+|icmp[46]\.(type|code) == \d+"
    assert not match or all(re.fullmatch(f"{word}|{typed}", part) for part in match.split(" && "))


def test_a_rule_that_ovn_cannot_keep_lets_nothing_through() -> None:
    rows = group_rows(GroupSpec("g1", (replace(INGRESS, protocol="dccp", port_min=5),)))
    assert [row.table for row in rows] == ["Address_Set", "Address_Set", "Port_Group"]


def test_a_guarded_port() -> None:
    (row,) = port_rows(OvnPort(replace(PORT, hostname="web"), "hv1"), {"n1": NETWORK})
    own = "fa:16:3e:00:00:07 10.9.0.7 fd00:9::7"
    assert (row.columns["addresses"], row.columns["port_security"]) == ((own,), (own,))
    assert row.columns["options"] == {"requested-chassis": "hv1", "hostname": '"web"'}
    assert row.references == {"dhcpv4_options": "dhcp:s4", "dhcpv6_options": "dhcp:s6"}
    assert row.groups == ("group:drop", "group:g1")


@pytest.mark.parametrize("name", ["", "-", 'web"); drop; ("', "a b", "x" * 300])
def test_only_a_host_name_gets_into_a_rule(name: str) -> None:
    (row,) = port_rows(OvnPort(replace(PORT, hostname=name)), {})
    assert row.columns["options"] == {}


def test_an_open_port() -> None:
    row = one(port_rows(OvnPort(replace(PORT, has_security=False)), {}), "Logical_Switch_Port")
    assert (row.columns["port_security"], row.groups) == ((), ())
    assert "unknown" in row.columns["addresses"]  # type: ignore[operator]


def test_allowed_pairs() -> None:
    pairs = (AddressPair("10.9.0.100"), AddressPair("10.9.0.101", "fa:16:3e:00:00:08"))
    row = one(port_rows(OvnPort(replace(PORT, allowed_pairs=pairs)), {}), "Logical_Switch_Port")
    assert row.columns["port_security"] == (
        "fa:16:3e:00:00:07 10.9.0.7 fd00:9::7 10.9.0.100",
        "fa:16:3e:00:00:08 10.9.0.101",
    )
    assert row.columns["addresses"] == ("fa:16:3e:00:00:07 10.9.0.7 fd00:9::7", "fa:16:3e:00:00:08")


@pytest.mark.parametrize(
    ("port", "sources"),
    [
        (replace(PORT, allowed_pairs=(AddressPair("10.9.0.0/24"),)), " && !(ip4.src == {10.9.0.7})"),
        (replace(PORT, has_security=False), " && !(ip4.src == {10.9.0.7})"),
        (replace(PORT, has_security=False, addresses=()), ""),
    ],
)
def test_who_may_send_from_others_addresses_asks_for_metadata_from_its_own_alone(port: HostPort, sources: str) -> None:
    rule = one(port_rows(OvnPort(port), {"n1": NETWORK}), "ACL")
    assert rule.columns["match"] == f'inport == "p1" && ip4.dst == {{10.9.0.2, 169.254.169.254}}{sources}'
    assert (rule.columns["direction"], rule.columns["action"]) == ("from-lport", "drop")
    assert (rule.owner, rule.parent, rule.column) == ("port:p1", "network:n1", "acls")


def test_who_sends_from_its_own_addresses_alone_needs_no_rule_for_metadata() -> None:
    for port in (PORT, replace(PORT, allowed_pairs=(AddressPair("fd00:9::100"),))):
        assert [row.table for row in port_rows(OvnPort(port), {"n1": NETWORK})] == ["Logical_Switch_Port"]


def test_dhcp_tells_routes_mtu_and_the_way_to_the_metadata_service() -> None:
    network = replace(NETWORK, subnets=(replace(SUBNET, routes=(HostRoute("10.50.0.0/16", "10.9.0.9"),)),))
    options = one(network_rows(network), "DHCP_Options").columns["options"]
    assert options == {
        "server_id": "10.9.0.2",
        "server_mac": options["server_mac"],  # type: ignore[index, call-overload]
        "lease_time": "43200",
        "mtu": "1442",
        "router": "10.9.0.1",
        "dns_server": "{9.9.9.9}",
        "classless_static_route": "{10.50.0.0/16,10.9.0.9, 169.254.169.254/32,10.9.0.2, 0.0.0.0/0,10.9.0.1}",
    }


@pytest.mark.parametrize(
    ("mode", "has_options", "stateless", "told", "rdnss"),
    [
        ("", True, None, "dhcpv6_stateful", None),
        ("dhcpv6-stateful", True, None, "dhcpv6_stateful", None),
        ("dhcpv6-stateless", True, "true", "dhcpv6_stateless", None),
        ("slaac", False, None, "slaac", "fd00:9::53"),
    ],
)
def test_ways_of_guests_to_their_ipv6_addresses(
    mode: str, has_options: bool, stateless: str | None, told: str, rdnss: str | None
) -> None:
    six = replace(SIX, ipv6_mode=mode, dns_servers=("fd00:9::53",))
    net = replace(NETWORK, subnets=(six,))
    options = [row.columns["options"] for row in network_rows(net) if row.table == "DHCP_Options"]
    assert [each.get("dhcpv6_stateless") for each in options] == [stateless] * has_options  # type: ignore[union-attr]
    (port,) = port_rows(OvnPort(PORT), {"n1": net})
    assert port.references["dhcpv6_options"] == ("dhcp:s6" if has_options else "")
    leg = RouterLeg("leg", "n1", "fa:16:3e:00:00:01", (FixedAddress("s6", "fd00:9::1"),))
    row = one(router_rows(OvnRouter(RouterSpec("r1", legs=(leg,))), {"n1": net}, OvnLayout()), "Logical_Router_Port")
    configs = row.columns["ipv6_ra_configs"]
    assert (configs["address_mode"], configs.get("rdnss")) == (told, rdnss)  # type: ignore[index,union-attr,call-overload]


def test_leases_come_before_what_is_told_beside_own_addresses() -> None:
    first, second = replace(SIX, id="s5", ipv6_mode="dhcpv6-stateless"), SIX
    addresses = (FixedAddress("s5", "fd00:8::7"), FixedAddress("s6", "fd00:9::7"))
    (row,) = port_rows(OvnPort(replace(PORT, addresses=addresses)), {"n1": replace(NETWORK, subnets=(first, second))})
    assert row.references["dhcpv6_options"] == "dhcp:s6"


def test_no_dhcp_where_the_subnet_has_none() -> None:
    network = replace(NETWORK, subnets=(replace(SUBNET, has_dhcp=False),))
    rows = network_rows(network)
    assert "DHCP_Options" not in {row.table for row in rows}
    (row,) = port_rows(OvnPort(PORT), {"n1": network})
    assert set(row.references.values()) == {""}


def test_an_outside_network_has_its_way_out() -> None:
    rows = network_rows(NetworkSpec("n2", physical_network="physnet1"))
    assert one(rows, "Logical_Switch_Port").columns["options"] == {"network_name": "physnet1"}


OUTSIDE = NetworkSpec("n2", subnets=(SubnetSpec("sx", "203.0.113.0/24", gateway="203.0.113.1"),), physical_network="x")
ROUTER = RouterSpec(
    "r1",
    legs=(RouterLeg("leg", "n1", "fa:16:3e:00:00:01", (FixedAddress("s4", "10.9.0.1"),)),),
    gateway=RouterLeg("gw", "n2", "fa:16:3e:00:00:02", (FixedAddress("sx", "203.0.113.9"),)),
)
NETWORKS = {"n1": NETWORK, "n2": OUTSIDE}


def test_router_without_snat_has_no_address_for_others() -> None:
    tables = [row.table for row in router_rows(OvnRouter(replace(ROUTER, has_snat=False)), NETWORKS, OvnLayout())]
    assert "NAT" not in tables
    assert "NAT" in [row.table for row in router_rows(OvnRouter(ROUTER), NETWORKS, OvnLayout())]


def test_router_without_gateway_chassis_says_so() -> None:
    assert "OVN_GATEWAY_CHASSIS" in router_problem(OvnRouter(ROUTER), OvnLayout())
    assert not router_problem(OvnRouter(ROUTER), OvnLayout(("hv1",)))
    assert not router_problem(OvnRouter(replace(ROUTER, gateway=None)), OvnLayout())


@given(st.uuids().map(str), st.integers(1, 12))
def test_gateways_are_shared_by_routers(router_id: str, many: int) -> None:
    chassis = tuple(f"hv{number}" for number in range(many))
    found = gateways_of(router_id, chassis)
    assert found == gateways_of(router_id, chassis)
    assert len(set(found)) == len(found) == min(5, many)


def test_routers_begin_at_different_gateways() -> None:
    assert {gateways_of(str(uuid4()), ("hv1", "hv2"))[0] for _ in range(64)} == {"hv1", "hv2"}


def test_keys_are_unique_and_parents_are_there() -> None:
    state = OvnState((NETWORK, OUTSIDE), (OvnPort(PORT, "hv1"),), (GroupSpec("g1", (INGRESS,)),), (OvnRouter(ROUTER),))
    rows = [row for of_owner in wanted_rows(state, OvnLayout(("hv1",))).values() for row in of_owner]
    keys = {row.key for row in rows}
    assert len(keys) == len(rows)
    assert {row.parent for row in rows} - {""} <= keys
    assert {key for row in rows for key in row.groups} <= keys
