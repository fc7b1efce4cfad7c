"""Security groups: tables `ip` and `ip6`, called for bridged packets by br_netfilter.

A packet is judged by the connection that it is part of, not by itself: by the original direction's addresses and
ports, as connection tracking has them. So both directions, errors about it (ICMP) and each later packet are judged
alike, nothing is let through for being "established", and a connection ends with the rule that allowed it, while others
go on.

Who sends is judged in `from_guest`, who gets it in `to_guest`; both must agree. Who began the connection is judged by
its egress rules, the other side by its ingress rules.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network

from computeagent.networks.bridge.checked import CheckedNetwork, checked_address, checked_id, checked_range, collapsed
from computeagent.networks.bridge.guard_rules import LOWER_HALF, UPPER_HALF
from computeagent.networks.bridge.names import BRIDGE_PREFIX, TABLE
from computeagent.networks.bridge.ruleset import Chain, NamedSet, Table
from computeagent.protocol.networks import Direction, GroupRule, GroupSpec, NetworkProblem

Profile = tuple[str, tuple[str, ...]]
"""A network and the groups that a port in it has: all that its rules depend on."""

PROTOCOL_NUMBERS = {
    "ah": 51, "dccp": 33, "egp": 8, "esp": 50, "gre": 47, "icmp": 1, "icmpv6": 58, "igmp": 2, "ipip": 4,
    "ipv6-encap": 41, "ipv6-frag": 44, "ipv6-icmp": 58, "ipv6-nonxt": 59, "ipv6-opts": 60, "ipv6-route": 43,
    "ospf": 89, "pgm": 113, "rsvp": 46, "sctp": 132, "tcp": 6, "udp": 17, "udplite": 136, "vrrp": 112,
}  # fmt: skip
"""Names that Neutron's API has."""
WITH_PORTS = frozenset({6, 17, 33, 132, 136})
ICMP = {4: 1, 6: 58}


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of a document, and the networks that they are seen from."""

    specs: Mapping[str, GroupSpec]
    networks: Mapping[str, CheckedNetwork]


def group_tables(
    profiles: Mapping[Profile, int], zones: Mapping[str, int], groups: Groups, *, max_connections: int = 0
) -> tuple[tuple[Table, ...], tuple[NetworkProblem, ...]]:
    """The tables for these profiles by their numbers, and rules that cannot be kept. `zones`: by bridge.

    `max_connections`: how many of each IP version a guest may have that it began, and as many that others began with
    it; 0: as many as the host has room for, which all its guests share.
    """
    problems: dict[str, NetworkProblem] = {}
    tables = tuple(_Rules(version, groups, problems, max_connections).table(profiles, zones) for version in (4, 6))
    return tables, tuple(problems.values())


class _Rules:
    """The table of one version of IP, on its way."""

    def __init__(self, version: int, groups: Groups, problems: dict[str, NetworkProblem], max_connections: int) -> None:
        self._version, self._groups, self._problems = version, groups, problems
        self._family = "ip" if version == 4 else "ip6"
        self._chains = _base_chains(version, max_connections)
        self._sets: dict[str, NamedSet] = {}
        if max_connections:
            counted = NamedSet("type ifname . ether_addr", {}, flags="dynamic")
            self._sets |= {"connections_from": counted, "connections_to": counted}

    def table(self, profiles: Mapping[Profile, int], zones: Mapping[str, int]) -> Table:
        """A chain for each group in each network, and one for each profile that goes through its groups."""
        by_bridge = {f'"{bridge}"': str(zone) for bridge, zone in zones.items()}
        self._sets["zones"] = NamedSet("typeof iifname : ct zone", by_bridge, is_map=True)
        for half, shift, began, answered in (
            ("from", 16, Direction.EGRESS, Direction.INGRESS),
            ("to", 0, Direction.INGRESS, Direction.EGRESS),
        ):
            for way, direction in (("original", began), ("reply", answered)):
                chains = {f"0x{number << shift:08x}": f"goto {direction}_{number}" for number in profiles.values()}
                self._sets[f"{half}_{way}"] = NamedSet("type mark : verdict", chains, is_map=True)
        for (network_id, group_ids), number in profiles.items():
            for direction in Direction:
                chains_of = [self._group(direction, group_id, network_id) for group_id in group_ids]
                jumps = [f"jump {name}" for name in chains_of if self._chains[name].rules]
                self._chains[f"{direction}_{number}"] = Chain((*jumps, "drop"))
        return Table(self._family, TABLE, self._chains, self._sets)

    def _group(self, direction: Direction, group_id: str, network_id: str) -> str:
        name = f"{direction}_{_short(group_id)}_{_short(network_id)}"
        if name in self._chains:
            return name
        group = self._groups.specs.get(group_id)
        if group is None:
            said = "this security group of a port is not in the document: it lets nothing through"
            self._problems[group_id] = NetworkProblem("host", group_id, said)
        rules = []
        for rule in group.rules if group is not None else ():
            if (rule.direction, rule.ip_version) != (direction, self._version):
                continue
            try:
                protocol = _protocol_match(rule)
                remotes = self._remote_matches(rule, network_id)
                rules += [" ".join((*protocol, *remote, "accept")) for remote in remotes]
            except ValueError as error:
                said = f"a rule of security group {group_id} lets nothing through: {error}"
                self._problems[rule.id] = NetworkProblem("host", rule.id, said)
        self._chains[name] = Chain(tuple(dict.fromkeys(rules)))
        return name

    def _remote_matches(self, rule: GroupRule, network_id: str) -> list[tuple[str, ...]]:
        """Any of them will do."""
        side = "saddr" if rule.direction == Direction.INGRESS else "daddr"
        if rule.remote_group_id:
            name = f"members_{_short(rule.remote_group_id)}_{_short(network_id)}"
            if name not in self._sets:
                members = members_seen(self._groups, checked_id(rule.remote_group_id), network_id, self._version)
                self._sets[name] = NamedSet(f"type ipv{self._version}_addr", dict.fromkeys(members, ""))
            matches: list[tuple[str, ...]] = [(f"ct original {self._family} {side} @{name}",)]
            ranges = ranges_seen(self._groups, checked_id(rule.remote_group_id), network_id, self._version)
            if ranges:
                named = f"ranges_{_short(rule.remote_group_id)}_{_short(network_id)}"
                elements = {f"{each[0]}-{each[-1]}": "" for each in ranges}
                self._sets[named] = NamedSet(f"type ipv{self._version}_addr", elements, flags="interval")
                matches.append((f"ct original {self._family} {side} @{named}",))
            return matches
        if not rule.remote_cidr:
            return [()]
        cidr = checked_range(rule.remote_cidr)
        if cidr.version != self._version:
            raise ValueError(f"{cidr} is not of IP version {self._version}")
        return [(f"ct original {self._family} {side} {cidr}",) if cidr.prefixlen else ()]


def _base_chains(version: int, max_connections: int) -> dict[str, Chain]:
    # Neighbour and listener discovery are not tracked; who may send which of it is in the guard's table.
    types = (
        "mld-listener-query, mld-listener-report, mld-listener-done, mld2-listener-report, nd-router-solicit, "
        "nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert"
    )
    untracked = (f"ct state untracked icmpv6 type {{ {types} }} accept",) if version == 6 else ()
    return {
        "zone": Chain(("ct zone set iifname map @zones",), "type filter hook prerouting priority -300; policy accept;"),
        "from_guest": Chain(
            _half("from", UPPER_HALF, untracked, max_connections), "type filter hook forward priority 0; policy accept;"
        ),
        "to_guest": Chain(
            _half("to", LOWER_HALF, untracked, max_connections), "type filter hook forward priority 1; policy accept;"
        ),
    }


def _half(half: str, mask: int, untracked: tuple[str, ...], max_connections: int) -> tuple[str, ...]:
    return (
        f'iifname != "{BRIDGE_PREFIX}*" accept',
        f"meta mark and 0x{mask:08x} == 0x00000000 accept",
        *((_counted(half, max_connections),) if max_connections else ()),
        f"meta mark and 0x{mask:08x} == 0x{mask:08x} accept",
        *untracked,
        "ct state { invalid, untracked } drop",
        f"ct direction original meta mark and 0x{mask:08x} vmap @{half}_original",
        f"ct direction reply meta mark and 0x{mask:08x} vmap @{half}_reply",
        "drop",
    )


def _counted(half: str, limit: int) -> str:
    """One guest fills the host's table of connections no further than this. A guest is its network and its MAC."""
    side = "saddr" if half == "from" else "daddr"
    key = f"iifname . ether {side}"
    return f"ct state new ct direction original add @connections_{half} {{ {key} ct count over {limit} }} drop"


