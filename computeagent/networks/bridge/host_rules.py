"""What keeps guests from the host itself: table `inet`.

Frames on bridges of ours never reach the host (`guard_rules`). What comes out of them into a physical network may go
on from there, by the host's own routing, but not to the host's addresses; answers to what the host began excepted.
VXLAN is taken from peers alone.
"""

from collections.abc import Collection
from ipaddress import IPv4Address, IPv6Address

from computeagent.networks.bridge.guard_rules import FROM_GUESTS_MARK
from computeagent.networks.bridge.names import TABLE
from computeagent.networks.bridge.ruleset import Chain, NamedSet, Table

VXLAN_PORT = 4789


def host_table(peers: Collection[IPv4Address | IPv6Address], *, has_vxlan: bool) -> Table:
    """The table of a host with these peers."""
    rules = [
        f"meta mark 0x{FROM_GUESTS_MARK:08x} ct state established,related accept",
        f"meta mark 0x{FROM_GUESTS_MARK:08x} icmpv6 type {{ nd-neighbor-solicit, nd-neighbor-advert }} accept",
        f"meta mark 0x{FROM_GUESTS_MARK:08x} drop",
    ]
    if has_vxlan:
        rules += [
            f"udp dport {VXLAN_PORT} ip saddr @peers4 accept",
            f"udp dport {VXLAN_PORT} ip6 saddr @peers6 accept",
            f"udp dport {VXLAN_PORT} drop",
        ]
    sets = {
        f"peers{version}": NamedSet(
            f"type ipv{version}_addr", {str(peer): "" for peer in peers if peer.version == version}
        )
        for version in (4, 6)
    }
    return Table(
        "inet", TABLE, {"input": Chain(tuple(rules), "type filter hook input priority 0; policy accept;")}, sets
    )
