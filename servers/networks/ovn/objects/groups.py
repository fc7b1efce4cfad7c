"""Security groups: a port group each, with a rule of OVN for each of its own.

A match that OVN does not understand is taken by its database and only logged by the hosts, which then drop what it
would let through. So matches are made of typed values alone, here.
"""

import ipaddress
from collections.abc import Collection

from computeagent.protocol.networks import Direction, GroupRule, GroupSpec
from servers.networks.ovn.objects.row import DROP, Columns, NorthboundRow, group_key

DROP_NAME = "kn_drop"
DROP_PRIORITY, ALLOW_PRIORITY, FORBID_PRIORITY = 1001, 1002, 1003
WITH_PORTS = {"tcp": "tcp", "6": "tcp", "udp": "udp", "17": "udp", "sctp": "sctp", "132": "sctp"}
ICMP = frozenset({"icmp", "icmpv6", "ipv6-icmp", "1", "58"})
NUMBERS = {
    "ah": 51, "dccp": 33, "egp": 8, "esp": 50, "gre": 47, "igmp": 2, "ipip": 4, "ipv6-encap": 41, "ipv6-frag": 44,
    "ipv6-nonxt": 59, "ipv6-opts": 60, "ipv6-route": 43, "ospf": 89, "pgm": 113, "rsvp": 46, "udplite": 136,
    "vrrp": 112,
}  # fmt: skip
"""IANA's numbers of the protocols that security groups know by name, but for those above."""


def drop_rows() -> list[NorthboundRow]:
    """The group of all guarded ports: nothing passes but what a port needs for its own addresses, and the metadata
    service of its host. Nobody answers others' DHCP.
    """
    allowed = {
        "dhcp4": "ip4 && udp && udp.src == 68 && udp.dst == 67",
        "dhcp6": "ip6 && udp && udp.src == 546 && udp.dst == 547 && ip6.dst == ff02::1:2",
        "metadata": "ip4 && ip4.dst == 169.254.169.254 && tcp && tcp.dst == 80",
        "nd": "icmp6 && icmp6.type == {133, 135, 136, 143}",
    }
    forbidden = {
        "dhcp4_server": "ip4 && udp && udp.src == 67 && udp.dst == 68",
        "dhcp6_server": "ip6 && udp && udp.src == 547 && udp.dst == 546",
    }
    out, to = f"inport == @{DROP_NAME}", f"outport == @{DROP_NAME}"
    return [
        NorthboundRow("Port_Group", DROP, DROP, {"name": DROP_NAME}),
        _acl(DROP, "acl:drop:in", Direction.INGRESS, DROP_PRIORITY, f"{to} && ip", "drop"),
        _acl(DROP, "acl:drop:out", Direction.EGRESS, DROP_PRIORITY, f"{out} && ip", "drop"),
        _acl(
            DROP,
            "acl:drop:nd_in",
            Direction.INGRESS,
            ALLOW_PRIORITY,
            f"{to} && icmp6 && icmp6.type == {{130, 131, 132, 134, 135, 136, 143}}",
            "allow",
        ),
        *(
            _acl(
                DROP,
                f"acl:drop:{name}",
                Direction.EGRESS,
                ALLOW_PRIORITY,
                f"{out} && {match}",
                "allow-related" if name == "metadata" else "allow",
            )
            for name, match in allowed.items()
        ),
        *(
            _acl(DROP, f"acl:drop:{name}", Direction.EGRESS, FORBID_PRIORITY, f"{out} && {match}", "drop")
            for name, match in forbidden.items()
        ),
    ]


def group_rows(group: GroupSpec, pairs: Collection[str] = ()) -> list[NorthboundRow]:
    """The group, its rules, and what its members may send from beside their own addresses (`pairs`): of the latter OVN
    makes sets by itself. These sets are there when they are empty, too, since rules name them.
    """
    key, name = group_key(group.id), group_name(group.id)
    by_version: dict[int, list[str]] = {4: [], 6: []}
    for each in sorted(set(pairs)):
        by_version[ipaddress.ip_network(each, strict=False).version].append(each)
    rows = [
        NorthboundRow("Address_Set", f"pairs{version}:{group.id}", key, _pairs_columns(name, version, addresses))
        for version, addresses in by_version.items()
    ]
    rows.append(NorthboundRow("Port_Group", key, key, {"name": name}))
    for rule in group.rules:
        match = rule_match(rule, name)
        if match:
            rows.append(_acl(key, f"acl:{rule.id}", rule.direction, ALLOW_PRIORITY, match, "allow-related"))
    return rows


def _pairs_columns(name: str, version: int, addresses: list[str]) -> Columns:
    return {"name": f"{name}_pairs_ip{version}", "addresses": tuple(addresses)}


def group_name(group_id: str) -> str:
    """Of a port group: OVN's expressions take no hyphens in it."""
    return "kn_" + group_id.replace("-", "")


def rule_match(rule: GroupRule, name: str) -> str:
    """What the rule lets through, of the ports of the group `name`. Empty for what OVN cannot tell apart (ports of
    DCCP and UDP-Lite): such a rule lets nothing through.
    """
    is_ingress = rule.direction is Direction.INGRESS
    family = f"ip{rule.ip_version}"
    parts = [f"{'outport' if is_ingress else 'inport'} == @{name}", family]
    other = f"{family}.{'src' if is_ingress else 'dst'}"
    if rule.remote_group_id:
        remote = group_name(rule.remote_group_id)
        parts.append(f"{other} == {{${remote}_{family}, ${remote}_pairs_{family}}}")
    elif rule.remote_cidr and ipaddress.ip_network(rule.remote_cidr).prefixlen:
        parts.append(f"{other} == {rule.remote_cidr}")
    protocol = _protocol_parts(rule)
    return " && ".join(parts + protocol) if protocol is not None else ""


def _protocol_parts(rule: GroupRule) -> list[str] | None:
    protocol = rule.protocol.lower()
    if not protocol:
        return []
    if protocol in ICMP:
        # Of IPv6 the plain name means ICMPv6, as in Neutron.
        name = "icmp6" if rule.ip_version == 6 else "icmp4"
        typed = [] if rule.port_min is None else [f"{name}.type == {rule.port_min:d}"]
        return [name, *typed, *([] if rule.port_max is None else [f"{name}.code == {rule.port_max:d}"])]
    if protocol in WITH_PORTS:
        return [WITH_PORTS[protocol], *_ports(WITH_PORTS[protocol], rule)]
    if rule.port_min is not None or rule.port_max is not None:
        return None
    return [f"ip.proto == {NUMBERS[protocol] if protocol in NUMBERS else int(protocol):d}"]


def _ports(name: str, rule: GroupRule) -> list[str]:
    first = rule.port_min if rule.port_min is not None else rule.port_max
    last = rule.port_max if rule.port_max is not None else rule.port_min
    if first is None or last is None:
        return []
    if first == last:
        return [f"{name}.dst == {first:d}"]
    return [f"{name}.dst >= {first:d}", f"{name}.dst <= {last:d}"]


def _acl(  # noqa: PLR0917 - the columns in the order in which OVN lists them
    parent: str, key: str, direction: Direction, priority: int, match: str, action: str
) -> NorthboundRow:
    columns = {
        "direction": "to-lport" if direction is Direction.INGRESS else "from-lport",
        "priority": priority,
        "match": match,
        "action": action,
    }
    return NorthboundRow("ACL", key, parent, columns, parent=parent, column="acls")
