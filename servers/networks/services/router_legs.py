"""Legs of routers: their ports in the networks that they join."""

import uuid

from django.db.models.functions import Now

from computeagent.protocol.networks import Ipv6Mode
from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import Conflict, Invalid
from controlplane.kernel.texts import Phrase, gettext_noop
from controlplane.kernel.texts import phrase as _
from servers.models import FloatingIP, Port, PortGroup, Router, Subnet
from servers.networks.domain.errors import PortInUse, PortNotFound, SubnetNotFound
from servers.networks.domain.names import PortOwner
from servers.networks.domain.ports import AddressRequest, PortRequest
from servers.networks.domain.routers import routes_over
from servers.networks.domain.routing_errors import (
    RouterInterfaceInUse,
    RouterInterfaceInUseByRoute,
    RouterInterfaceNotFound,
)
from servers.networks.selectors.networks import networks_visible, owns_network
from servers.networks.selectors.routers import router_get
from servers.networks.services.changes import networks_changed
from servers.networks.services.ports import ports_create, ports_delete
from servers.networks.services.quota import network_quota_check
from servers.networks.services.router_hosts import routers_place
from servers.networks.services.router_subnets import subnets_joinable
from servers.networks.services.routers import router_hold

NOTHING = uuid.UUID(int=0)
LEG = PortOwner.ROUTER_INTERFACE


@audited("router.interface_add", Router, by="router_id", also=("subnet_id", "port_id"))
def router_interface_add(
    *, caller: Caller | None, router_id: uuid.UUID, subnet_id: uuid.UUID | None = None, port_id: uuid.UUID | None = None
) -> Port:
    """Join a subnet, at its gateway's address, or with a port that was made for it and keeps its addresses.

    Raises RouterNotFound, SubnetNotFound, PortNotFound; Invalid unless just one of both is named, or for a subnet that
    has no gateway; SubnetsOverlap; IpAddressInUse where something has the gateway's address; PortInUse; QuotaExceeded.
    """
    if (subnet_id is None) == (port_id is None):
        raise Invalid(_("Name a subnet or a port, and not both."), field="subnet")
    router = router_get(caller=caller, router_id=router_id)
    subnet = None if subnet_id is None else _subnet_of(caller, subnet_id)
    named = port_id or NOTHING

    def work() -> Port:
        if subnet is not None:
            network_quota_check(project_id=router.project_id, wanted={"ports": 1})
        held = router_hold(router.pk)
        port = _leg_made(held, subnet) if subnet is not None else _leg_taken(caller, held, named)
        networks_changed(routers=[held.pk], ports=[port.pk])
        routers_place([held.pk])
        return port

    return in_transaction(work)


@audited("router.interface_remove", Router, by="router_id", also=("subnet_id", "port_id"))
def router_interface_remove(
    *, caller: Caller | None, router_id: uuid.UUID, subnet_id: uuid.UUID | None = None, port_id: uuid.UUID | None = None
) -> Port:
    """Leave a subnet; the port goes, as in Neutron, and is returned as it was, with its addresses.

    Raises RouterNotFound; Invalid unless one of both is named; RouterInterfaceNotFound; RouterInterfaceInUse where
    floating addresses or static routes need it.
    """
    if subnet_id is None and port_id is None:
        raise Invalid(_("Name a subnet or a port."), field="subnet")
    router_get(caller=caller, router_id=router_id)

    def work() -> Port:
        router = router_hold(router_id)
        legs = Port.objects.filter(router=router.pk, owner=LEG.value).prefetch_related("allocations")
        legs = legs if port_id is None else legs.filter(pk=port_id)
        legs = legs if subnet_id is None else legs.filter(allocations__subnet=subnet_id)
        leg = legs.first()
        if leg is None:
            raise RouterInterfaceNotFound(_("Router {router} has no leg there.", router=router))
        _leg_must_be_free(router, leg)
        networks_changed(routers=[router.pk], ports=[leg.pk])
        ports_delete(port_ids=[leg.pk])
        routers_place([router.pk])
        return leg

    return in_transaction(work)


