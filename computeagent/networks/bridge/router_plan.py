"""What a router is to have: legs, routes, address translation, router advertisements.

It is a network namespace, so that routers with equal addresses do not meet. What comes to its own addresses is dropped,
but for pings and neighbour discovery.
"""

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address, IPv6Network, ip_network

from computeagent.networks.bridge.checked import (
    CheckedNetwork,
    checked_address,
    checked_id,
    checked_interfaces,
    checked_mac,
    checked_range,
    collapsed,
)
from computeagent.networks.bridge.dhcp_files import RANGES
from computeagent.networks.bridge.names import (
    BRIDGE_PREFIX,
    LEG_PREFIX,
    ROUTER_PREFIX,
    TABLE,
    device_name,
    router_namespace,
)
from computeagent.networks.bridge.plan import LegPlan, RouterPlan
from computeagent.networks.bridge.ruleset import Chain, NamedSet, Table
from computeagent.protocol.networks import RouterLeg, RouterSpec

ROUTER_LIFETIME_S = 1800
_ANSWERED = (
    "echo-request, nd-router-solicit, nd-neighbor-solicit, nd-neighbor-advert, mld-listener-query, "
    "mld-listener-report, mld2-listener-report"
)


def router_plan(
    spec: RouterSpec, networks: Mapping[str, CheckedNetwork], namespace_prefix: str, directory: str
) -> RouterPlan:
    """The router of the document. Raises ValueError."""
    identifier = checked_id(spec.id)
    legs = [_leg(each, networks) for each in spec.legs]
    outer = _leg(spec.gateway, networks) if spec.gateway is not None else None
    routes = [(str(checked_range(each.destination)), str(checked_address(each.nexthop))) for each in spec.routes]
    if spec.gateway is not None:
        external = networks[checked_id(spec.gateway.network_id)]
        with_address = {checked_id(each.subnet_id) for each in spec.gateway.addresses}
        routes += [
            ("0.0.0.0/0" if subnet.cidr.version == 4 else "::/0", str(subnet.gateway))
            for subnet in external.subnets.values()
            if subnet.gateway is not None and subnet.id in with_address
        ]
    floating = [(IPv4Address(each.address), IPv4Address(each.fixed_address)) for each in spec.floating]
    if floating and outer is None:
        raise ValueError("it has floating addresses and no gateway to an external network")
    own = [str(each.ip) for each in outer.addresses if each.version == 4] if outer is not None else []
    return RouterPlan(
        id=identifier,
        namespace=router_namespace(namespace_prefix, identifier),
        legs=(*legs, *((outer,) if outer is not None else ())),
        outer=outer.name if outer is not None else "",
        routes=tuple(dict.fromkeys(routes)),
        announced=tuple(str(address) for address, _ in floating),
        tables=_tables(legs, outer, floating, own[0] if own else "", spec),
        advertisements=_advertisements(spec, networks, legs, directory),
    )


def _leg(spec: RouterLeg, networks: Mapping[str, CheckedNetwork]) -> LegPlan:
    port_id, network = checked_id(spec.port_id), networks.get(checked_id(spec.network_id))
    if network is None:
        raise ValueError(f"network {spec.network_id} of a leg is not in the document, or not as it should be")
    return LegPlan(
        link=device_name(ROUTER_PREFIX, port_id),
        name=device_name(LEG_PREFIX, port_id),
        bridge=device_name(BRIDGE_PREFIX, network.id),
        mac=checked_mac(spec.mac),
        mtu=network.mtu,
        addresses=checked_interfaces(spec.addresses, network),
    )


def _tables(
    legs: list[LegPlan],
    outer: LegPlan | None,
    floating: list[tuple[IPv4Address, IPv4Address]],
    own: str,
    spec: RouterSpec,
) -> tuple[Table, ...]:
    inside = {str(each.network): "" for leg in legs for each in leg.addresses if each.version == 4}
    guard = _guard(legs, outer, floating, spec)
    if outer is None:
        return (guard,)
    translated = [
        # From inside to a floating address of the same router: the answer has to come back this way.
        "ct status dnat ip saddr @inside snat to ip saddr map @floating_out",
        *([f"ct status dnat ip saddr @inside snat to {own}"] if own else []),
        f'oifname "{outer.name}" snat to ip saddr map @floating_out',
        # As in Neutron whoever it is from: also networks that are reached by static routes.
        *([f'oifname "{outer.name}" snat to {own}'] if own and spec.has_snat else []),
    ]
    nat = Table(
        "ip",
        TABLE,
        {
            "floating": Chain(
                ("dnat to ip daddr map @floating_in",), "type nat hook prerouting priority -100; policy accept;"
            ),
            "source": Chain(tuple(translated), "type nat hook postrouting priority 100; policy accept;"),
        },
        {
            "inside": NamedSet("type ipv4_addr", inside, flags="interval"),
            "floating_in": NamedSet("type ipv4_addr : ipv4_addr", {str(a): str(b) for a, b in floating}, is_map=True),
            "floating_out": NamedSet("type ipv4_addr : ipv4_addr", {str(b): str(a) for a, b in floating}, is_map=True),
        },
    )
    return (guard, nat)


