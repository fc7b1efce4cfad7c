"""Floating addresses: allocated from external networks, and put before addresses of ports."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db import IntegrityError
from django.db.models.functions import Now

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import Invalid, InvalidFields
from controlplane.kernel.texts import phrase as _
from servers.fields import Reasons, problems_found, refuse_if, text_reasons
from servers.models import FloatingIP, IPAllocation, Network, Port, Router
from servers.networks.domain.errors import PortNotFound
from servers.networks.domain.names import FloatingStatus, PortOwner
from servers.networks.domain.ports import AddressRequest, PortRequest, address_canonical, address_reasons
from servers.networks.domain.routing_errors import (
    ExternalGatewayForFloatingIPNotFound,
    FloatingIPInUse,
    FloatingIPNotFound,
)
from servers.networks.selectors.floating_ips import floating_ip_get
from servers.networks.selectors.networks import owner_of, sees_all
from servers.networks.services.changes import networks_changed
from servers.networks.services.port_locks import ports_with_networks_lock
from servers.networks.services.ports import ports_create, ports_delete
from servers.networks.services.quota import network_quota_check
from servers.networks.services.routers import external_network_get

T = TypeVar("T")
IPV4_ALONE = _(
    "Floating addresses are of IPv4 alone, as in Neutron: one of IPv6 is reached as it is, through its router."
)
FREE: dict[str, Any] = {"port": None, "fixed_address": None, "router": None, "status": FloatingStatus.DOWN.value}


@dataclass(frozen=True, slots=True)
class Target:
    """A port that a floating address is to stand for; `fixed_address` empty: its only IPv4 address."""

    port_id: uuid.UUID
    fixed_address: str = ""


@audited("floating_ip.create", FloatingIP)
def floating_ip_create(
    *,
    caller: Caller | None,
    network_id: uuid.UUID,
    address: str = "",
    target: Target | None = None,
    description: str = "",
    project_id: uuid.UUID | None = None,
) -> FloatingIP:
    """An address of this external network for the project (None: the caller's). Only admins choose which.

    Raises InvalidFields, QuotaExceeded, ExternalNetworkNotFound, NoMoreAddresses, IpAddressInUse; with a target the
    refusals of `floating_ip_associate`.
    """
    refuse_if(problems_found({"description": text_reasons(description, maximum=255)}))
    if address and not sees_all(caller):
        raise InvalidFields({"address": [_("Only administrators choose a floating address.")]})
    if address:
        refuse_if(problems_found({"address": _four_reasons(address)}))
    owner = owner_of(caller, project_id)

    def work() -> FloatingIP:
        network_quota_check(project_id=owner, wanted={"floating_ips": 1})
        if target is not None:
            ports_with_networks_lock(Port.objects.filter(pk=target.port_id), more_networks=[network_id])
        network = external_network_get(caller=caller, network_id=network_id)
        request = PortRequest(
            network_id=network.pk,
            project_id=None,
            fixed=(_address_asked(network, address),),
            group_ids=(),
            has_security=False,
            owner=PortOwner.FLOATING_IP,
        )
        held_by = ports_create(caller=None, requests=[request])[0]
        made = FloatingIP.objects.create(
            project_id=owner,
            description=description,
            network=network,
            address_port=held_by,
            address=held_by.addresses[0],
        )
        if target is not None:
            _associate(caller, made.pk, target)
        return made

    made = _refusing_races(work)
    return floating_ip_get(caller=caller, floating_ip_id=made.pk)


@audited("floating_ip.associate", FloatingIP, by="floating_ip_id")
def floating_ip_associate(*, caller: Caller | None, floating_ip_id: uuid.UUID, target: Target) -> FloatingIP:
    """Let it stand for an address of a port, whatever it stood for before, as in Neutron.

    Raises FloatingIPNotFound, PortNotFound; Invalid where it is not clear which address of the port is meant, or where
    the port has none; ExternalGatewayForFloatingIPNotFound where no router connects both; FloatingIPInUse where another
    floating address stands for that address.
    """
    floating_ip_get(caller=caller, floating_ip_id=floating_ip_id)
    _refusing_races(lambda: _associate(caller, floating_ip_id, target))
    return floating_ip_get(caller=caller, floating_ip_id=floating_ip_id)


@audited("floating_ip.disassociate", FloatingIP, by="floating_ip_id")
def floating_ip_disassociate(*, caller: Caller | None, floating_ip_id: uuid.UUID) -> FloatingIP:
    """Let it stand for nothing; that it does already is no mistake. Raises FloatingIPNotFound."""
    floating_ip_get(caller=caller, floating_ip_id=floating_ip_id)
    in_transaction(lambda: _disassociate(_hold(floating_ip_id)))
    return floating_ip_get(caller=caller, floating_ip_id=floating_ip_id)


@audited("floating_ip.update", FloatingIP, by="floating_ip_id")
def floating_ip_update(
    *, caller: Caller | None, floating_ip_id: uuid.UUID, description: str | None, moves: bool, target: Target | None
) -> FloatingIP:
    """Change what is said of it (None: nothing) and, if it `moves`, what it stands for, in one transaction.

    Raises InvalidFields and what `floating_ip_associate` raises.
    """
    refuse_if(problems_found({"description": text_reasons(description or "", maximum=255)}))
    floating_ip_get(caller=caller, floating_ip_id=floating_ip_id)

    def work() -> None:
        if moves and target is not None:
            _associate(caller, floating_ip_id, target)
        elif moves:
            _disassociate(_hold(floating_ip_id))
        if description is not None:
            FloatingIP.objects.filter(pk=floating_ip_id).update(description=description, updated_at=Now())

    _refusing_races(work)
    return floating_ip_get(caller=caller, floating_ip_id=floating_ip_id)


@audited("floating_ip.delete", FloatingIP, by="floating_ip_id")
def floating_ip_delete(*, caller: Caller | None, floating_ip_id: uuid.UUID) -> None:
    """Give the address back, from whatever it stood for. Raises FloatingIPNotFound."""
    floating_ip_get(caller=caller, floating_ip_id=floating_ip_id)

    def work() -> None:
        row = _hold(floating_ip_id, is_going=True)
        _disassociate(row)
        FloatingIP.objects.filter(pk=row.pk).delete()
        ports_delete(port_ids=[row.address_port_id])

    in_transaction(work)


def _refusing_races(work: Callable[[], T]) -> T:
    """What the constraints of the database refuse when the transaction ends, as a refusal."""
    try:
        return in_transaction(work)
    except IntegrityError as error:
        raise FloatingIPInUse(
            _("Somebody gave the port another floating address, or removed it, at this very moment. Look again.")
        ) from error


def _address_asked(network: Network, address: str) -> AddressRequest:
    """This one, or the first that is free in any of its IPv4 subnets, the oldest first. Raises Invalid."""
    if address:
        return AddressRequest(address=address)
    if not network.subnets.filter(ip_version=4).exists():
        raise Invalid(
            _("External network {network} has no IPv4 subnet. {ipv4_alone}", network=network, ipv4_alone=IPV4_ALONE),
            field="network",
        )
    return AddressRequest(ip_version=4)


def _hold(floating_ip_id: uuid.UUID, *, target: uuid.UUID | None = None, is_going: bool = False) -> FloatingIP:
    """The row, locked after the ports that it stands for, is to stand for (`target`) and, where it `is_going`, is held
    by: as where ports are removed. Raises FloatingIPNotFound.
    """
    seen = FloatingIP.objects.filter(pk=floating_ip_id).values_list("port_id", "address_port_id").first()
    stands_for, held_by = seen or (None, None)
    ports = {target, stands_for, held_by if is_going else None} - {None}
    ports_with_networks_lock(Port.objects.filter(pk__in=ports), for_deletion=is_going)
    row = FloatingIP.objects.select_for_update(of=("self",), no_key=True).filter(pk=floating_ip_id).first()
    if row is None:
        raise FloatingIPNotFound(_("Floating address {floating_ip_id} does not exist.", floating_ip_id=floating_ip_id))
    return row


def _associate(caller: Caller | None, floating_ip_id: uuid.UUID, target: Target) -> None:
    """The port is locked first, as where ports are removed; then the floating address, then the router: the leg and the
    gateway that were found stay until the end.
    """
    row = _hold(floating_ip_id, target=target.port_id)
    ports = Port.objects.filter(pk=target.port_id)
    port = (ports if caller is None or caller.is_admin else ports.filter(project=caller.project_id)).first()
    if port is None or port.owner in (PortOwner.FLOATING_IP, PortOwner.ROUTER_GATEWAY):
        raise PortNotFound(_("Port {port_id} does not exist.", port_id=target.port_id), field="port")
    fixed = _fixed_address(port, target.fixed_address)
    router = _router_between(row, fixed)
    other = FloatingIP.objects.filter(port=port.pk, fixed_address=fixed.address).exclude(pk=row.pk).first()
    if other is not None:
        raise FloatingIPInUse(
            _(
                "{address} of port {port} has the floating address {other_address} already.",
                address=fixed.address,
                port=port.pk,
                other_address=other.address,
            ),
            field="port",
            floating_ip=str(other.pk),
        )
    if (row.port_id, row.fixed_address, row.router_id) == (port.pk, fixed.address, router.pk):
        return
    if row.router_id is not None:
        _disassociate(row)
    values: dict[str, Any] = {
        "port": port,
        "fixed_address": fixed.address,
        "router": router,
        "status": FloatingStatus.BUILD.value,
    }
    FloatingIP.objects.filter(pk=row.pk).update(**values, updated_at=Now())
    networks_changed(routers=[router.pk], ports=[port.pk])


def _disassociate(row: FloatingIP) -> None:
    if row.port_id is None:
        return
    routers = [] if row.router_id is None else [row.router_id]
    networks_changed(routers=routers, ports=[row.port_id])
    FloatingIP.objects.filter(pk=row.pk).update(**FREE, updated_at=Now())


def _four_reasons(text: str) -> Reasons:
    return address_reasons(text) or ([IPV4_ALONE] if ":" in text else [])


def _fixed_address(port: Port, named: str) -> IPAllocation:
    """The IPv4 address of the port that is meant. Raises InvalidFields."""
    if named:
        refuse_if(problems_found({"fixed_address": _four_reasons(named)}))
    has = [row for row in port.allocations.select_related("subnet") if row.subnet.ip_version == 4]
    words = ", ".join(row.address for row in has) or "none"
    if named:
        found = [row for row in has if row.address == address_canonical(named)]
        reason = _("Port {port} has no IPv4 address {named}; it has {words}.", port=port.pk, named=named, words=words)
    else:
        found = has
        reason = _(
            "Port {port} has {count} IPv4 addresses ({words}): name one of them.",
            port=port.pk,
            count=len(has),
            words=words,
        )
        if not has:
            reason = f"Port {port.pk} has no IPv4 address. {IPV4_ALONE}"
    if len(found) != 1:
        raise InvalidFields({"fixed_address": [reason]})
    return found[0]


def _router_between(row: FloatingIP, fixed: IPAllocation) -> Router:
    """The router with a gateway in the network of the floating address and a leg in the port's subnet, locked: the one
    that is the subnet's gateway before others. Raises ExternalGatewayForFloatingIPNotFound.
    """
    legs = IPAllocation.objects.filter(
        subnet=fixed.subnet_id,
        port__owner=PortOwner.ROUTER_INTERFACE.value,
        port__router__external_network=row.network_id,
    )
    rows = list(legs.order_by("pk").values_list("port__router_id", "address"))
    rows.sort(key=lambda leg: leg[1] != fixed.subnet.gateway)
    for router_id, _rest in rows:
        router = Router.objects.select_for_update(no_key=True, of=("self",)).filter(pk=router_id).first()
        # Looked at again under the lock.
        if router and router.external_network_id == row.network_id and legs.filter(port__router=router.pk).exists():
            return router
    raise ExternalGatewayForFloatingIPNotFound(
        _(
            "No router connects {address} (subnet {subnet}) with the external network {network}: "
            "the subnet needs a router whose gateway is there.",
            address=fixed.address,
            subnet=fixed.subnet,
            network=row.network,
        ),
        field="port",
    )
