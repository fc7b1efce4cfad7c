"""Interfaces of the host: what is there, and the lines for `ip` that make of it what is to be there."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from computeagent.networks.bridge.commands import BatchLine, Commands
from computeagent.networks.bridge.host_rules import VXLAN_PORT
from computeagent.networks.bridge.names import BRIDGE_PREFIX, is_ours
from computeagent.networks.bridge.plan import BridgePlan, HostPlan, TapPlan

_EVERY_MAC = "00:00:00:00:00:00"
_ALIAS = re.compile(r"kilonova network ([0-9a-f-]{36}) zone (\d{1,5})")


@dataclass(frozen=True, slots=True)
class Link:
    """An interface that is there."""

    name: str
    mtu: int
    master: str
    is_up: bool
    alias: str
    details: Mapping[str, Any]


def links_there(commands: Commands, *which: str) -> dict[str, Link]:
    """Interfaces by name: all, or those that `ip link show` is asked for by `which`. Raises NetworkError."""
    return {
        each["ifname"]: Link(
            name=each["ifname"],
            mtu=each["mtu"],
            master=each.get("master", ""),
            is_up="UP" in each["flags"],
            alias=each.get("ifalias", ""),
            details=each.get("linkinfo", {}).get("info_data", {}),
        )
        for each in commands.ip_json("-details", "link", "show", *which)
    }


def zones_there(links: Mapping[str, Link]) -> dict[str, int]:
    """The zones that bridges have, by network."""
    found = {}
    for link in links.values():
        said = _ALIAS.fullmatch(link.alias) if link.name.startswith(BRIDGE_PREFIX) else None
        if said is not None:
            found[said[1]] = int(said[2])
    return found


def bridge_lines(plan: HostPlan, links: Mapping[str, Link]) -> list[BatchLine]:
    """Bridges, and what joins each to others."""
    return [line for bridge in plan.bridges.values() for line in _bridge(bridge, links)]


def tap_lines(plan: HostPlan, links: Mapping[str, Link]) -> list[BatchLine]:
    """Taps that are there, joined and up. Those that are not are made when they are plugged."""
    return [line for tap in plan.taps.values() if tap.name in links for line in joined(tap, links[tap.name])]


def joined(tap: TapPlan, link: Link | None) -> list[BatchLine]:
    """A tap that is in its bridge, of its network's size, and up."""
    if link is not None and (link.master, link.mtu, link.is_up) == (tap.bridge, tap.mtu, True):
        return []
    return [BatchLine(text, "port", tap.port_id) for text in member_texts(tap.name, tap.bridge, tap.mtu)]


def member_texts(name: str, bridge: str, mtu: int) -> tuple[str, str]:
    """Join it to the bridge. It has no address of its own: that is said first, or it has one when it is up."""
    return f"link set dev {name} addrgenmode none", f"link set dev {name} mtu {mtu} master {bridge} up"


def removal_lines(plan: HostPlan, links: Mapping[str, Link]) -> list[BatchLine]:
    """What is ours and no longer wanted. The second end of a pair goes with the first."""
    wanted = {bridge.name for bridge in plan.bridges.values()} | {tap.name for tap in plan.taps.values()}
    for bridge in plan.bridges.values():
        if bridge.vxlan is not None:
            wanted.add(bridge.vxlan.name)
        if bridge.uplink is not None:
            wanted |= {bridge.uplink.name, bridge.uplink.physical_end}
    wanted |= {service.link for service in plan.services.values()}
    wanted |= {leg.link for router in plan.routers.values() for leg in router.legs}
    gone = sorted(name for name in links if is_ours(name) and name not in wanted)
    ends = {name for name in gone if name.startswith("knp") and f"knu{name[3:]}" in gone}
    return [BatchLine(f"link delete dev {name}") for name in gone if name not in ends]


def peer_lines(plan: HostPlan, commands: Commands, links: Mapping[str, Link]) -> list[BatchLine]:
    """Lines for `bridge`: where each VXLAN sends what it knows no place for. One that is not among `links` is new, and
    knows nothing yet. Raises NetworkError.
    """
    vxlans = [bridge for bridge in plan.bridges.values() if bridge.vxlan is not None]
    there: dict[str, set[str]] = {}
    if any(bridge.vxlan is not None and bridge.vxlan.name in links for bridge in vxlans):
        for entry in commands.bridge_json("fdb", "show"):
            if entry["mac"] == _EVERY_MAC and "dst" in entry:
                there.setdefault(entry["ifname"], set()).add(entry["dst"])
    lines = []
    for bridge in vxlans:
        assert bridge.vxlan is not None  # noqa: S101 - chosen for it
        name, peers = bridge.vxlan.name, set(bridge.vxlan.peers)
        for verb, addresses in (("append", peers - there.get(name, set())), ("del", there.get(name, set()) - peers)):
            lines += [
                BatchLine(f"fdb {verb} {_EVERY_MAC} dev {name} dst {address}", "network", bridge.network_id)
                for address in sorted(addresses)
            ]
    return lines


def _bridge(bridge: BridgePlan, links: Mapping[str, Link]) -> Iterator[BatchLine]:
    def line(text: str) -> BatchLine:
        return BatchLine(text, "network", bridge.network_id)

    there = links.get(bridge.name)
    # Multicast is not snooped: neighbour discovery must not wait for a querier.
    options = "nf_call_iptables 1 nf_call_ip6tables 1 mcast_snooping 0"
    if there is None:
        yield line(f"link add name {bridge.name} mtu {bridge.mtu} type bridge {options}")
    elif not there.details.get("nf_call_iptables") or not there.details.get("nf_call_ip6tables"):
        yield line(f"link set dev {bridge.name} type bridge {options}")
    if there is None or (there.mtu, there.is_up, there.alias) != (bridge.mtu, True, bridge.alias):
        yield line(f"link set dev {bridge.name} addrgenmode none")
        yield line(f'link set dev {bridge.name} mtu {bridge.mtu} alias "{bridge.alias}" up')
    if bridge.vxlan is not None:
        vxlan, vxlan_there = bridge.vxlan, links.get(bridge.vxlan.name)
        if vxlan_there is not None and (
            vxlan_there.details.get("id") != vxlan.segment
            or vxlan.local not in {vxlan_there.details.get("local"), vxlan_there.details.get("local6")}
        ):
            yield line(f"link delete dev {vxlan.name}")
            vxlan_there = None
        if vxlan_there is None:
            yield line(
                f"link add name {vxlan.name} mtu {bridge.mtu} type vxlan id {vxlan.segment} local {vxlan.local} "
                f"dstport {VXLAN_PORT} ttl 64"
            )
        yield from _member(vxlan.name, bridge.name, bridge, vxlan_there)
    if bridge.uplink is not None:
        uplink = bridge.uplink
        if uplink.name not in links:
            yield line(f"link add name {uplink.name} type veth peer name {uplink.physical_end}")
        yield from _member(uplink.name, bridge.name, bridge, links.get(uplink.name))
        yield from _member(uplink.physical_end, uplink.physical_bridge, bridge, links.get(uplink.physical_end))


def _member(name: str, master: str, bridge: BridgePlan, there: Link | None) -> Iterator[BatchLine]:
    if there is None or (there.master, there.mtu, there.is_up) != (master, bridge.mtu, True):
        for text in member_texts(name, master, bridge.mtu):
            yield BatchLine(text, "network", bridge.network_id)
