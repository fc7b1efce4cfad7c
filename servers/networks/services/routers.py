"""Routers: made, changed and removed, and their gateways in external networks."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.db.models.functions import Now

from computeagent.protocol.networks import HostRoute
from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import Forbidden, Invalid, InvalidFields
from controlplane.kernel.texts import Phrase, gettext_noop, sentences
from controlplane.kernel.texts import phrase as _
from servers.fields import problems_found, refuse_if, text_reasons
from servers.models import FloatingIP, IPAllocation, Network, Port, Router
from servers.networks.domain.names import PortOwner
from servers.networks.domain.ports import AddressRequest, PortRequest
from servers.networks.domain.routers import route_reasons, routes_canonical, routes_over
from servers.networks.domain.routing_errors import (
    ExternalNetworkNotFound,
    InvalidRoute,
    RouterGatewayInUse,
    RouterInUse,
    RouterNotFound,
)
from servers.networks.selectors.networks import networks_visible, owner_of, sees_all
from servers.networks.selectors.routers import router_get
from servers.networks.services.changes import networks_changed
from servers.networks.services.ports import ports_create, ports_delete
from servers.networks.services.quota import network_quota_check
from servers.networks.services.router_hosts import routers_place
from servers.networks.services.router_subnets import router_cidrs, subnets_joinable

CHANGEABLE = ("name", "description", "is_enabled", "has_snat", "routes", "external_network", "gateway_address")
GOES_WITH_NETWORK = _("Goes with an external network only.")


@audited("router.create", Router)
def router_create(
    *,
    caller: Caller | None,
    name: str = "",
    description: str = "",
    is_enabled: bool = True,
    has_snat: bool = True,
    external_network: uuid.UUID | None = None,
    gateway_address: str = "",
    project_id: uuid.UUID | None = None,
) -> Router:
    """A new router, with a gateway if an external network is named. `project_id` None: the caller's.

    Raises InvalidFields, Forbidden, QuotaExceeded; ExternalNetworkNotFound; the refusals of `ports_create` for the
    gateway.
    """
    problems = _text_problems({"name": name, "description": description})
    if gateway_address and external_network is None:
        problems["gateway_address"] = [GOES_WITH_NETWORK]
    refuse_if(problems)
    _snat_off_is_for_admins(caller, is_off=not has_snat)
    owner = owner_of(caller, project_id)

    def work() -> Router:
        network_quota_check(project_id=owner, wanted={"routers": 1})
        made = Router.objects.create(
            project_id=owner, name=name, description=description, is_enabled=is_enabled, has_snat=has_snat
        )
        if external_network is not None:
            _gateway_set(caller, made, external_network, gateway_address)
            routers_place([made.pk])
        return made

    made = in_transaction(work)
    return router_get(caller=caller, router_id=made.pk)


@audited("router.update", Router, by="router_id")
def router_update(*, caller: Caller | None, router_id: uuid.UUID, changes: Mapping[str, Any]) -> Router:
    """Change what is named. `external_network` None takes the gateway away; `gateway_address`, which goes with it, is
    for admins, as it is to switch SNAT off.

    Raises RouterNotFound, Forbidden, InvalidFields, InvalidRoute, RouterGatewayInUse, ExternalNetworkNotFound,
    SubnetsOverlap; the refusals of `ports_create` for a new gateway.
    """
    now = router_get(caller=caller, router_id=router_id)
    _snat_off_is_for_admins(caller, is_off=now.has_snat and not changes.get("has_snat", True))
    problems = {name: [_("This cannot be changed.")] for name in changes if name not in CHANGEABLE}
    problems |= _text_problems(changes)
    routes, reasons = routes_canonical(changes.get("routes", []))
    if "gateway_address" in changes and changes.get("external_network") is None:
        problems["gateway_address"] = [GOES_WITH_NETWORK]
    refuse_if(problems_found({**problems, "routes": reasons}))
    plain = {name: changes[name] for name in ("name", "description", "is_enabled", "has_snat") if name in changes}

    def work() -> None:
        router = router_hold(router_id)
        if "external_network" in changes:
            _gateway_change(caller, router, changes["external_network"], changes.get("gateway_address", ""))
        if "routes" in changes:
            plain["routes"] = _routes_checked(router, routes)
        Router.objects.filter(pk=router.pk).update(**plain, updated_at=Now())
        networks_changed(routers=[router.pk])
        routers_place([router.pk])

    in_transaction(work)
    return router_get(caller=caller, router_id=router_id)


@audited("router.routes_change", Router, by="router_id", also=("add", "remove"))
def router_routes_change(
    *,
    caller: Caller | None,
    router_id: uuid.UUID,
    add: Sequence[Mapping[str, str]] = (),
    remove: Sequence[Mapping[str, str]] = (),
) -> Router:
    """Static routes more or less, while nobody else changes them. One that is there is not added, and one that is not
    there is not removed.

    Raises RouterNotFound, InvalidFields, InvalidRoute.
    """
    router_get(caller=caller, router_id=router_id)
    added, reasons = routes_canonical(add)
    removed, more_reasons = routes_canonical(remove)
    refuse_if(problems_found({"routes": [*reasons, *more_reasons]}))

    def work() -> None:
        router = router_hold(router_id)
        before = [HostRoute(each["destination"], each["nexthop"]) for each in router.routes]
        wanted, reasons = routes_canonical(
            [asdict(route) for route in dict.fromkeys([*before, *added]) if route not in removed]
        )
        refuse_if(problems_found({"routes": reasons}))
        Router.objects.filter(pk=router.pk).update(routes=_routes_checked(router, wanted), updated_at=Now())
        networks_changed(routers=[router.pk])

    in_transaction(work)
    return router_get(caller=caller, router_id=router_id)


@audited("router.delete", Router, by="router_id")
def router_delete(*, caller: Caller | None, router_id: uuid.UUID) -> None:
    """Remove a router that has no legs; its gateway goes with it. Raises RouterNotFound, RouterInUse with the number of
    legs, RouterGatewayInUse.
    """
    router_get(caller=caller, router_id=router_id)

    def work() -> None:
        # The lock on the row is what keeps a leg from coming meanwhile: who adds one takes it first.
        router = router_hold(router_id)
        legs = Port.objects.filter(router=router.pk).exclude(owner=PortOwner.ROUTER_GATEWAY.value).count()
        if legs:
            words = _("1 network") if legs == 1 else _("{legs} networks", legs=legs)
            raise RouterInUse(
                _(
                    "Router {router} is in use: it has a leg in {words}. Remove it there first.",
                    router=router,
                    words=words,
                ),
                legs=legs,
            )
        _gateway_unused_require(router)
        _gateway_remove(router)
        networks_changed(routers=[router.pk])
        Router.objects.filter(pk=router.pk).delete()

    in_transaction(work)


def router_hold(router_id: uuid.UUID) -> Router:
    """The row, locked until the transaction ends. Raises RouterNotFound for one that has just gone."""
    row = Router.objects.select_for_update(no_key=True, of=("self",)).filter(pk=router_id).first()
    if row is None:
        raise RouterNotFound(_("Router {router_id} does not exist.", router_id=router_id))
    return row


def _snat_off_is_for_admins(caller: Caller | None, *, is_off: bool) -> None:
    """Projects choose the addresses of their subnets, and without SNAT these are seen outside (Neutron's policy for
    `enable_snat`). Raises Forbidden.
    """
    if is_off and not sees_all(caller):
        raise Forbidden(
            _(
                "Only administrators switch SNAT off: "
                "guests would speak outside under addresses of their project's choice."
            ),
            field="has_snat",
        )


def _text_problems(values: Mapping[str, Any]) -> dict[str, list[str]]:
    texts = {name: values[name] for name in ("name", "description") if name in values}
    return problems_found({name: text_reasons(text, maximum=255) for name, text in texts.items()})


def _gateway_change(caller: Caller | None, router: Router, network_id: uuid.UUID | None, address: str) -> None:
    now = Port.objects.filter(router=router.pk, owner=PortOwner.ROUTER_GATEWAY.value).first()
    if now is not None and now.network_id == network_id and address in ("", *now.addresses):
        return
    if now is None or now.network_id != network_id:
        _gateway_unused_require(router)
    _gateway_remove(router)
    if network_id is not None:
        _gateway_set(caller, router, network_id, address)
    if needed := _route_to_nowhere(router):
        raise RouterGatewayInUse(
            _("The static route to {needed} goes over the gateway of router {router}.", needed=needed, router=router)
        )


def _route_to_nowhere(router: Router) -> str:
    """The first static route that leads over no subnet of the router any more; empty: there is none."""
    subnets = list(router_cidrs(router.pk).values())
    reached = {route for cidr in subnets for route in routes_over(router.routes, lost=cidr)}
    return next((route["destination"] for route in router.routes if route["destination"] not in reached), "")


def _gateway_set(caller: Caller | None, router: Router, network_id: uuid.UUID, address: str) -> None:
    """The gateway's port belongs to no project: no quota counts it, and the router's project cannot touch it."""
    network = external_network_get(caller=caller, network_id=network_id)
    if address and not sees_all(caller):
        raise InvalidFields({"gateway_address": [_("Only administrators choose the address of a gateway.")]})
    subnets_joinable(router, list(network.subnets.all()), field="external_network")
    ports_create(
        caller=None,
        requests=[
            PortRequest(
                network_id=network.pk,
                project_id=None,
                fixed=(AddressRequest(address=address),) if address else None,
                group_ids=(),
                has_security=False,
                owner=PortOwner.ROUTER_GATEWAY,
                router_id=router.pk,
            )
        ],
    )
    Router.objects.filter(pk=router.pk).update(external_network=network, updated_at=Now())
    router.external_network = network


def _gateway_unused_require(router: Router) -> None:
    """Floating addresses are of the gateway's network, and stay where it gets another address there."""
    if floating := FloatingIP.objects.filter(router=router.pk).count():
        one = gettext_noop("{count} floating address needs the gateway of router {router}.")
        more = gettext_noop("{count} floating addresses need the gateway of router {router}.")
        raise RouterGatewayInUse(
            Phrase(one if floating == 1 else more, count=floating, router=router), floating_ips=floating
        )