def protocol_number(rule: GroupRule) -> int | None:
    """The rule's protocol; None: any. ICMP is that of the rule's version of IP. Raises ValueError."""
    name = rule.protocol.lower()
    if not name or name == "any":
        return None
    number = PROTOCOL_NUMBERS.get(name)
    if number is None:
        if not name.isascii() or not name.isdecimal() or int(name) > 255:
            raise ValueError(f"there is no protocol {rule.protocol!r}")
        number = int(name)
    return ICMP[rule.ip_version] if number in ICMP.values() else number


def _protocol_match(rule: GroupRule) -> list[str]:
    number = protocol_number(rule)
    if number is None:
        if rule.port_min is not None or rule.port_max is not None:
            raise ValueError("it has ports and no protocol")
        return []
    matches = [f"ct protocol {number}"]
    if rule.port_min is None and rule.port_max is None:
        return matches
    if number == ICMP[rule.ip_version]:
        low, high = _icmp_range(rule)
    elif number in WITH_PORTS:
        low = rule.port_min if rule.port_min is not None else 0
        high = rule.port_max if rule.port_max is not None else 65535
    else:
        raise ValueError(f"protocol {number} has no ports")
    if not 0 <= low <= high <= 65535:
        raise ValueError(f"{low} to {high} is no range of ports")
    return [*matches, f"ct original proto-dst {low}" if low == high else f"ct original proto-dst {low}-{high}"]


