"""The document of a host: all that it is to have of networks, from rows, in a constant number of queries."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import F, Q

from computeagent.protocol.networks import (
    AddressPair,
    Direction,
    FixedAddress,
    FloatingSpec,
    GroupRule,
    GroupSpec,
    HostNetworks,
    HostPort,
    HostRoute,
    NetworkBackendKind,
    NetworkSpec,
    RouterLeg,
    RouterSpec,
    SubnetSpec,
)
from controlplane.infra.db import now_plus
from scheduling.fleet.selectors.host_addresses import host_addresses
from servers.models import (
    FloatingIP,
    HostNetworkState,
    Instance,
    IPAllocation,
    Network,
    Port,
    PortGroup,
    Router,
    SecurityGroupRule,
    Subnet,
)
from servers.networks.domain.names import PortOwner, VnicType

BRIDGE, OVN = NetworkBackendKind.BRIDGE.value, NetworkBackendKind.OVN.value
_ByGroup = dict[UUID, dict[str, tuple[str, ...]]]
"""{group: {network: addresses}}"""


@dataclass(frozen=True, slots=True)
class _Row:
    """A port of the host, or a leg of one of its routers."""

    port: Port
    addresses: tuple[FixedAddress, ...]


def host_networks(host: str) -> HostNetworks:
    """What this host is to have now. Fourteen queries at most, whatever it has.

    The revision is read before all else: what changes meanwhile has a later one, so it is fetched again. Two documents
    of the same rows are equal.
    """
    revision = wanted_revision(host)
    routers = list(Router.objects.filter(host=host).order_by("pk"))
    rows = _rows(host, [router.pk for router in routers])
    networks = {row.port.network_id for row in rows}
    kinds = {row.port.network.kind for row in rows if row.port.network is not None}
    here = [row for row in rows if row.port.router_id is None]
    bridged = [row.port.pk for row in here if row.port.network is not None and row.port.network.kind == BRIDGE]
    groups_of_port: dict[UUID, list[UUID]] = defaultdict(list)
    for port_id, group_id in PortGroup.objects.filter(port__in=bridged).order_by("group").values_list("port", "group"):
        groups_of_port[port_id].append(group_id)
    return HostNetworks(
        revision=revision,
        kind=NetworkBackendKind.OVN if OVN in kinds else NetworkBackendKind.BRIDGE,
        networks=_networks(host, networks),
        ports=_ports(here, groups_of_port),
        groups=_groups({group for groups in groups_of_port.values() for group in groups}),
        routers=_routers(routers, [row for row in rows if row.port.router_id is not None]),
    )


def wanted_revision(host: str) -> int:
    """How often what this host is to have changed; 0: it never had anything."""
    return HostNetworkState.objects.filter(host=host).values_list("wanted_revision", flat=True).first() or 0


def hosts_behind(*, older_s: float) -> set[str]:
    """Hosts that have not applied, for so many seconds, what they are to have. One query."""
    behind = HostNetworkState.objects.filter(
        applied_revision__lt=F("wanted_revision"), behind_since__lt=now_plus(-older_s)
    )
    return set(behind.values_list("host", flat=True))


def _rows(host: str, routers: list[UUID]) -> list[_Row]:
    """Devices that a guest has of its host itself are none of its networks' business."""
    found = Port.objects.filter(
        Q(host=host, router=None, vnic_type=VnicType.NORMAL) | Q(router__in=routers), network__kind__in=(BRIDGE, OVN)
    )
    ports = list(found.select_related("network").order_by("pk"))
    taken = IPAllocation.objects.filter(port__in=[port.pk for port in ports]).order_by("pk")
    addresses: dict[UUID, list[FixedAddress]] = defaultdict(list)
    for port_id, subnet_id, address in taken.values_list("port", "subnet", "address"):
        addresses[port_id].append(FixedAddress(str(subnet_id), address))
    return [_Row(port, tuple(addresses[port.pk])) for port in ports]


def _ports(rows: list[_Row], groups_of_port: dict[UUID, list[UUID]]) -> tuple[HostPort, ...]:
    instances = {row.port.instance_uuid for row in rows} - {None}
    hostnames = dict(Instance.objects.filter(pk__in=instances).values_list("pk", "hostname")) if instances else {}
    return tuple(
        HostPort(
            id=str(port.pk),
            network_id=str(port.network_id),
            mac=port.mac,
            addresses=row.addresses,
            allowed_pairs=tuple(AddressPair(pair["address"], pair.get("mac", "")) for pair in port.allowed_pairs),
            group_ids=tuple(str(group) for group in groups_of_port[port.pk]),
            has_security=port.has_security,
            is_enabled=port.is_enabled and port.network is not None and port.network.is_enabled,
            instance_uuid=str(port.instance_uuid or ""),
            project_id=str(port.project_id or ""),
            hostname=hostnames.get(port.instance_uuid, "") if port.instance_uuid else "",
        )
        for row in rows
        for port in (row.port,)
    )


