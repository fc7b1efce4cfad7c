"""What hangs on what, of one network or one router: outside, routers, networks, guests. Pages draw it, /api/ lists it.

Whoever asks has read the network or the router, and so knows that the caller may see it.
The caller sees in it what he sees elsewhere: routers and guests of his project, and what others have in his networks.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import QuerySet

from controlplane.identity.domain import Caller
from servers.models import Network, Port, Router, Subnet
from servers.networks.selectors.routers import gateway_of, legs_of
from servers.networks.selectors.topology import (
    MAX_PORTS,
    JoinedPort,
    JoinedRouter,
    guests_joined,
    router_count,
    routers_joined,
)

MAX_SUBNETS = 50
"""Of the network whose ranges are listed."""


class TopologyKind(StrEnum):
    """What a node is."""

    OUTSIDE = "outside"
    ROUTER = "router"
    NETWORK = "network"
    GUEST = "guest"


@dataclass(frozen=True, slots=True)
class TopologyNode:
    """`id` is the network's, the router's or, of a guest, its port's. `addresses` are those where it hangs: a guest's
    own, a router's in the network, of the outside the gateway's of the router below it. `more` of its children are
    left out.
    """

    kind: TopologyKind
    id: uuid.UUID
    name: str
    addresses: tuple[str, ...] = ()
    floating: tuple[str, ...] = ()
    cidrs: tuple[str, ...] = ()
    instance_id: uuid.UUID | None = None
    children: "tuple[TopologyNode, ...]" = ()
    more: int = 0


def network_topology(
    *, caller: Caller, network: Network, subnets: Sequence[Subnet] | QuerySet[Subnet], limit: int = MAX_PORTS
) -> TopologyNode:
    """From outside in: what the network's first router leads to, that router, the network with the first MAX_SUBNETS of
    these, and on it up to `limit` other routers and guests. As many queries whatever hangs there.
    """
    routers = routers_joined(caller, network.pk, limit + 1)
    others = [_router_node(one) for one in routers[1:]]
    guests, guest_count = guests_joined(caller, network.pk, limit)
    on_it = (*others, *(_guest_node(one) for one in guests))[:limit]
    other_count = max(0, router_count(caller, network.pk) - 1)
    own = TopologyNode(
        TopologyKind.NETWORK,
        network.pk,
        network.name,
        cidrs=tuple(one.cidr for one in subnets[:MAX_SUBNETS]),
        children=on_it,
        more=max(0, other_count + guest_count - len(on_it)),
    )
    if not routers:
        return own
    return _below_outside(routers[0].router, routers[0].gateway, _router_node(routers[0], own))


def router_topology(router: Router, *, limit: int = MAX_PORTS) -> TopologyNode:
    """What the router leads to, the router, and up to `limit` networks that it joins. No query of one that
    `router_get` has read.
    """
    legs = legs_of(router)
    joined = tuple(
        TopologyNode(TopologyKind.NETWORK, leg.network_id, leg.network_name, tuple(leg.addresses))
        for leg in legs[:limit]
        if leg.network_id
    )
    own = TopologyNode(
        TopologyKind.ROUTER, router.pk, router.name, children=joined, more=max(0, len(legs) - len(joined))
    )
    return _below_outside(router, gateway_of(router), own)


def _below_outside(router: Router, gateway: Port | None, node: TopologyNode) -> TopologyNode:
    outside: Network | None = router.external_network
    if outside is None:
        return node
    addresses: Sequence[str] = gateway.addresses if gateway else ()
    return TopologyNode(TopologyKind.OUTSIDE, outside.pk, outside.name, tuple(addresses), children=(node,))


def _router_node(joined: JoinedRouter, *children: TopologyNode) -> TopologyNode:
    addresses = tuple(joined.address.split(", ")) if joined.address else ()
    return TopologyNode(TopologyKind.ROUTER, joined.router.pk, joined.router.name, addresses, children=children)


def _guest_node(joined: JoinedPort) -> TopologyNode:
    port = joined.port
    return TopologyNode(
        TopologyKind.GUEST,
        port.pk,
        joined.instance_name or port.name or port.mac,
        tuple(joined.addresses),
        joined.floating,
        instance_id=port.instance_uuid if joined.instance_name else None,
    )
