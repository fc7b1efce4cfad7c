"""Ports of instances: those made for them come and go with them, those that their owner gave stay his.

A given port is claimed when the instance is asked for, in the transaction of the request: of two requests one is
refused at once and nobody waits for a build to learn of it, and nobody deletes or changes the port while its instance
waits for a host. Ports to be made are made when the host is known, so that a request that finds none takes no address.
"""

import uuid
from collections.abc import Collection, Sequence

from django.db import transaction

from computeagent.protocol.networks import NetworkBackendKind, PortStatus
from controlplane.kernel.errors import Conflict, KilonovaError
from controlplane.kernel.texts import phrase as _
from servers.models import Port
from servers.networks.domain.names import PortOwner
from servers.networks.domain.nics import InstanceNics, NicAsked
from servers.networks.domain.ports import AddressRequest, PortRequest
from servers.networks.services.changes import networks_changed
from servers.networks.services.port_locks import ports_lock, ports_with_networks_lock
from servers.networks.services.ports import ports_create, ports_delete

HYPERVISOR = NetworkBackendKind.HYPERVISOR


def instance_ports_claim(
    *, instance_uuid: uuid.UUID, project_id: uuid.UUID, nics: Sequence[NicAsked], first: int = 0
) -> None:
    """Hold the ports that are given to the instance, in the caller's transaction. `first`: the place of the first one
    among its cards. Raises Conflict (PortInUse).
    """
    if given := [nic.port_id for nic in nics if nic.port_id is not None]:
        ports_lock(Port.objects.filter(pk__in=given, project_id=project_id))
    for position, nic in enumerate(nics, first):
        if nic.port_id is None:
            continue
        free = Port.objects.filter(
            pk=nic.port_id, project_id=project_id, instance_uuid=None, router=None, owner=PortOwner.NOBODY
        )
        if not free.update(
            instance_uuid=instance_uuid,
            owner=PortOwner.INSTANCE,
            is_of_instance=False,
            position=position,
            tag=nic.tag,
        ):
            raise Conflict(_("Port {port_id} has just been taken or removed.", port_id=nic.port_id), field="networks")


def instance_ports_allocate(wanted: Sequence[InstanceNics]) -> dict[uuid.UUID, KilonovaError]:
    """Make the ports of these instances, and bind all that they have to their hosts, in the caller's transaction.

    All at once; where that cannot be, each instance by itself. Returns why those got nothing that got nothing.
    """
    refused: dict[uuid.UUID, KilonovaError] = {}
    requests = {one.instance_uuid: _requests(one) for one in wanted}
    given = [nic.port_id for one in wanted for nic in one.nics if nic.port_id is not None]
    if given or len(wanted) > 1:
        networks = {each.network_id for several in requests.values() for each in several}
        ports_with_networks_lock(Port.objects.filter(pk__in=given), more_networks=networks)
    try:
        with transaction.atomic():
            ports_create(caller=None, requests=[each for several in requests.values() for each in several])
    except KilonovaError as error:
        if len(wanted) == 1:
            return {wanted[0].instance_uuid: error}
        for instance_uuid, own in requests.items():
            try:
                with transaction.atomic():
                    ports_create(caller=None, requests=own)
            except KilonovaError as reason:
                refused[instance_uuid] = reason
    _given_bind([one for one in wanted if one.instance_uuid not in refused])
    return refused


def _requests(one: InstanceNics) -> list[PortRequest]:
    return [
        PortRequest(
            network_id=nic.network_id,
            project_id=None if nic.kind is HYPERVISOR else one.project_id,
            fixed=(AddressRequest(address=nic.fixed_ip),) if nic.fixed_ip else None,
            # A hypervisor's own network keeps no rules.
            group_ids=() if nic.kind is HYPERVISOR else one.group_ids,
            owner=PortOwner.INSTANCE,
            instance_uuid=one.instance_uuid,
            is_of_instance=True,
            position=position,
            tag=nic.tag,
            host=one.host,
        )
        for position, nic in enumerate(one.nics, one.first)
        if nic.port_id is None
    ]


def _given_bind(wanted: Sequence[InstanceNics]) -> None:
    """Hosts are woken once, for all of them."""
    bound: list[uuid.UUID] = []
    for one in wanted:
        given = [nic.port_id for nic in one.nics if nic.port_id is not None]
        if given:
            Port.objects.filter(pk__in=given, instance_uuid=one.instance_uuid).update(host=one.host)
            bound += given
    if bound:
        networks_changed(ports=bound)


def instance_ports_free(instance_uuids: Collection[uuid.UUID]) -> None:
    """These instances have no ports any more: those made for them go, those given to them are their owner's again.

    In the caller's transaction. Doing it twice is doing it once.
    """
    theirs = Port.objects.filter(instance_uuid__in=instance_uuids)
    held = ports_with_networks_lock(theirs, for_deletion=True)
    ports = list(theirs.filter(pk__in=held).values_list("pk", "is_of_instance"))
    ports_free([pk for pk, is_own in ports if not is_own])
    ports_delete(port_ids=[pk for pk, is_own in ports if is_own])


def port_release(*, instance_uuid: uuid.UUID, port_id: uuid.UUID) -> None:
    """The same of one port of an instance that stays."""
    port = Port.objects.filter(pk=port_id, instance_uuid=instance_uuid).first()
    if port is not None and port.is_of_instance:
        ports_delete(port_ids=[port_id])
    elif port is not None:
        ports_free([port_id])


def ports_free(port_ids: Collection[uuid.UUID]) -> None:
    """These ports are nobody's from now on, and nowhere."""
    if port_ids:
        ports_with_networks_lock(Port.objects.filter(pk__in=port_ids))
        networks_changed(ports=port_ids)
        Port.objects.filter(pk__in=port_ids).update(
            instance_uuid=None,
            owner=PortOwner.NOBODY,
            host="",
            status=PortStatus.DOWN,
            problem="",
            position=0,
            tag="",
        )
