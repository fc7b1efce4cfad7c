"""Ports are made and removed here, a thousand in one batch as well as one."""

import uuid
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import Conflict, Forbidden, InvalidFields
from controlplane.kernel.macs import mac_canonical, mac_new
from controlplane.kernel.texts import phrase as _
from servers.conf import server_options
from servers.models import FloatingIP, IPAllocation, Network, Port, PortGroup, SecurityGroup
from servers.networks.domain.errors import (
    IpAddressInUse,
    MacAddressGenerationFailure,
    MacAddressInUse,
    NetworkNotFound,
    PortInUse,
    SecurityGroupNotFound,
)
from servers.networks.domain.names import FloatingStatus, PortOwner
from servers.networks.domain.port_resources import resource_request_canonical
from servers.networks.domain.ports import (
    PortRequest,
    pair_canonical,
    port_problems,
    privilege_problems,
    vnic_reasons,
)
from servers.networks.selectors.networks import may_have_ports, owns_network
from servers.networks.services.allocation import AddressNeed, SubnetsHeld, addresses_allocate, next_addresses_save
from servers.networks.services.automatic_addresses import automatic_addresses_of
from servers.networks.services.changes import groups_lock, networks_changed
from servers.networks.services.groups import default_group_ensure
from servers.networks.services.port_locks import ports_with_networks_lock
from servers.networks.services.quota import network_quota_check

MAC_TRIES = 8


@audited("port.create", Port)
def ports_create(*, caller: Caller | None, requests: Sequence[PortRequest]) -> list[Port]:
    """New ports with their addresses and groups, in the order of the requests: all of them, or none.

    One transaction, and a number of statements that grows with networks and projects, not with ports. Without a caller
    (the control plane itself asks) nobody's rights are checked.
    Raises InvalidFields, Forbidden; NetworkNotFound, SubnetNotFound, SecurityGroupNotFound; InvalidIpForNetwork,
    InvalidIpForSubnet; IpAddressInUse, MacAddressInUse, NoMoreAddresses; QuotaExceeded; MacAddressGenerationFailure.
    """
    for request in requests:
        if request.resource_request:
            resource_request_permit(caller)
        if problems := port_problems(request):
            raise InvalidFields(problems)
    return in_transaction(lambda: _ports_create(caller, requests)) if requests else []


def resource_request_permit(caller: Caller | None) -> None:
    """Raise Forbidden unless the caller may say what Placement is asked for a port: it takes hosts from others."""
    if caller is not None and not caller.is_admin:
        raise Forbidden(
            _("Only administrators say what a port asks of Placement, such as bandwidth."), field="resource_request"
        )


def _ports_create(caller: Caller | None, requests: Sequence[PortRequest]) -> list[Port]:
    wanted = Counter(request.project_id for request in requests if request.project_id is not None)
    for project_id, count in sorted(wanted.items()):
        network_quota_check(project_id=project_id, wanted={"ports": count})
    networks = _networks_of(caller, requests)
    groups = _groups_of(requests, networks)
    subnets = SubnetsHeld(networks)
    needs = [_need(request) for request in requests]
    addresses = addresses_allocate(needs, subnets)
    ports = [_port_of(request, networks[request.network_id], addresses[request.id]) for request in requests]
    _rows_insert(ports, requests)
    given = [row for rows in addresses.values() for row in rows] + _automatic_add(ports, subnets)
    try:
        with transaction.atomic():
            IPAllocation.objects.bulk_create(given)
    except IntegrityError as error:
        raise IpAddressInUse(_("One of the addresses has just been taken."), field="fixed_addresses") from error
    next_addresses_save(subnets.by_id, given)
    PortGroup.objects.bulk_create(
        PortGroup(port_id=request.id, group_id=group) for request in requests for group in groups[request.id]
    )
    networks_changed(ports=[port.pk for port in ports])
    return ports


def _need(request: PortRequest) -> AddressNeed:
    is_router = request.owner is PortOwner.ROUTER_INTERFACE
    return AddressNeed(request.id, request.network_id, request.fixed, mac_canonical(request.mac), is_router)


def _automatic_add(ports: Sequence[Port], subnets: SubnetsHeld) -> list[IPAllocation]:
    """Rows, not yet written, of addresses that follow from MAC addresses; the ports show them already."""
    found: list[IPAllocation] = []
    changed: list[Port] = []
    for port in ports:
        if port.network_id and (own := automatic_addresses_of(port, subnets.in_network(port.network_id))):
            port.addresses = [*port.addresses, *(row.address for row in own)]
            changed.append(port)
            found += own
    Port.objects.bulk_update(changed, ["addresses"], batch_size=500)
    return found


def _networks_of(caller: Caller | None, requests: Sequence[PortRequest]) -> dict[uuid.UUID, Network]:
    """The networks of the requests, if the caller may have such ports there. They stay until the transaction ends."""
    held = Network.objects.select_for_update(no_key=True).filter(pk__in={request.network_id for request in requests})
    networks = {network.pk: network for network in held.order_by("pk")}
    for request in requests:
        network = networks.get(request.network_id)
        if network is None or (caller and not may_have_ports(caller, network)):
            raise NetworkNotFound(
                _("Network {network_id} does not exist.", network_id=request.network_id), field="network"
            )
        if reasons := vnic_reasons(request.vnic_type, network, network.physical_network):
            raise InvalidFields({"vnic_type": reasons})
        if caller is None:
            continue
        problems = privilege_problems(
            request,
            is_network_owner=owns_network(caller, network),
            has_network_security=network.has_port_security,
        )
        if problems:
            raise InvalidFields(problems)
    return networks