def _gateway_remove(router: Router) -> None:
    gateways = Port.objects.filter(router=router.pk, owner=PortOwner.ROUTER_GATEWAY.value)
    ports = list(gateways.values_list("pk", flat=True))
    networks_changed(routers=[router.pk])
    ports_delete(port_ids=ports)
    Router.objects.filter(pk=router.pk).update(external_network=None, updated_at=Now())


def _routes_checked(router: Router, routes: list[HostRoute]) -> list[dict[str, str]]:
    own = list(IPAllocation.objects.filter(port__router=router.pk).values_list("address", flat=True))
    reasons = route_reasons(routes, cidrs=list(router_cidrs(router.pk).values()), own=own)
    if reasons:
        raise InvalidRoute(sentences(reasons), field="routes")
    return [{"destination": route.destination, "nexthop": route.nexthop} for route in routes]


def external_network_get(*, caller: Caller | None, network_id: uuid.UUID) -> Network:
    """Raises ExternalNetworkNotFound; Invalid for one that is not external, or has no subnets."""
    network = networks_visible(caller).filter(pk=network_id).first()
    if network is None:
        raise ExternalNetworkNotFound(
            _("There is no external network {network_id}.", network_id=network_id), field="external_network"
        )
    if not network.is_external:
        raise Invalid(_("Network {network} is not an external network.", network=network), field="external_network")
    if not network.subnets.exists():
        raise Invalid(
            _("External network {network} has no subnet: there are no addresses in it.", network=network),
            field="external_network",
        )
    return network
