"""Reading what OVN is to have: rows of this control plane to values, in a constant number of queries."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import Q

from computeagent.protocol.networks import (
    AddressPair,
    Direction,
    FixedAddress,
    FloatingSpec,
    GroupRule,
    GroupSpec,
    HostPort,
    HostRoute,
    NetworkBackendKind,
    NetworkSpec,
    RouterLeg,
    RouterSpec,
    SubnetSpec,
)
from servers.models import (
    FloatingIP,
    Instance,
    IPAllocation,
    Network,
    Port,
    PortGroup,
    Router,
    SecurityGroup,
    SecurityGroupRule,
    Subnet,
)
from servers.networks.domain.names import PortOwner, VnicType
from servers.networks.ovn.objects.state import OvnPort, OvnRouter, OvnState

OVN = NetworkBackendKind.OVN.value
OF_GUESTS = (PortOwner.INSTANCE.value, PortOwner.NOBODY.value)


@dataclass(slots=True)
class Subjects:
    """What is read: ids of rows, which may be gone."""

    networks: set[UUID] = field(default_factory=set)
    ports: set[UUID] = field(default_factory=set)
    groups: set[UUID] = field(default_factory=set)
    routers: set[UUID] = field(default_factory=set)


def state_of(subjects: Subjects) -> OvnState:
    """The state of these, and of what it rests on: networks and groups of ports, networks of routers. All ports and
    routers of a named network belong to it.
    """
    if subjects.networks:
        there = Port.objects.filter(network__in=subjects.networks)
        subjects.ports |= set(there.filter(owner__in=OF_GUESTS).values_list("pk", flat=True))
        subjects.routers |= set(there.filter(router__isnull=False).values_list("router_id", flat=True))
    return _state(subjects)


def state_whole() -> OvnState:
    """Everything."""
    return _state(None)


def _state(subjects: Subjects | None) -> OvnState:
    ports = Port.objects.filter(network__kind=OVN, owner__in=OF_GUESTS, vnic_type=VnicType.NORMAL.value)
    legs = Port.objects.filter(network__kind=OVN, router__isnull=False)
    routers = Router.objects.filter(ports__network__kind=OVN).distinct()
    if subjects is not None:
        ports, legs = ports.filter(pk__in=subjects.ports), legs.filter(router__in=subjects.routers)
        routers = routers.filter(pk__in=subjects.routers)
    port_rows, leg_rows, router_rows = list(ports), list(legs), list(routers)
    named = None if subjects is None else subjects.networks | {row.network_id for row in (*port_rows, *leg_rows)}
    networks = _networks(named)
    addresses = _addresses([row.pk for row in (*port_rows, *leg_rows)], is_whole=subjects is None)
    groups_of = _groups_of([row.pk for row in port_rows], is_whole=subjects is None)
    wanted_groups = None if subjects is None else subjects.groups | {one for each in groups_of.values() for one in each}
    enabled: dict[UUID | None, bool] = {UUID(network.id): is_enabled for network, is_enabled in networks}
    hostnames = _hostnames({row.instance_uuid for row in port_rows if row.instance_uuid})
    return OvnState(
        networks=tuple(network for network, _ in networks),
        ports=tuple(
            OvnPort(
                HostPort(
                    id=str(row.pk),
                    network_id=str(row.network_id),
                    mac=row.mac,
                    addresses=addresses[row.pk],
                    allowed_pairs=tuple(
                        AddressPair(each["address"], each.get("mac", "")) for each in row.allowed_pairs
                    ),
                    group_ids=tuple(sorted(str(one) for one in groups_of[row.pk])),
                    has_security=row.has_security,
                    is_enabled=row.is_enabled and enabled.get(row.network_id, False),
                    hostname=hostnames.get(row.instance_uuid, ""),
                ),
                host=row.host,
            )
            for row in port_rows
        ),
        groups=(groups := _groups(wanted_groups)),
        routers=_routers(router_rows, leg_rows, addresses),
        pairs=_pairs([one.id for one in groups]),
    )


def _networks(named: Collection[Any] | None) -> list[tuple[NetworkSpec, bool]]:
    rows = Network.objects.filter(kind=OVN)
    rows = rows if named is None else rows.filter(pk__in=named)
    found = list(rows)
    subnets: dict[UUID, list[SubnetSpec]] = defaultdict(list)
    of_these = Subnet.objects.filter(network__kind=OVN) if named is None else Subnet.objects.filter(network__in=found)
    for row in of_these.order_by("created_at", "pk"):
        subnets[row.network_id].append(
            SubnetSpec(
                id=str(row.pk),
                cidr=row.cidr,
                gateway=row.gateway or "",
                has_dhcp=row.has_dhcp,
                dns_servers=tuple(row.dns_servers),
                routes=_routes(row.routes),
                metadata_address=getattr(row, "metadata_address", None) or "",
                ipv6_mode=row.ipv6_mode,
            )
        )
    return [
        (
            NetworkSpec(
                id=str(row.pk), mtu=row.mtu, subnets=tuple(subnets[row.pk]), physical_network=row.physical_network
            ),
            row.is_enabled,
        )
        for row in found
    ]


def _routes(routes: Iterable[dict[str, str]]) -> tuple[HostRoute, ...]:
    return tuple(HostRoute(each["destination"], each["nexthop"]) for each in routes)


def _addresses(ports: Collection[UUID], *, is_whole: bool) -> dict[UUID, tuple[FixedAddress, ...]]:
    rows = IPAllocation.objects.filter(network__kind=OVN) if is_whole else IPAllocation.objects.filter(port__in=ports)
    found: dict[UUID, tuple[FixedAddress, ...]] = defaultdict(tuple)
    for port, subnet, address in rows.order_by("pk").values_list("port_id", "subnet_id", "address"):
        found[port] += (FixedAddress(str(subnet), address),)
    return found


def _groups_of(ports: Collection[UUID], *, is_whole: bool) -> dict[UUID, list[UUID]]:
    rows = PortGroup.objects.filter(port__network__kind=OVN) if is_whole else PortGroup.objects.filter(port__in=ports)
    found: dict[UUID, list[UUID]] = defaultdict(list)
    for port, group in rows.values_list("port_id", "group_id"):
        found[port].append(group)
    return found


def _groups(wanted: set[UUID] | None) -> tuple[GroupSpec, ...]:
    """These groups, and those that their rules name: a rule about a group that OVN does not have is no rule."""
    rows = SecurityGroup.objects.all()
    rules = SecurityGroupRule.objects.order_by("created_at", "pk")
    if wanted is not None:
        named = SecurityGroupRule.objects.filter(group__in=wanted, remote_group__isnull=False)
        rows = rows.filter(Q(pk__in=wanted) | Q(pk__in=named.values("remote_group")))
    ids = list(rows.values_list("pk", flat=True))
    # Rules of a group that is only named here may name others again: only the groups themselves are needed of those.
    of_these = rules if wanted is None else rules.filter(group__in=ids)
    by_group: dict[UUID, list[GroupRule]] = defaultdict(list)
    for row in of_these:
        by_group[row.group_id].append(
            GroupRule(
                id=str(row.pk),
                direction=Direction(row.direction),
                ip_version=row.ip_version,
                protocol=row.protocol,
                port_min=row.port_min,
                port_max=row.port_max,
                remote_cidr=row.remote_cidr,
                remote_group_id=str(row.remote_group_id) if row.remote_group_id else "",
            )
        )
    return tuple(GroupSpec(str(one), tuple(by_group[one])) for one in ids)


def _pairs(groups: Collection[str]) -> dict[str, tuple[str, ...]]:
    """What members of these groups may send from beside their own addresses, by group."""
    rows = PortGroup.objects.filter(group__in=groups, port__network__kind=OVN).exclude(port__allowed_pairs=[])
    found: dict[str, set[str]] = defaultdict(set)
    for group, pairs in rows.values_list("group_id", "port__allowed_pairs"):
        found[str(group)].update(each["address"] for each in pairs)
    return {group: tuple(sorted(addresses)) for group, addresses in found.items()}


def _hostnames(instances: set[UUID]) -> dict[UUID | None, str]:
    return dict(Instance.objects.filter(pk__in=instances).values_list("pk", "hostname")) if instances else {}


def _routers(
    rows: Collection[Router], legs: Collection[Port], addresses: dict[UUID, tuple[FixedAddress, ...]]
) -> tuple[OvnRouter, ...]:
    floating: dict[UUID | None, list[FloatingIP]] = defaultdict(list)
    for one in FloatingIP.objects.filter(router__in=list(rows), port__isnull=False).select_related("address_port"):
        floating[one.router_id].append(one)
    by_router: dict[UUID | None, list[tuple[str, RouterLeg]]] = defaultdict(list)
    for leg in legs:
        spec = RouterLeg(str(leg.pk), str(leg.network_id), leg.mac, addresses[leg.pk])
        by_router[leg.router_id].append((leg.owner, spec))
    gateway = PortOwner.ROUTER_GATEWAY.value
    return tuple(
        OvnRouter(
            RouterSpec(
                id=str(row.pk),
                legs=tuple(leg for owner, leg in by_router[row.pk] if owner != gateway),
                gateway=next((leg for owner, leg in by_router[row.pk] if owner == gateway), None),
                has_snat=row.has_snat,
                routes=_routes(row.routes),
                floating=tuple(
                    FloatingSpec(str(one.pk), one.address, one.fixed_address or "", str(one.port_id))
                    for one in floating[row.pk]
                ),
                is_enabled=row.is_enabled,
            ),
            {str(one.pk): one.address_port.mac for one in floating[row.pk]},
        )
        for row in rows
    )