def _subnet_of(caller: Caller | None, subnet_id: uuid.UUID) -> Subnet:
    """A subnet whose gateway the caller may set up: that of a network of somebody else is not for him to be."""
    rows = Subnet.objects.select_related("network").filter(pk=subnet_id, network__in=networks_visible(caller))
    subnet = rows.first()
    if subnet is None:
        raise SubnetNotFound(_("Subnet {subnet_id} does not exist.", subnet_id=subnet_id), field="subnet")
    if not owns_network(caller, subnet.network):
        reason = _(
            "The network of subnet {subnet} is another project's: join it by a port with an address of its own.",
            subnet=subnet,
        )
        raise Conflict(reason, field="subnet")
    if not subnet.gateway:
        raise Invalid(_("Subnet {subnet} has no gateway: join it by a port.", subnet=subnet), field="subnet")
    return subnet


def _leg_made(router: Router, subnet: Subnet) -> Port:
    subnets_joinable(router, [subnet], field="subnet")
    request = PortRequest(
        network_id=subnet.network_id,
        project_id=router.project_id,
        fixed=(AddressRequest(subnet_id=subnet.pk, address=str(subnet.gateway)),),
        group_ids=(),
        has_security=False,
        owner=LEG,
        router_id=router.pk,
    )
    return ports_create(caller=None, requests=[request])[0]


def _leg_taken(caller: Caller | None, router: Router, port_id: uuid.UUID) -> Port:
    """A free port of the router's project becomes a leg: security groups are for guests, so it leaves them."""
    rows = Port.objects.select_for_update(of=("self",), no_key=True).filter(pk=port_id)
    port = (rows if caller is None or caller.is_admin else rows.filter(project=caller.project_id)).first()
    if port is None:
        raise PortNotFound(_("Port {port_id} does not exist.", port_id=port_id), field="port")
    if port.owner != PortOwner.NOBODY or port.instance_uuid is not None or port.router_id is not None:
        raise PortInUse(_("Port {port} is in use already.", port=port.pk), field="port")
    subnets = [row.subnet for row in port.allocations.select_related("subnet__network")]
    if not subnets:
        raise Invalid(_("Port {port} has no address: a router could not be reached there.", port=port.pk), field="port")
    if len({subnet.ipv6_mode or Ipv6Mode.STATEFUL.value for subnet in subnets if subnet.ip_version == 6}) > 1:
        reason = _("The IPv6 subnets of port {port} get addresses in several ways: make a port of each.", port=port.pk)
        raise Invalid(reason, field="port")
    subnets_joinable(router, subnets, field="port")
    groups = list(PortGroup.objects.filter(port=port.pk).values_list("group_id", flat=True))
    PortGroup.objects.filter(port=port.pk).delete()
    Port.objects.filter(pk=port.pk).update(owner=LEG.value, router=router, has_security=False, updated_at=Now())
    networks_changed(groups_left=groups)
    port.refresh_from_db()
    return port


def _leg_must_be_free(router: Router, leg: Port) -> None:
    subnets = {row.subnet_id: row.subnet.cidr for row in leg.allocations.select_related("subnet")}
    floating = FloatingIP.objects.filter(router=router.pk, port__allocations__subnet__in=subnets).distinct().count()
    if floating:
        one = gettext_noop("{count} floating address goes through this leg of router {router}.")
        more = gettext_noop("{count} floating addresses go through this leg of router {router}.")
        raise RouterInterfaceInUse(
            Phrase(one if floating == 1 else more, count=floating, router=router), floating_ips=floating
        )
    if needed := [route for cidr in subnets.values() for route in routes_over(router.routes, lost=cidr)]:
        raise RouterInterfaceInUseByRoute(
            _("The static route to {needed} of router {router} goes through this leg.", needed=needed[0], router=router)
        )