def _guard(
    legs: list[LegPlan], outer: LegPlan | None, floating: list[tuple[IPv4Address, IPv4Address]], spec: RouterSpec
) -> Table:
    """What comes to the router itself, and under which addresses anything leaves it for outside."""
    chains = {
        "input": Chain(
            (
                "ct state established,related accept",
                "icmp type echo-request accept",
                f"icmpv6 type {{ {_ANSWERED} }} accept",
                'iifname "lo" accept',
            ),
            "type filter hook input priority 0; policy drop;",
        )
    }
    rules = tuple(rule for leg in legs for rule in _taken(leg, spec))
    chains["taken"] = Chain(rules, "type filter hook forward priority 0; policy accept;")
    if outer is None:
        return Table("inet", TABLE, chains)
    # Behind address translation (100). What a project lets its ports send from is outside somebody else's.
    chains["leaving"] = Chain(
        (
            f'oifname != "{outer.name}" accept',
            "ip saddr @outside4 accept",
            "ip6 saddr @outside6 accept",
            "ip6 saddr fe80::/10 accept",
            "drop",
        ),
        "type filter hook postrouting priority 150; policy accept;",
    )
    sets = {f"outside{version}": _outside(version, legs, outer, floating, spec) for version in (4, 6)}
    return Table("inet", TABLE, chains, sets)


def _taken(leg: LegPlan, spec: RouterSpec) -> Iterator[str]:
    """From a network inside comes what is of its subnets, or of static routes over it: who is in another network of the
    router knows by the address who speaks. A default route over it lets anything come from there.
    """
    own = [each.network for each in leg.addresses]
    routes = [(checked_range(each.destination), checked_address(each.nexthop)) for each in spec.routes]
    sources = [*own, *(destination for destination, nexthop in routes if any(nexthop in each for each in own))]
    for version, word in ((4, "ip"), (6, "ip6")):
        found = collapsed(sources, version)
        if not found:
            yield f'iifname "{leg.name}" meta nfproto ipv{version} drop'
        elif all(each.prefixlen for each in found):
            yield f'iifname "{leg.name}" {word} saddr != {{ {", ".join(map(str, found))} }} drop'


def _outside(
    version: int,
    legs: list[LegPlan],
    outer: LegPlan,
    floating: list[tuple[IPv4Address, IPv4Address]],
    spec: RouterSpec,
) -> NamedSet:
    """Its own addresses outside. Where nothing is translated (IPv6, or without SNAT), what is behind it as well."""
    ranges = [ip_network(each.ip) for each in outer.addresses] + [ip_network(address) for address, _ in floating]
    if version == 6 or not spec.has_snat:
        ranges += [each.network for leg in legs for each in leg.addresses]
        ranges += [checked_range(each.destination) for each in spec.routes]
    return NamedSet(f"type ipv{version}_addr", {str(each): "" for each in collapsed(ranges, version)}, flags="interval")


def _advertisements(
    spec: RouterSpec, networks: Mapping[str, CheckedNetwork], legs: list[LegPlan], directory: str
) -> str:
    """Guests learn their way out of IPv6 from the router itself, their addresses from DHCPv6 on their own host (the
    rules let no request for an address in) or of the prefix, which both say in the same way.
    """
    subnets = {id_: subnet for network in networks.values() for id_, subnet in network.subnets.items()}
    modes = {
        subnets[id_].cidr: subnets[id_].ipv6_mode
        for leg in spec.legs
        for id_ in (checked_id(each.subnet_id) for each in leg.addresses)
        if id_ in subnets
    }
    six = [(leg, each.network) for leg in legs for each in leg.addresses if isinstance(each.network, IPv6Network)]
    if not six:
        return ""
    lines = [
        "port=0", "bind-interfaces", "except-interface=lo", "no-hosts", "no-resolv", "leasefile-ro", "enable-ra",
        "log-facility=/dev/null", "quiet-dhcp6", "quiet-ra", f"pid-file={directory}/pid",
    ]  # fmt: skip
    for leg in dict.fromkeys(leg for leg, _ in six):
        lines += [f"interface={leg.name}", f"ra-param={leg.name},mtu:{leg.mtu},60,{ROUTER_LIFETIME_S}"]
    lines += [
        f"dhcp-range={network.network_address},{RANGES[modes[network]]},{network.prefixlen}" for _, network in six
    ]
    return "\n".join(lines) + "\n"