def _groups_of(
    requests: Sequence[PortRequest], networks: Mapping[uuid.UUID, Network]
) -> dict[uuid.UUID, Collection[uuid.UUID]]:
    """The security groups of each port: those that are named, of its own project, or the project's default one.

    They stay until the transaction ends. Two statements, and one more for each project whose default group is needed.
    """
    defaults: dict[uuid.UUID, uuid.UUID] = {}
    found: dict[uuid.UUID, Collection[uuid.UUID]] = {}
    for request in requests:
        project_id = request.project_id
        if request.group_ids is not None:
            found[request.id] = request.group_ids
        elif project_id is None or not _has_security(request, networks[request.network_id]):
            found[request.id] = ()
        else:
            if project_id not in defaults:
                defaults[project_id] = default_group_ensure(project_id=project_id).pk
            found[request.id] = (defaults[project_id],)
    owners = groups_held({group for groups in found.values() for group in groups})
    for request in requests:
        for group in found[request.id]:
            if group not in owners or owners[group] != request.project_id:
                raise SecurityGroupNotFound(
                    _("Security group {group} does not exist.", group=group), field="security_groups"
                )
    return found


def groups_held(groups: Collection[uuid.UUID]) -> dict[uuid.UUID, uuid.UUID]:
    """{group: its project} of those that are there. Nobody deletes them until the transaction ends."""
    if not groups:
        return {}
    groups_lock(groups)
    return dict(SecurityGroup.objects.filter(pk__in=groups).values_list("pk", "project_id"))


def _has_security(request: PortRequest, network: Network) -> bool:
    return network.has_port_security if request.has_security is None else request.has_security


def _port_of(request: PortRequest, network: Network, addresses: Sequence[IPAllocation]) -> Port:
    return Port(
        id=request.id,
        network_id=network.pk,
        network_name=network.name,
        hypervisor_network=network.hypervisor_network,
        project_id=request.project_id,
        name=request.name,
        description=request.description,
        mac=mac_canonical(request.mac),
        owner=request.owner.value,
        instance_uuid=request.instance_uuid,
        is_of_instance=request.is_of_instance,
        router_id=request.router_id,
        position=request.position,
        tag=request.tag,
        host=request.host,
        is_enabled=request.is_enabled,
        has_security=_has_security(request, network),
        allowed_pairs=[
            {"address": pair.address, "mac": pair.mac} for pair in map(pair_canonical, request.allowed_pairs)
        ],
        vnic_type=request.vnic_type.value,
        resource_request=resource_request_canonical(request.resource_request),
        addresses=[row.address for row in addresses],
    )


def _rows_insert(ports: Sequence[Port], requests: Sequence[PortRequest]) -> None:
    """Write the rows. Those that may have any MAC address get another one as long as theirs are taken.

    Raises MacAddressInUse for one that was asked for, MacAddressGenerationFailure after MAC_TRIES.
    """
    base = server_options().base_mac
    named = [port for port, request in zip(ports, requests, strict=True) if request.mac]
    free = [port for port, request in zip(ports, requests, strict=True) if not request.mac]
    used = {(port.network_id, port.mac) for port in named}
    if len(used) < len(named):
        raise MacAddressInUse(_("A MAC address is asked for twice in one network."), field="mac")
    missing = free
    for _rest in range(MAC_TRIES):
        for port in missing:
            port.mac = mac_new(base)
            while (port.network_id, port.mac) in used:
                port.mac = mac_new(base)
            used.add((port.network_id, port.mac))
        taken = _macs_taken(ports)
        if refused := next((port for port in named if (port.network_id, port.mac) in taken), None):
            raise MacAddressInUse(
                _("{mac} is in use in network {network_id}.", mac=refused.mac, network_id=refused.network_id),
                field="mac",
            )
        missing = [port for port in free if (port.network_id, port.mac) in taken]
        if missing:
            continue
        try:
            with transaction.atomic():
                Port.objects.bulk_create(ports)
        except IntegrityError as error:
            if Port.objects.filter(pk__in=[port.pk for port in ports]).exists():
                raise Conflict(_("A port with this id exists already."), field="id") from error
            continue  # somebody took one between the look and the write: the next look says which
        return
    raise MacAddressGenerationFailure(
        _("No free MAC address was found in {mac_tries} tries, from {base} on.", mac_tries=MAC_TRIES, base=base)
    )


def _macs_taken(ports: Sequence[Port]) -> set[tuple[uuid.UUID | None, str]]:
    """Which of their MAC addresses other ports of the same networks have. One statement."""
    rows = Port.objects.filter(network__in={port.network_id for port in ports}, mac__in={port.mac for port in ports})
    wanted = {(port.network_id, port.mac) for port in ports}
    return {taken for taken in rows.values_list("network_id", "mac") if taken in wanted}


def ports_delete(*, port_ids: Collection[uuid.UUID]) -> None:
    """Remove ports with their addresses; floating addresses that stood for them stand for nothing then. Those that are
    gone already are no mistake. The callers decide whether a port may go: nothing is asked here.

    Raises PortInUse where a floating address is held by one of them.
    """
    if port_ids:
        in_transaction(lambda: _ports_delete(port_ids))


def _ports_delete(port_ids: Collection[uuid.UUID]) -> None:
    held = ports_with_networks_lock(Port.objects.filter(pk__in=port_ids), for_deletion=True)
    floating = FloatingIP.objects.filter(port__in=held)
    networks_changed(ports=held)
    floating.update(port=None, fixed_address=None, router=None, status=FloatingStatus.DOWN.value)
    try:
        Port.objects.filter(pk__in=held).delete()
    except ProtectedError as error:
        taken = ", ".join(sorted(str(one) for one in error.protected_objects))
        raise PortInUse(_("Floating addresses are held by these ports: {taken}.", taken=taken)) from error
