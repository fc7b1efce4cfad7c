"""What a port may send and receive as a member of its network, whatever its security groups say: table `bridge`.

A tap that is not in the map of guests passes nothing. A guest sends from its own MAC and addresses, in Ethernet, ARP
and neighbour discovery, and neither leads others to itself (router advertisements, redirects) nor gives them addresses.
It receives what is for its MAC. Nothing from a bridge of ours gets to the host itself. The service namespace speaks
with this host's guests alone, though all hosts' have the same addresses.

On its way a frame is marked with the profiles (sets of groups) of who sends it (upper half) and who gets it (lower
half): the rules of groups (`group_rules`) see a bridge alone, not its ports. 0 is who is no guest here.
"""

from collections.abc import Collection, Mapping

from computeagent.networks.base import TAP_PREFIX
from computeagent.networks.bridge.checked import CheckedPort
from computeagent.networks.bridge.names import (
    METADATA_ADDRESS,
    PHYSICAL_PREFIX,
    ROUTER_PREFIX,
    SERVICE_MAC,
    SERVICE_PREFIX,
    TABLE,
    UPLINK_PREFIX,
    VXLAN_PREFIX,
)
from computeagent.networks.bridge.ruleset import Chain, NamedSet, Table

FROM_GUESTS_MARK = 0x6B6E0000
"""On frames that come out of our networks into a physical one."""
UPPER_HALF, LOWER_HALF = 0xFFFF0000, 0x0000FFFF
UNGUARDED = 0xFFFF
"""The profile of a port without port security: no group judges it, and its connections are counted all the same."""
_TAP, _SERVICE = f'"{TAP_PREFIX}*"', f'"{SERVICE_PREFIX}*"'
_INSIDE = (TAP_PREFIX, VXLAN_PREFIX, SERVICE_PREFIX, ROUTER_PREFIX, UPLINK_PREFIX)
_BEFORE_ADDRESSES = "nd-router-solicit, nd-neighbor-solicit, mld-listener-report, mld2-listener-report"
"""What a guest sends from no address, to get one."""

_CHAINS = {
    # Before the bridge's netfilter (br_netfilter) has the frame: -300.
    "prerouting": Chain(
        (
            "iifname vmap @guests",
            f"iifname {_TAP} drop",
            f'iifname "{PHYSICAL_PREFIX}*" meta mark set 0x{FROM_GUESTS_MARK:08x}',
        ),
        "type filter hook prerouting priority -300; policy accept;",
    ),
    # -200: that of br_netfilter is -1.
    "forward": Chain(
        (
            'iifname "kn*" meta mark set 0x00000000',
            f"oifname {_SERVICE} goto to_service",
            f"iifname {_SERVICE} oifname @enabled accept",
            f"iifname {_SERVICE} drop",
            "iifname vmap @senders",
            "oifname vmap @receivers",
            f"oifname {_TAP} drop",
        ),
        "type filter hook forward priority -200; policy accept;",
    ),
    "input": Chain(
        tuple(f'iifname "{prefix}*" drop' for prefix in _INSIDE),
        "type filter hook input priority -200; policy accept;",
    ),
    "unguarded": Chain(("goto accepted",)),
    "guarded": Chain(
        (
            "iifname . ether saddr != @macs drop",
            "ether type arp goto guarded_arp",
            "ether type ip goto guarded_ip",
            "ether type ip6 goto guarded_ip6",
            "drop",
        )
    ),
    "guarded_arp": Chain(
        (
            "arp operation != { request, reply } drop",
            "arp saddr ip 0.0.0.0 iifname . arp saddr ether @macs accept",
            "iifname . arp saddr ether . arp saddr ip @addresses4 accept",
            "iifname . arp saddr ether . arp saddr ip @ranges4 accept",
            "drop",
        )
    ),
    "guarded_ip": Chain(
        (
            "udp sport 67 udp dport 68 drop",
            "ip saddr 0.0.0.0 ip daddr 255.255.255.255 udp sport 68 udp dport 67 accept",
            "iifname . ether saddr . ip saddr @addresses4 goto accepted",
            "iifname . ether saddr . ip saddr @ranges4 goto accepted",
            "drop",
        )
    ),
    "guarded_ip6": Chain(
        (
            "icmpv6 type { nd-router-advert, nd-redirect } drop",
            "udp sport 547 udp dport 546 drop",
            f"ip6 saddr :: icmpv6 type {{ {_BEFORE_ADDRESSES} }} accept",
            "icmpv6 type nd-neighbor-advert goto guarded_advertisement",
            "goto guarded_ip6_source",
        )
    ),
    # Target address of a neighbour advertisement: after type, code, checksum and flags.
    "guarded_advertisement": Chain(
        (
            "iifname . @th,64,128 @targets6 goto guarded_ip6_source",
            "iifname . @th,64,128 @target_ranges6 goto guarded_ip6_source",
            "drop",
        )
    ),
    "guarded_ip6_source": Chain(
        (
            "iifname . ether saddr . ip6 saddr @addresses6 accept",
            "iifname . ether saddr . ip6 saddr @ranges6 accept",
            "drop",
        )
    ),
    # Whichever way a guest takes for the metadata service's address, it is here.
    "accepted": Chain((f"ip daddr {METADATA_ADDRESS} ether daddr set {SERVICE_MAC}", "accept")),
    "to_service": Chain(
        (
            f"iifname != {_TAP} drop",
            "meta mark set 0x00000000",
            "ether type arp arp saddr ip 0.0.0.0 accept",
            # Who asks for metadata is known by his address: what he may send from besides is another's, or may be.
            "ether type arp iifname . arp saddr ether . arp saddr ip @own4 accept",
            "udp sport 68 udp dport 67 accept",
            "iifname . ether saddr . ip saddr @own4 tcp dport 80 accept",
            "icmpv6 type { nd-router-solicit, nd-neighbor-solicit, nd-neighbor-advert } accept",
            "udp sport 546 udp dport 547 accept",
            "drop",
        )
    ),
    "deliver": Chain(("ether daddr & 01:00:00:00:00:00 == 00:00:00:00:00:00 oifname . ether daddr != @macs drop",)),
}


