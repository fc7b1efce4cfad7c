"""What is joined to networks: routers with what they lead to, and instances with their addresses."""

import uuid
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db.models import Count, QuerySet

from controlplane.identity.domain import Caller
from servers.models import FloatingIP, Instance, Port, Router
from servers.networks.domain.names import PortOwner
from servers.networks.selectors.ports import port_status, ports_visible
from servers.networks.selectors.routers import gateway_of, routers_visible

MAX_PORTS = 200
"""Of one network that are shown."""
MAX_FLOATING_PORTS = 500
GUEST_OWNERS = (PortOwner.INSTANCE.value, PortOwner.NOBODY.value)


@dataclass(frozen=True, slots=True)
class JoinedPort:
    """A port as pages show it; names are empty where the caller's instance or router is not there."""

    port: Port
    instance_name: str = ""
    floating: tuple[str, ...] = ()

    @property
    def status(self) -> str:
        """As all doors show it."""
        return port_status(self.port)

    @property
    def addresses(self) -> list[str]:
        """Its own."""
        return list(self.port.addresses)


@dataclass(frozen=True, slots=True)
class JoinedRouter:
    """A router, its address in the network, and what its gateway is in."""

    router: Router
    address: str
    gateway: Port | None


def ports_joined(caller: Caller, network_id: uuid.UUID) -> list[JoinedPort]:
    """The first ports of the network that the caller may know of. Three queries at most."""
    rows = ports_visible(caller).filter(network=network_id).select_related("router").order_by("created_at", "pk")
    return ports_named(caller, list(rows[:MAX_PORTS]))


def guests_joined(caller: Caller, network_id: uuid.UUID, limit: int) -> tuple[list[JoinedPort], int]:
    """The first ports of the network that are guests' or nobody's yet, and how many there are. Four queries at most."""
    rows = ports_visible(caller).filter(network=network_id, owner__in=GUEST_OWNERS)
    return ports_named(caller, list(rows.order_by("created_at", "pk")[:limit])), rows.count()


def instance_ports_joined(caller: Caller, instance_id: uuid.UUID) -> list[JoinedPort]:
    """The cards of an instance, in their order. Three queries at most."""
    rows = ports_visible(caller).filter(instance_uuid=instance_id).select_related("router").prefetch_related("groups")
    return ports_named(caller, list(rows.order_by("position", "created_at", "pk")))


def ports_named(caller: Caller, ports: Sequence[Port]) -> list[JoinedPort]:
    """These ports with their floating addresses and the names of their instances: what another project calls its own is
    not for whoever owns the network. Two queries at most.
    """
    ids = {port.instance_uuid for port in ports} - {None}
    living = Instance.objects.filter(pk__in=ids, deleted_at=None)
    if not caller.sees_all:
        living = living.filter(project_id=caller.project_id)
    names = dict(living.values_list("pk", "name")) if ids else {}
    floating: dict[uuid.UUID | None, list[str]] = defaultdict(list)
    standing = FloatingIP.objects.filter(port__in=[port.pk for port in ports]).order_by("created_at", "pk")
    for port_id, address in standing.values_list("port", "address") if ports else ():
        floating[port_id].append(address)
    return [
        JoinedPort(port, names.get(port.instance_uuid, "") if port.instance_uuid else "", tuple(floating[port.pk]))
        for port in ports
    ]


def _routers(caller: Caller, network_id: uuid.UUID) -> QuerySet[Router]:
    legs = Port.objects.filter(network=network_id, owner=PortOwner.ROUTER_INTERFACE).values("router")
    return routers_visible(caller=caller).filter(pk__in=legs)


def routers_joined(caller: Caller, network_id: uuid.UUID, limit: int) -> list[JoinedRouter]:
    """The first of the caller's routers that have a leg in the network, by name. Four queries."""
    leg = PortOwner.ROUTER_INTERFACE.value
    found = []
    for router in _routers(caller, network_id).order_by("name", "pk")[:limit]:
        legs = [port for port in router.ports.all() if port.network_id == network_id and port.owner == leg]
        found.append(JoinedRouter(router, ", ".join(legs[0].addresses) if legs else "", gateway_of(router)))
    return found


def router_count(caller: Caller, network_id: uuid.UUID) -> int:
    """How many of the caller's routers have a leg in the network."""
    return _routers(caller, network_id).count()


def port_counts(caller: Caller, network_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, int]:
    """How many ports of each network the caller may know of. One query."""
    rows = ports_visible(caller).filter(network__in=network_ids).order_by().values("network")
    counts = rows.annotate(many=Count("pk", distinct=True)).values_list("network", "many")
    return dict(counts)


def ports_for_floating(caller: Caller, *, named: uuid.UUID | None = None) -> list[JoinedPort]:
    """The first of the project's own ports that have an address and may be reached by a floating one, and the port
    that is named if it is such a one. Four queries at most.
    """
    mine = ports_visible(caller).filter(owner__in=GUEST_OWNERS)
    if not caller.sees_all:
        mine = mine.filter(project=caller.project_id)
    rows = mine.filter(network__is_external=False, allocations__isnull=False).distinct()
    found = list(rows.order_by("created_at", "pk")[:MAX_FLOATING_PORTS])
    if named is not None and all(port.pk != named for port in found):
        found += rows.filter(pk=named)
    return ports_named(caller, found)


def instance_names(instance_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, str]:
    """Of those that live. One query."""
    rows = Instance.objects.filter(pk__in=instance_ids, deleted_at=None)
    return dict(rows.values_list("pk", "name")) if instance_ids else {}
