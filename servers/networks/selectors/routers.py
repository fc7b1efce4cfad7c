"""Reading routers: those of the caller's project; all for an admin."""

import uuid
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, QuerySet
from django.db.models.functions import Coalesce

from computeagent.protocol.network_traits import backend_trait, physical_network_trait
from computeagent.protocol.networks import NetworkBackendKind
from controlplane.identity.domain import Caller
from controlplane.infra.related_count import related_count
from controlplane.kernel.texts import phrase as _
from scheduling.fleet.selectors.host_traits import hosts_traits
from servers.models import Port, Router
from servers.networks.domain.names import PortOwner
from servers.networks.domain.router_host import RouterHost
from servers.networks.domain.routing_errors import RouterNotFound


def routers_visible(*, caller: Caller | None) -> QuerySet[Router]:
    """With their ports and what these have of addresses, in three queries."""
    rows = Router.objects.select_related("external_network").prefetch_related("ports__allocations__subnet")
    return rows if caller is None or caller.sees_all else rows.filter(project_id=caller.project_id)


def router_get(*, caller: Caller | None, router_id: uuid.UUID) -> Router:
    """Raises RouterNotFound, also for one that the caller may not know of."""
    router = routers_visible(caller=caller).filter(pk=router_id).first()
    if router is None:
        raise RouterNotFound(_("Router {router_id} does not exist.", router_id=router_id))
    return router


def gateway_of(router: Router) -> Port | None:
    """Its port in the external network."""
    return next((port for port in router.ports.all() if port.owner == PortOwner.ROUTER_GATEWAY), None)


def legs_of(router: Router) -> list[Port]:
    """Its ports in the networks inside."""
    return [port for port in router.ports.all() if port.owner != PortOwner.ROUTER_GATEWAY]


@dataclass(frozen=True, slots=True)
class RouterNeeds:
    """What a router of bridges needs of its host: physical networks, by the trait that says that a host has them.
    `is_bridged`: one of its networks is of bridges; only then it lives on a host.
    """

    is_bridged: bool
    physical: Mapping[str, str]


def router_needs(router_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, RouterNeeds]:
    """Of each of these routers. One query."""
    kinds: dict[uuid.UUID, set[str]] = defaultdict(set)
    physical: dict[uuid.UUID, dict[str, str]] = defaultdict(dict)
    rows = Port.objects.filter(router__in=router_ids).order_by()
    found: Any = rows.values_list("router_id", "network__kind", "network__physical_network")
    for router_id, kind, name in found:
        kinds[router_id].add(kind)
        if name:
            physical[router_id][physical_network_trait(name)] = name
    bridged = NetworkBackendKind.BRIDGE.value
    return {one: RouterNeeds(bridged in kinds[one], physical[one]) for one in router_ids}


def router_hosts() -> list[RouterHost]:
    """All hosts as routers see them. Four queries."""
    counts = Router.objects.exclude(host="").order_by().values_list("host").annotate(Count("pk"))
    living = dict(counts)
    carries = backend_trait(NetworkBackendKind.BRIDGE)
    return [
        RouterHost(
            name=one.host,
            is_up=one.is_up,
            is_disabled=one.is_disabled,
            is_forced_down=one.is_forced_down,
            silent_s=one.silent_s,
            can_carry=carries in one.traits,
            traits=one.traits,
            routers=living.get(one.host, 0),
        )
        for one in hosts_traits()
    ]


def leg_count() -> Coalesce:
    """Of the networks inside that each router joins; to sort routers by."""
    return related_count(Port.objects.exclude(owner=PortOwner.ROUTER_GATEWAY), "router")
