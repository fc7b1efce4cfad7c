"""One port is changed, and removed by its owner, here."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db import IntegrityError, transaction

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import Forbidden, InvalidFields
from controlplane.kernel.macs import mac_canonical
from controlplane.kernel.texts import phrase as _
from servers.fields import refuse_if
from servers.models import BuildRequest, FloatingIP, Instance, IPAllocation, Network, Port, PortGroup
from servers.networks.domain.errors import (
    IpAddressInUse,
    MacAddressInUse,
    PortInUse,
    PortNotFound,
    SecurityGroupNotFound,
)
from servers.networks.domain.names import PortOwner
from servers.networks.domain.port_resources import resource_request_canonical
from servers.networks.domain.ports import (
    AddressRequest,
    PortRequest,
    address_canonical,
    pair_canonical,
    port_problems,
    privilege_problems,
)
from servers.networks.selectors.networks import owns_network
from servers.networks.selectors.ports import ports_visible
from servers.networks.services.allocation import (
    AddressNeed,
    SubnetsHeld,
    addresses_allocate,
    is_given_anyway,
    next_addresses_save,
)
from servers.networks.services.automatic_addresses import automatic_addresses_renew
from servers.networks.services.changes import networks_changed
from servers.networks.services.ports import groups_held, ports_delete, resource_request_permit

CHANGEABLE = (
    "name",
    "description",
    "is_enabled",
    "fixed",
    "group_ids",
    "allowed_pairs",
    "has_security",
    "mac",
    "resource_request",
)
OF_NETWORKS = (PortOwner.ROUTER_INTERFACE, PortOwner.ROUTER_GATEWAY, PortOwner.FLOATING_IP)
"""Ports that routers and floating addresses made for themselves."""


@audited("port.update", Port, by="port_id")
def port_update(*, caller: Caller | None, port_id: uuid.UUID, changes: Mapping[str, Any]) -> Port:
    """Change some of CHANGEABLE, typed as in PortRequest; what is left out stays.

    Addresses that are asked for again stay the port's own, also where only their subnet is named. The MAC address is
    changed by administrators, while the port is on no host, and so is what it asks of Placement, while no instance has
    the port.
    Raises PortNotFound, Forbidden, InvalidFields, PortInUse, and what `ports_create` raises of addresses and groups.
    """
    if unknown := {name: [_("Cannot be changed.")] for name in changes if name not in CHANGEABLE}:
        raise InvalidFields(unknown)
    if "mac" in changes and caller is not None and not caller.is_admin:
        raise Forbidden(_("Only administrators change the MAC address of a port."), field="mac")
    if "resource_request" in changes:
        resource_request_permit(caller)
    return in_transaction(lambda: _port_update(caller, port_id, changes))


def _port_update(caller: Caller | None, port_id: uuid.UUID, changes: Mapping[str, Any]) -> Port:
    row, network = _port_held(caller, port_id)
    if caller is not None and not caller.is_admin and row.project_id != caller.own_project_id:
        raise Forbidden(_("Port {row} belongs to another project, which alone changes it.", row=row))
    if row.owner in OF_NETWORKS and set(changes) - {"name", "description"}:
        raise PortInUse(_("Port {row} is of a router or a floating address, by which it is changed.", row=row))
    wanted = _wanted(row, changes)
    refuse_if(port_problems(wanted))
    if caller is not None and network is not None:
        refuse_if(
            privilege_problems(
                wanted,
                is_network_owner=owns_network(caller, network),
                has_network_security=row.has_security,
            )
        )
    _groups_must_fit(row, changes, wanted)
    row.name, row.description = wanted.name, wanted.description
    row.is_enabled, row.has_security = wanted.is_enabled, bool(wanted.has_security)
    if "allowed_pairs" in changes or not row.has_security:
        pairs = map(pair_canonical, wanted.allowed_pairs)
        row.allowed_pairs = [{"address": pair.address, "mac": pair.mac} for pair in pairs]
    if "mac" in changes:
        _mac_must_be_free(row, mac_canonical(wanted.mac))
    if "resource_request" in changes:
        _resource_request_change(row, resource_request_canonical(wanted.resource_request))
    groups_before = set(PortGroup.objects.filter(port=row).values_list("group_id", flat=True))
    if "fixed" in changes:
        row.addresses = _addresses_change(row, wanted.fixed or ())
    if "mac" in changes:
        row.addresses = automatic_addresses_renew(row)
    _groups_change(row, changes.get("group_ids"))
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        raise MacAddressInUse(
            _("{mac} is in use in network {network_id}.", mac=row.mac, network_id=row.network_id), field="mac"
        ) from error
    networks_changed(ports=[row.pk], groups_left=groups_before)
    return row


def _port_held(caller: Caller | None, port_id: uuid.UUID) -> tuple[Port, Network | None]:
    """The port, with the locks of its network and of its own row, in the order that all take them in."""
    network_id = ports_visible(caller).filter(pk=port_id).values_list("network_id", flat=True).first()
    network = Network.objects.select_for_update(no_key=True).filter(pk__in=[network_id]).first()
    row = (
        Port.objects.select_for_update(of=("self",))
        .filter(pk__in=ports_visible(caller).values("pk"), pk=port_id)
        .first()
    )
    if row is None:
        raise PortNotFound(_("Port {port_id} does not exist.", port_id=port_id))
    return row, network


def _wanted(row: Port, changes: Mapping[str, Any]) -> PortRequest:
    """The changes as a request, beside what the rules compare them with: what does not change asks for nothing."""
    wanted = PortRequest(
        network_id=row.network_id or uuid.UUID(int=0),
        project_id=row.project_id,
        name=row.name,
        description=row.description,
        is_enabled=row.is_enabled,
        has_security=row.has_security,
    )
    return replace(wanted, **changes)


def _groups_must_fit(row: Port, changes: Mapping[str, Any], wanted: PortRequest) -> None:
    """Who takes port security away takes groups and pairs away with it, or before (Neutron's rule)."""
    if wanted.has_security is not False:
        return
    if changes.get("group_ids") is None and PortGroup.objects.filter(port=row).exists():
        reason = _("The port has security groups: take them away as well.")
        raise InvalidFields({"has_security": [reason]})
    if row.allowed_pairs and "allowed_pairs" not in changes:
        raise InvalidFields({"has_security": [_("The port has allowed pairs: take them away as well.")]})


def _mac_must_be_free(row: Port, mac: str) -> None:
    if row.host:
        raise PortInUse(
            _("Port {row} is on host {host}: its MAC address stays until it is detached.", row=row, host=row.host),
            field="mac",
        )
    if Port.objects.filter(network=row.network_id, mac=mac).exclude(pk=row.pk).exists():
        raise MacAddressInUse(
            _("{mac} is in use in network {network_id}.", mac=mac, network_id=row.network_id), field="mac"
        )
    row.mac = mac


def _resource_request_change(row: Port, asked: dict[str, Any]) -> None:
    """An instance was placed for what its port asked for then."""
    if row.instance_uuid and asked != row.resource_request:
        raise PortInUse(
            _(
                "Port {row} is in use by instance {instance_uuid}, placed for what the port asks of Placement.",
                row=row,
                instance_uuid=row.instance_uuid,
            ),
            field="resource_request",
        )
    row.resource_request = asked


def _addresses_change(row: Port, wanted: Sequence[AddressRequest]) -> list[str]:
    """Give the port these addresses, and take the others from it. Returns them in the order that was asked for."""
    having = list(IPAllocation.objects.filter(port=row).select_related("subnet").order_by("pk"))
    is_router = row.owner == PortOwner.ROUTER_INTERFACE
    # What follows from the MAC address stays, and is not asked for.
    staying_anyway = [] if is_router else [one for one in having if one.subnet.is_automatic]
    own = [one for one in having if one not in staying_anyway]
    subnets = SubnetsHeld([row.network_id] if row.network_id else [])
    need = AddressNeed(row.pk, row.network_id or uuid.UUID(int=0), None, row.mac, is_router)
    wanted = [each for each in wanted if not is_given_anyway(need, each, subnets.in_network(need.network_id))]
    places: dict[int, IPAllocation] = {}
    for by_address in (True, False):
        for place, each in enumerate(wanted):
            if bool(each.address) is not by_address:
                continue
            found = next((one for one in own if _is_asked_for(one, each) and one not in places.values()), None)
            if found is not None:
                places[place] = found
    staying = {one.pk for one in places.values()}
    going = [one for one in own if one.pk not in staying]
    _floating_must_not_need(row, [one.address for one in going])
    missing = [place for place in range(len(wanted)) if place not in places]
    need = replace(need, addresses=tuple(wanted[place] for place in missing))
    given = addresses_allocate([need], subnets)[row.pk]
    try:
        with transaction.atomic():
            IPAllocation.objects.bulk_create(given)
    except IntegrityError as error:
        raise IpAddressInUse(_("One of the addresses has just been taken."), field="fixed_addresses") from error
    next_addresses_save(subnets.by_id, given)
    IPAllocation.objects.filter(pk__in=[one.pk for one in going]).delete()
    places |= dict(zip(missing, given, strict=True))
    return [places[place].address for place in range(len(wanted))] + [one.address for one in staying_anyway]


def _is_asked_for(own: IPAllocation, asked: AddressRequest) -> bool:
    of_subnet = asked.subnet_id in (None, own.subnet_id)
    return of_subnet and (not asked.address or address_canonical(asked.address) == own.address)


def _floating_must_not_need(row: Port, addresses: Sequence[str]) -> None:
    needed = FloatingIP.objects.filter(port=row, fixed_address__in=addresses).first()
    if needed is not None:
        raise PortInUse(
            _(
                "Floating address {needed} stands for {fixed_address}: take it away first.",
                needed=needed,
                fixed_address=needed.fixed_address,
            ),
            field="fixed_addresses",
        )


def _groups_change(row: Port, group_ids: Sequence[uuid.UUID] | None) -> None:
    """None: they stay."""
    if group_ids is None:
        return
    found = {group for group, project_id in groups_held(group_ids).items() if project_id == row.project_id}
    for group in group_ids:
        if group not in found:
            raise SecurityGroupNotFound(
                _("Security group {group} does not exist.", group=group), field="security_groups"
            )
    PortGroup.objects.filter(port=row).exclude(group__in=found).delete()
    PortGroup.objects.bulk_create(
        (PortGroup(port=row, group_id=group) for group in sorted(found)), ignore_conflicts=True
    )


@audited("port.delete", Port, by="port_id")
def port_delete(*, caller: Caller | None, port_id: uuid.UUID) -> None:
    """Remove a port that nothing uses, of the caller's project or network.

    An instance's is detached by the instance's own verb first: a guest whose card vanishes under it would be told by
    nobody. Those of routers and floating addresses go with them.
    Raises PortNotFound, PortInUse.
    """
    in_transaction(lambda: _port_delete(caller, port_id))


def _port_delete(caller: Caller | None, port_id: uuid.UUID) -> None:
    row, _rest = _port_held(caller, port_id)
    if row.owner in OF_NETWORKS:
        raise PortInUse(
            _("Port {row} is of a router or a floating address: it goes with that.", row=row), owner=row.owner
        )
    if row.instance_uuid and _is_there_or_awaited(row.instance_uuid):
        raise PortInUse(
            _(
                "Port {row} is in use by instance {instance_uuid}: detach it there first.",
                row=row,
                instance_uuid=row.instance_uuid,
            ),
            instance=str(row.instance_uuid),
        )
    ports_delete(port_ids=[row.pk])


def _is_there_or_awaited(instance_uuid: uuid.UUID) -> bool:
    """Whether this instance lives, or waits for a host."""
    living = Instance.objects.filter(pk=instance_uuid, deleted_at=None)
    return living.exists() or BuildRequest.objects.filter(instance_uuid=instance_uuid).exists()
