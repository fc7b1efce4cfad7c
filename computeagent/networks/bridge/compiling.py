"""From the document to what the host is to have: values from values. What cannot be had is a problem of its own."""

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network, IPv6Interface, IPv6Network, ip_address
from pathlib import Path
from typing import TypeVar

from computeagent.networks.base import NetworkPlace
from computeagent.networks.bridge.checked import (
    CheckedNetwork,
    CheckedPort,
    checked_id,
    checked_network,
    checked_port,
)
from computeagent.networks.bridge.dhcp_files import dhcp_files
from computeagent.networks.bridge.group_rules import Groups, Profile, group_tables
from computeagent.networks.bridge.guard_rules import UNGUARDED, guard_table
from computeagent.networks.bridge.host_rules import host_table
from computeagent.networks.bridge.names import (
    BRIDGE_PREFIX,
    PHYSICAL_PREFIX,
    SERVICE_MAC,
    SERVICE_PREFIX,
    UPLINK_PREFIX,
    VXLAN_PREFIX,
    device_name,
    service_namespace,
)
from computeagent.networks.bridge.plan import (
    BridgePlan,
    HostPlan,
    RouterPlan,
    ServicePlan,
    TapPlan,
    UplinkPlan,
    VxlanPlan,
)
from computeagent.networks.bridge.router_plan import router_plan
from computeagent.protocol.networks import GroupSpec, HostNetworks, NetworkProblem
from controlplane.kernel.macs import eui64

K = TypeVar("K")
MAX_ZONE, MAX_PROFILE = 65535, UNGUARDED - 1


def host_plan(
    wanted: HostNetworks,
    place: NetworkPlace,
    directory: Path,
    *,
    zones: Mapping[str, int],
    profiles: Mapping[Profile, int],
    max_connections: int = 0,
) -> HostPlan:
    """What this host is to have. `zones` (by network) and `profiles` are numbers that are in force, and remain. Files
    are to be below `directory`. `max_connections`: see `group_tables`.
    """
    problems: list[NetworkProblem] = []
    networks = _networks(wanted, place, problems)
    ports = _ports(wanted, networks, problems)
    routers = _routers(wanted, networks, place, directory, problems)
    bridges = _bridges(networks, place, zones)
    numbers = _profiles(ports, profiles)
    groups, group_problems = group_tables(
        numbers,
        {bridge.name: bridge.zone for bridge in bridges.values()},
        Groups(_groups(wanted), networks),
        max_connections=max_connections,
    )
    by_port = {port.id: numbers[_profile(port)] if port.has_security else UNGUARDED for port in ports}
    local = ip_address(place.underlay_address) if place.underlay_address else None
    peers = {peer for network in networks.values() for peer in network.peers}
    tables = (guard_table(ports, by_port), *groups, host_table(peers, has_vxlan=local is not None))
    return HostPlan(
        bridges=bridges,
        taps={
            port.id: TapPlan(port.id, port.tap, bridges[port.network_id].name, networks[port.network_id].mtu)
            for port in ports
        },
        services=_services(networks, ports, place, directory),
        routers=routers,
        tables=tables,
        profiles=numbers,
        problems=(*problems, *group_problems),
    )


def service_directory(directory: Path, network_id: str) -> Path:
    """Where dnsmasq's files of a network are."""
    return directory / "dhcp" / network_id


def router_directory(directory: Path, router_id: str) -> Path:
    """Where a router's files are."""
    return directory / "routers" / router_id


def _networks(wanted: HostNetworks, place: NetworkPlace, problems: list[NetworkProblem]) -> dict[str, CheckedNetwork]:
    found: dict[str, CheckedNetwork] = {}
    for spec in wanted.networks:
        try:
            network = checked_network(spec)
        except ValueError as error:
            problems.append(NetworkProblem("network", spec.id, str(error)))
            continue
        if network.physical_network and network.physical_network not in place.bridge_mappings:
            problems.append(
                NetworkProblem(
                    "network", spec.id, f"this host has no bridge for the physical network {network.physical_network!r}"
                )
            )
            continue
        if network.peers and not place.underlay_address and not network.physical_network:
            problems.append(
                NetworkProblem("network", spec.id, "other hosts are in it, and this host has no address among them")
            )
        found[network.id] = network
    return found