def _icmp_range(rule: GroupRule) -> tuple[int, int]:
    """Connection tracking has type and code in the place of a destination port, the type first."""
    if rule.port_min is None:
        raise ValueError("it has an ICMP code and no type")
    if not 0 <= rule.port_min <= 255 or not 0 <= (rule.port_max or 0) <= 255:
        raise ValueError(f"ICMP has no type {rule.port_min} with code {rule.port_max}")
    low = rule.port_min << 8
    return (low, low + 255) if rule.port_max is None else (low + rule.port_max, low + rule.port_max)


def members_seen(groups: Groups, group_id: str, network_id: str, version: int) -> tuple[str, ...]:
    """Addresses of a group's ports as a port in this network sees them.

    Those in the network itself; and of other networks those that cannot be anybody's here, for they come by a router.
    """
    group = groups.specs.get(group_id)
    if group is None:
        return ()
    network = groups.networks.get(network_id)
    here = [subnet.cidr for subnet in network.subnets.values()] if network is not None else []
    found = set()
    for of_network, addresses in group.members.items():
        for address in map(checked_address, addresses):
            if address.version == version and (of_network == network_id or not any(address in cidr for cidr in here)):
                found.add(address)
    return tuple(str(each) for each in sorted(found))


def ranges_seen(groups: Groups, group_id: str, network_id: str, version: int) -> list[IPv4Network] | list[IPv6Network]:
    """The same of ranges that its ports may send from, those that overlap as one."""
    group = groups.specs.get(group_id)
    network = groups.networks.get(network_id)
    here = [subnet.cidr for subnet in network.subnets.values()] if network is not None else []
    found: list[IPv4Network | IPv6Network] = []
    for of_network, texts in (group.ranges if group is not None else {}).items():
        for range_ in map(checked_range, texts):
            is_anybodys = of_network != network_id and any(_overlap(range_, cidr) for cidr in here)
            if range_.version == version and not is_anybodys:
                found.append(range_)
    return collapsed(found, version)


def _overlap(one: IPv4Network | IPv6Network, other: IPv4Network | IPv6Network) -> bool:
    if isinstance(one, IPv4Network) and isinstance(other, IPv4Network):
        return one.overlaps(other)
    return isinstance(one, IPv6Network) and isinstance(other, IPv6Network) and one.overlaps(other)


def _short(identifier: str) -> str:
    return checked_id(identifier).replace("-", "")
