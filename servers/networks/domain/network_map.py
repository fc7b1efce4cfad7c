"""What hangs on what: ports, subnets, routers, floating addresses as values, and the way of a packet through them."""

import ipaddress
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from controlplane.kernel.texts import Translate, gettext_noop, in_english
from servers.networks.domain.rules import RuleRequest

MAX_HOPS = 16
"""Routers that a packet may cross here; more are taken for a ring."""


@dataclass(frozen=True, slots=True)
class SubnetFacts:
    """A subnet. `routes` are what guests are told: {destination: next hop}."""

    id: uuid.UUID
    network_id: uuid.UUID
    cidr: str
    gateway: str = ""
    routes: Mapping[str, str] = field(default_factory=dict)

    def has(self, address: str) -> bool:
        """Whether the address is of its range."""
        return ipaddress.ip_address(address) in ipaddress.ip_network(self.cidr)


@dataclass(frozen=True, slots=True)
class PortFacts:
    """A port of a guest. `addresses`: {address: its subnet}. `label`: what people call it, such as its instance's name.
    `trouble`: why nothing passes, where something beside rules and routes is in the way.
    """

    id: uuid.UUID
    network_id: uuid.UUID
    label: str = ""
    addresses: Mapping[str, uuid.UUID] = field(default_factory=dict)
    group_ids: tuple[uuid.UUID, ...] = ()
    has_security: bool = True
    trouble: tuple["Trouble", ...] = ()


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something in the way, and what takes it away, as sentences."""

    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """A security group with its rules; `members`: the addresses of all its ports, where a rule may name it."""

    id: uuid.UUID
    name: str
    rules: tuple[RuleRequest, ...] = ()
    members: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RouterFacts:
    """A router. `legs`: {address: its subnet}; `gateways`: its addresses in `external_network_id`. `trouble`: why it
    passes nothing.
    """

    id: uuid.UUID
    name: str
    legs: Mapping[str, uuid.UUID]
    external_network_id: uuid.UUID | None = None
    gateways: tuple[str, ...] = ()
    has_snat: bool = True
    routes: Mapping[str, str] = field(default_factory=dict)
    trouble: tuple[Trouble, ...] = ()


@dataclass(frozen=True, slots=True)
class FloatingFacts:
    """An outside address that stands for `fixed_address` of a port, through a router."""

    address: str
    port_id: uuid.UUID
    fixed_address: str
    network_id: uuid.UUID
    router_id: uuid.UUID | None


@dataclass(frozen=True, slots=True)
class NetworkMap:
    """All that matters for one question. `external`: ids of external networks. `translate`: into whose language the
    answer is said.
    """

    subnets: Mapping[uuid.UUID, SubnetFacts] = field(default_factory=dict)
    routers: Mapping[uuid.UUID, RouterFacts] = field(default_factory=dict)
    groups: Mapping[uuid.UUID, GroupFacts] = field(default_factory=dict)
    floating: tuple[FloatingFacts, ...] = ()
    external: frozenset[uuid.UUID] = frozenset()
    translate: Translate = in_english

    def said(self, template: str, **values: object) -> str:
        """A sentence about it in the reader's language."""
        return self.translate(template).format(**values)

    def floating_of(self, port: PortFacts, fixed_address: str) -> FloatingFacts | None:
        """The floating address that stands for this address of the port."""
        for each in self.floating:
            if (each.port_id, each.fixed_address) == (port.id, fixed_address):
                return each
        return None


@dataclass(frozen=True, slots=True)
class Way:
    """How a packet goes from a subnet to an address: over these routers, and at last out of `exit`, if the address is
    in no subnet on the way. `lost`: where it ends instead, and what would let it go on.
    """

    routers: tuple[uuid.UUID, ...] = ()
    exit_router: uuid.UUID | None = None
    lost: Trouble | None = None


def way_from(world: NetworkMap, start: SubnetFacts, address: str) -> Way:
    """Follow a packet that a guest of this subnet sends to the address."""
    if start.has(address):
        return Way()
    nexthop = _longest(start.routes, address) or start.gateway
    if not nexthop:
        said = world.said(
            gettext_noop("{subnet} has no gateway: its guests send nothing elsewhere."), subnet=start.cidr
        )
        return Way(lost=Trouble(said))
    crossed: list[uuid.UUID] = []
    subnet = start
    while len(crossed) < MAX_HOPS:
        router = _router_at(world, subnet, nexthop)
        if router is None:
            return Way(tuple(crossed), lost=_no_router(world, subnet, nexthop, address))
        crossed.append(router.id)
        onward = _onward(world, router, address)
        if onward is None:
            return Way(tuple(crossed))
        if not onward[1]:
            leaves = router.external_network_id is not None
            return (
                Way(tuple(crossed), exit_router=router.id)
                if leaves
                else Way(tuple(crossed), lost=_no_way(world, router, address))
            )
        subnet, nexthop = onward
    said = world.said(gettext_noop("Packets to {address} go round in a ring of routers."), address=address)
    return Way(tuple(crossed), lost=Trouble(said))


def _no_router(world: NetworkMap, subnet: SubnetFacts, nexthop: str, address: str) -> Trouble:
    message = gettext_noop("No router has the address {nexthop}, which packets to {address} are sent to in {subnet}.")
    remedy = gettext_noop("Add a leg in {subnet} to a router that joins both.")
    values = {"nexthop": nexthop, "address": address, "subnet": subnet.cidr}
    return Trouble(world.said(message, **values), world.said(remedy, **values))


def _no_way(world: NetworkMap, router: RouterFacts, address: str) -> Trouble:
    remedy = gettext_noop("Join the networks by router {router}, or give it a gateway or a static route.")
    return Trouble(
        world.said(gettext_noop("Router {router} has no way to {address}."), router=router.name, address=address),
        world.said(remedy, router=router.name),
    )


def _onward(world: NetworkMap, router: RouterFacts, address: str) -> tuple[SubnetFacts, str] | None:
    """Where the router sends it: (subnet, next hop), the next hop empty for its gateway; None: it is there."""
    joined = [world.subnets[one] for one in router.legs.values() if one in world.subnets]
    if any(subnet.has(address) for subnet in joined):
        return None
    nexthop = _longest(router.routes, address)
    for subnet in joined:
        if nexthop and subnet.has(nexthop):
            return subnet, nexthop
    return joined[0] if joined else SubnetFacts(router.id, router.id, "0.0.0.0/32"), ""


def _router_at(world: NetworkMap, subnet: SubnetFacts, address: str) -> RouterFacts | None:
    for router in world.routers.values():
        if router.legs.get(address) == subnet.id:
            return router
    return None


def _longest(routes: Mapping[str, str], address: str) -> str:
    """The next hop of the narrowest route to it; empty without one."""
    found = ipaddress.ip_address(address)
    fitting = [ipaddress.ip_network(one) for one in routes]
    fitting = [one for one in fitting if one.version == found.version and found in one]
    if not fitting:
        return ""
    return routes[str(max(fitting, key=lambda one: one.prefixlen))]