def guard_table(ports: Collection[CheckedPort], profiles: Mapping[str, int]) -> Table:
    """The table for these ports, by port id the number of its profile."""
    enabled = [port for port in ports if port.is_enabled]
    chains = dict(_CHAINS)
    for number in sorted(set(profiles.values())):
        chains[f"from_{number}"] = Chain((f"meta mark set 0x{number << 16:08x}",))
        deliver = () if number == UNGUARDED else ("jump deliver",)
        chains[f"to_{number}"] = Chain(
            (*deliver, f"meta mark set meta mark and 0x{UPPER_HALF:08x} or 0x{number:08x} accept")
        )
    owned = [(_quoted(port), mac, range_) for port in ports for mac, range_ in port.sources]
    sets = {
        "guests": _map(
            "type ifname : verdict",
            {_quoted(port): f"goto {'guarded' if port.has_security else 'unguarded'}" for port in enabled},
        ),
        "enabled": NamedSet("type ifname", {_quoted(port): "" for port in enabled}),
        "senders": _map("type ifname : verdict", {_quoted(port): f"jump from_{profiles[port.id]}" for port in enabled}),
        "receivers": _map("type ifname : verdict", {_quoted(port): f"jump to_{profiles[port.id]}" for port in enabled}),
        "macs": NamedSet(
            "type ifname . ether_addr",
            {f"{_quoted(port)} . {mac}": "" for port in ports for mac, _ in port.sources},
        ),
    }
    sets["own4"] = NamedSet(
        "type ifname . ether_addr . ipv4_addr",
        {
            f"{_quoted(port)} . {port.mac} . {address}": ""
            for port in ports
            for _, address in port.addresses
            if address.version == 4
        },
    )
    for version in (4, 6):
        of_it = [(tap, mac, range_) for tap, mac, range_ in owned if range_.version == version]
        single = [each for each in of_it if each[2].prefixlen == each[2].max_prefixlen]
        wide = [each for each in of_it if each[2].prefixlen != each[2].max_prefixlen]
        key = f"type ifname . ether_addr . ipv{version}_addr"
        sets[f"addresses{version}"] = NamedSet(
            key, {f"{tap} . {mac} . {range_.network_address}": "" for tap, mac, range_ in single}
        )
        sets[f"ranges{version}"] = NamedSet(
            key,
            {f"{tap} . {mac} . {range_[0]}-{range_[-1]}": "" for tap, mac, range_ in wide},
            flags="interval",
        )
        if version == 6:
            raw = "typeof iifname . @th,64,128"
            sets["targets6"] = NamedSet(raw, {f"{tap} . 0x{int(range_[0]):032x}": "" for tap, _, range_ in single})
            sets["target_ranges6"] = NamedSet(
                raw,
                {f"{tap} . 0x{int(range_[0]):032x}-0x{int(range_[-1]):032x}": "" for tap, _, range_ in wide},
                flags="interval",
            )
    return Table("bridge", TABLE, chains, sets)


def _quoted(port: CheckedPort) -> str:
    return f'"{port.tap}"'


def _map(key: str, elements: Mapping[str, str]) -> NamedSet:
    return NamedSet(key, elements, is_map=True)