def _ports(
    wanted: HostNetworks, networks: Mapping[str, CheckedNetwork], problems: list[NetworkProblem]
) -> list[CheckedPort]:
    found: dict[str, CheckedPort] = {}
    for spec in wanted.ports:
        try:
            port = checked_port(spec)
            if port.network_id not in networks:
                raise ValueError("its network is not in the document, or cannot be had here")
            if port.tap in found:
                raise ValueError(f"its interface {port.tap} would be that of port {found[port.tap].id}")
        except ValueError as error:
            problems.append(NetworkProblem("port", spec.id, str(error)))
            continue
        found[port.tap] = port
    return list(found.values())


def _routers(
    wanted: HostNetworks,
    networks: Mapping[str, CheckedNetwork],
    place: NetworkPlace,
    directory: Path,
    problems: list[NetworkProblem],
) -> dict[str, RouterPlan]:
    found = {}
    for spec in wanted.routers:
        if not spec.is_enabled:
            continue
        if not place.has_namespaces:
            problems.append(
                NetworkProblem("router", spec.id, "a router is a network namespace, and this host cannot make any")
            )
            continue
        try:
            identifier = checked_id(spec.id)
            files = str(router_directory(directory, identifier))
            found[identifier] = router_plan(spec, networks, place.namespace_prefix, files)
        except (ValueError, KeyError) as error:
            problems.append(NetworkProblem("router", spec.id, str(error)))
    return found


def _bridges(
    networks: Mapping[str, CheckedNetwork], place: NetworkPlace, zones: Mapping[str, int]
) -> dict[str, BridgePlan]:
    numbers = _numbered(networks, zones, MAX_ZONE)
    found = {}
    for network in networks.values():
        vxlan, uplink = None, None
        if network.physical_network:
            uplink = UplinkPlan(
                device_name(UPLINK_PREFIX, network.id),
                device_name(PHYSICAL_PREFIX, network.id),
                place.bridge_mappings[network.physical_network],
            )
        elif network.segment and place.underlay_address:
            vxlan = VxlanPlan(
                device_name(VXLAN_PREFIX, network.id),
                network.segment,
                str(ip_address(place.underlay_address)),
                tuple(str(peer) for peer in network.peers if str(peer) != place.underlay_address),
            )
        name = device_name(BRIDGE_PREFIX, network.id)
        found[network.id] = BridgePlan(name, network.id, network.mtu, numbers[network.id], vxlan, uplink)
    return found


def _services(
    networks: Mapping[str, CheckedNetwork], ports: Iterable[CheckedPort], place: NetworkPlace, directory: Path
) -> dict[str, ServicePlan]:
    """One for each network that has ports here."""
    if not place.has_namespaces:
        return {}
    by_network: dict[str, list[CheckedPort]] = {}
    for port in ports:
        by_network.setdefault(port.network_id, []).append(port)
    found = {}
    for network_id, its_ports in by_network.items():
        network = networks[network_id]
        cidrs = [subnet.cidr for subnet in network.subnets.values()]
        six = [each for each in cidrs if isinstance(each, IPv6Network) and each.prefixlen <= 64]
        found[network_id] = ServicePlan(
            network_id=network_id,
            namespace=service_namespace(place.namespace_prefix, network_id),
            link=device_name(SERVICE_PREFIX, network_id),
            bridge=device_name(BRIDGE_PREFIX, network_id),
            mtu=network.mtu,
            addresses=tuple(IPv6Interface(f"{eui64(each, SERVICE_MAC)}/{each.prefixlen}") for each in six),
            on_link=tuple(each for each in cidrs if isinstance(each, IPv4Network)),
            dhcp=dhcp_files(network, its_ports, str(service_directory(directory, network_id))),
        )
    return found


def _groups(wanted: HostNetworks) -> dict[str, GroupSpec]:
    return {group.id: group for group in wanted.groups}


def _profile(port: CheckedPort) -> Profile:
    return port.network_id, port.group_ids


def _profiles(ports: Iterable[CheckedPort], before: Mapping[Profile, int]) -> dict[Profile, int]:
    return _numbered(dict.fromkeys(_profile(port) for port in ports if port.has_security), before, MAX_PROFILE)


def _numbered(keys: Iterable[K], before: Mapping[K, int], limit: int) -> dict[K, int]:
    """A number from 1 for each key: its number of before, or one that no key had."""
    taken = set(before.values())
    free = (number for number in range(1, limit + 1) if number not in taken)
    return {key: before.get(key) or next(free) for key in keys}
