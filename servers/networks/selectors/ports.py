"""Reading ports: a project sees its own, and those that others have in its networks (Neutron's rule)."""

import uuid
from collections.abc import Collection, Sequence

from django.db.models import Q, QuerySet

from computeagent.protocol.networks import PortStatus
from controlplane.identity.domain import Caller
from controlplane.kernel.texts import phrase as _
from servers.models import IPAllocation, Port
from servers.networks.domain.errors import PortNotFound
from servers.networks.domain.names import PortOwner


def ports_visible(caller: Caller | None) -> QuerySet[Port]:
    """The ports that the caller may know of; all for administrators and without a caller."""
    if caller is None or caller.sees_all:
        return Port.objects.all()
    return Port.objects.filter(Q(project_id=caller.project_id) | Q(network__project_id=caller.project_id))


def ports_shown(caller: Caller | None) -> QuerySet[Port]:
    """The same with what answers show beside the row, in two more queries however many there are."""
    return ports_visible(caller).select_related("router").prefetch_related("allocations", "groups")


NOWHERE = "N/A"
"""The status of a port that is plugged in nowhere: one that holds a floating address."""
PORT_STATUSES = (*(one.value for one in PortStatus), NOWHERE)


def port_status(port: Port) -> str:
    """Hosts report of guests' ports. A router's is as the router is; one that holds a floating address is nowhere."""
    if port.owner == PortOwner.FLOATING_IP:
        return NOWHERE
    if port.router is not None:
        return PortStatus.DOWN.value if port.router.problem else PortStatus.ACTIVE.value
    return port.status


def in_status(values: Sequence[str]) -> Q:
    """Ports for which `port_status` says one of these."""
    found = Q(router=None, status__in=values) & ~Q(owner=PortOwner.FLOATING_IP)
    if NOWHERE in values:
        found |= Q(owner=PortOwner.FLOATING_IP)
    if PortStatus.ACTIVE in values:
        found |= Q(router__problem="")
    if PortStatus.DOWN in values:
        found |= Q(router__isnull=False) & ~Q(router__problem="")
    return found


def port_get(*, caller: Caller | None, port_id: uuid.UUID) -> Port:
    """The port with this id, as `ports_shown`. Raises PortNotFound."""
    row = ports_shown(caller).filter(pk=port_id).first()
    if row is None:
        raise PortNotFound(_("Port {port_id} does not exist.", port_id=port_id))
    return row


def ports_unused(caller: Caller) -> QuerySet[Port]:
    """The ports that an instance of the caller's project may get: the project's own that nothing has."""
    free = Port.objects.filter(instance_uuid=None, router=None, owner=PortOwner.NOBODY)
    return free.filter(project_id=caller.project_id)


def fixed_addresses_of(port_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, list[tuple[uuid.UUID, str]]]:
    """Of each of these ports its addresses with their subnets, in the order in which they were given. One query."""
    found: dict[uuid.UUID, list[tuple[uuid.UUID, str]]] = {}
    rows = IPAllocation.objects.filter(port__in=list(port_ids)).order_by("pk")
    for port_id, subnet_id, address in rows.values_list("port_id", "subnet_id", "address"):
        found.setdefault(port_id, []).append((subnet_id, address))
    return found


def hypervisor_networks_of(*, instance_uuids: Collection[uuid.UUID]) -> dict[uuid.UUID, set[str]]:
    """Of each of these instances that has ports the names of the hypervisors' own networks that they are in."""
    found: dict[uuid.UUID, set[str]] = {}
    rows = Port.objects.filter(instance_uuid__in=instance_uuids) if instance_uuids else Port.objects.none()
    for instance_uuid, name in rows.values_list("instance_uuid", "hypervisor_network"):
        if instance_uuid is not None:
            found.setdefault(instance_uuid, set()).update([name] if name else [])
    return found