def _networks(host: str, networks: Iterable[UUID | None]) -> tuple[NetworkSpec, ...]:
    found = list(Network.objects.filter(pk__in=[network for network in networks if network]).order_by("pk"))
    subnets: dict[UUID, list[SubnetSpec]] = defaultdict(list)
    for subnet in Subnet.objects.filter(network__in=found).order_by("created_at", "pk") if found else ():
        subnets[subnet.network_id].append(subnet_spec(subnet))
    tunnelled = [network.pk for network in found if network.kind == BRIDGE and network.segment]
    peers = _peers(host, tunnelled) if tunnelled else {}
    return tuple(
        NetworkSpec(
            id=str(network.pk),
            mtu=network.mtu,
            segment=network.segment or 0,
            subnets=tuple(subnets[network.pk]),
            peers=peers.get(network.pk, ()),
            physical_network=network.physical_network,
        )
        for network in found
    )


def subnet_spec(subnet: Subnet) -> SubnetSpec:
    """As hosts and guests are told of it."""
    return SubnetSpec(
        id=str(subnet.pk),
        cidr=subnet.cidr,
        gateway=subnet.gateway or "",
        has_dhcp=subnet.has_dhcp,
        dns_servers=tuple(subnet.dns_servers),
        routes=_routes(subnet.routes),
        metadata_address=subnet.metadata_address or "",
        ipv6_mode=subnet.ipv6_mode,
    )


def _routes(routes: list[dict[str, str]]) -> tuple[HostRoute, ...]:
    return tuple(HostRoute(route["destination"], route["nexthop"]) for route in routes)


def _peers(host: str, networks: list[UUID]) -> dict[UUID, tuple[str, ...]]:
    """The addresses of the other hosts that have a port or a router in each network."""
    ports = Port.objects.filter(network__in=networks).order_by()
    bound = ports.exclude(host__in=("", host)).values_list("network_id", "host")
    routed = ports.exclude(router__host__in=("", host)).filter(router__isnull=False)
    hosts: dict[UUID, set[str]] = defaultdict(set)
    for network, name in bound.union(routed.values_list("network_id", "router__host")):
        if network is not None:
            hosts[network].add(name)
    addresses = host_addresses({host}.union(*hosts.values()))
    own = addresses.get(host)
    return {
        network: tuple(sorted({addresses[name] for name in names if name in addresses} - {own}))
        for network, names in hosts.items()
    }


def _groups(groups: set[UUID]) -> tuple[GroupSpec, ...]:
    """These with their rules, and those that the rules name as remote, which have members and no rules here."""
    if not groups:
        return ()
    rules: dict[UUID, list[GroupRule]] = defaultdict(list)
    remote: set[UUID] = set()
    for rule in SecurityGroupRule.objects.filter(group__in=groups).order_by("created_at", "pk"):
        rules[rule.group_id].append(_rule(rule))
        if rule.remote_group_id is not None:
            remote.add(rule.remote_group_id)
    members, ranges = _members(remote)
    return tuple(
        GroupSpec(
            id=str(group), rules=tuple(rules[group]), members=members.get(group, {}), ranges=ranges.get(group, {})
        )
        for group in sorted(groups | remote)
    )


def _rule(rule: SecurityGroupRule) -> GroupRule:
    return GroupRule(
        id=str(rule.pk),
        direction=Direction(rule.direction),
        ip_version=rule.ip_version,
        protocol=rule.protocol,
        port_min=rule.port_min,
        port_max=rule.port_max,
        remote_cidr=rule.remote_cidr,
        remote_group_id=str(rule.remote_group_id or ""),
    )


def _members(groups: set[UUID]) -> tuple[_ByGroup, _ByGroup]:
    """The addresses of all ports of these groups, by network, and the ranges that they may send from besides."""
    if not groups:
        return {}, {}
    found: dict[UUID, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    ranges: dict[UUID, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    rows = PortGroup.objects.filter(group__in=groups, port__network__kind=BRIDGE).order_by()
    of_port = ("port__network_id", "port__allocations__address", "port__allowed_pairs")
    for group, network, own, pairs in rows.values_list("group_id", *of_port):
        for address in ([own] if own else []) + [pair["address"] for pair in pairs]:
            (ranges if "/" in address else found)[group][str(network)].add(address)
    return _sorted(found), _sorted(ranges)


def _sorted(found: Mapping[UUID, Mapping[str, set[str]]]) -> _ByGroup:
    return {
        group: {network: tuple(sorted(addresses)) for network, addresses in sorted(by_network.items())}
        for group, by_network in found.items()
    }


def _routers(routers: list[Router], rows: list[_Row]) -> tuple[RouterSpec, ...]:
    if not routers:
        return ()
    legs: dict[UUID | None, list[RouterLeg]] = defaultdict(list)
    gateways: dict[UUID | None, RouterLeg] = {}
    for row in rows:
        port = row.port
        leg = RouterLeg(str(port.pk), str(port.network_id), port.mac, row.addresses)
        if port.owner == PortOwner.ROUTER_GATEWAY:
            gateways[port.router_id] = leg
        else:
            legs[port.router_id].append(leg)
    floating: dict[UUID | None, list[FloatingSpec]] = defaultdict(list)
    standing: Any = FloatingIP.objects.filter(router__in=routers, port__isnull=False).order_by("pk")
    for each in standing:
        spec = FloatingSpec(str(each.pk), each.address, each.fixed_address or "", str(each.port_id))
        floating[each.router_id].append(spec)
    return tuple(
        RouterSpec(
            id=str(router.pk),
            legs=tuple(legs[router.pk]),
            gateway=gateways.get(router.pk),
            has_snat=router.has_snat,
            routes=_routes(router.routes),
            floating=tuple(floating[router.pk]),
            is_enabled=router.is_enabled,
        )
        for router in routers
    )
