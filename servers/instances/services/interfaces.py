"""Interfaces are added to instances, and taken away from them, while these run or are off.

The port is the instance's before its host is asked: cut off anywhere, the guest gets the card with its next start at
the latest, and until it is told that the host could not do it, the port is not given to anybody else. A port leaves the
instance when its host says that the guest has let go of the card, and not before. What it holds of Placement, such as
bandwidth, it takes and gives back in these very transactions.
"""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from django.db.models import Max

from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Conflict, Invalid, InvalidFields, KilonovaError, NotFound
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _
from controlplane.work.models import Work
from controlplane.work.work import WorkLease
from servers.fields import refuse_if
from servers.instances.actions.interfaces import ATTACH_INTERFACE
from servers.instances.actions.rule import ActionRule
from servers.instances.domain.nics import AUTO, MAX_NICS
from servers.instances.services.device_requests import device_action_ask, device_at_rest_require
from servers.instances.services.host_action import row_locked
from servers.instances.services.nics import NicsDecided, nics_found
from servers.instances.services.port_allocations import port_allocations_free, port_allocations_take
from servers.models import Instance, Port
from servers.networks.domain.names import VnicType
from servers.networks.domain.nics import InstanceNics
from servers.networks.domain.port_resources import resource_groups
from servers.networks.services.groups import default_group_ensure
from servers.networks.services.instance_ports import instance_ports_allocate, instance_ports_claim, port_release

PORT_ID = "port_id"
"""Argument of the work: the port whose card the guest gets or loses."""
NO_DEFAULT = {"has_default_network": False}
"""Whoever says which cards there are gets no other one in their place."""
NIC_KEYS = ("network", "port", "fixed_ip", "tag")
REQUESTED = "networks"
"""The field of a new instance that says the same."""


def attach_begin(instance: Instance, rule: ActionRule, caller: Caller, arguments: Mapping[str, str]) -> None:
    """Give the instance the port, and have its host add the card. Raises InvalidFields, Conflict, Forbidden,
    QuotaExceeded, and what networks raise that have no address left.
    """
    row = row_locked(instance, rule, caller)
    said = {key: arguments[key] for key in NIC_KEYS if arguments.get(key)}
    groups = [name.strip() for name in arguments.get("security_groups", "").split(",") if name.strip()]
    # The instance's project decides what it may have, whoever asks for it.
    owner = replace(caller, own_project_id=row.project_id)
    if "fixed_ip" in said and not said.keys() & {"network", "port"}:
        raise Invalid(_("An address is of a network: name the network as well."), field="fixed_ip")
    with _named_as_here("port" if "port" in said else "network"):
        decided = _decided(owner, said, groups)
        position = _free_place(row, said.get("tag", ""))
        port_id = _port_give(row, decided, position, said.get("tag", ""), caller)
    device_action_ask(row, rule, caller, arguments={PORT_ID: str(port_id)}, changes=NO_DEFAULT)


def _decided(owner: Caller, said: Mapping[str, str], groups: list[str]) -> NicsDecided:
    networks: object = [dict(said)] if said.keys() & {"network", "port"} else AUTO
    found = nics_found(owner, networks=networks, security_groups=groups, count=1)
    if found.is_address_wrong and REQUESTED in found.problems:
        raise InvalidFields({"fixed_ip": found.problems[REQUESTED]})
    refuse_if(found.problems)
    if found.refusals:
        raise found.refusals[0]
    if not found.decided.nics:
        raise Invalid(_("There is no network to add an interface of: name a port, or make a network."), field="network")
    return found.decided


@contextmanager
def _named_as_here(field: str) -> Iterator[None]:
    """What a new instance asks for by `networks` is asked for by this field here; refusals say so."""
    try:
        yield
    except InvalidFields as error:
        raise InvalidFields({field if key == REQUESTED else key: said for key, said in error.errors.items()}) from error
    except KilonovaError as error:
        if error.field == REQUESTED:
            error.field = field
        raise


def _free_place(row: Instance, tag: str) -> int:
    ports = Port.objects.filter(instance_uuid=row.pk)
    count, last = ports.count(), ports.aggregate(last=Max("position"))["last"]
    if count >= MAX_NICS:
        raise Conflict(
            _("The instance has {count} interfaces; it has at most {max_nics}.", count=count, max_nics=MAX_NICS),
            field="network",
        )
    if tag and ports.filter(tag=tag).exists():
        raise Invalid(_("Another interface of the instance has the tag {tag:.60}.", tag=tag), field="tag")
    return 0 if last is None else last + 1


def _port_give(row: Instance, decided: NicsDecided, position: int, tag: str, caller: Caller) -> uuid.UUID:
    """The port that is the instance's from now on, with what it asks for."""
    nic = replace(decided.nics[0], tag=tag)
    given = decided.ports.get(nic.port_id) if nic.port_id else None
    if given is not None and given.vnic_type != VnicType.NORMAL:
        reason = _("Such a port needs a device of its host, which only a new instance is placed for.")
        raise Invalid(reason, field="port")
    group_ids = decided.group_ids
    if decided.names_default_group:
        group_ids = (*(group_ids or ()), default_group_ensure(project_id=row.project_id).pk)
    instance_ports_claim(instance_uuid=row.pk, project_id=row.project_id, nics=[nic], first=position)
    wanted = InstanceNics(row.pk, row.project_id, row.host, (nic,), group_ids, position)
    if refused := instance_ports_allocate([wanted]):
        raise refused[row.pk]
    port = Port.objects.get(instance_uuid=row.pk, position=position)
    port_allocations_take(row, port, caller=caller)
    return port.pk


def detach_begin(instance: Instance, rule: ActionRule, caller: Caller, arguments: Mapping[str, str]) -> None:
    """Have its host take the card away. Raises NotFound for a port that is not the instance's, Conflict."""
    row = row_locked(instance, rule, caller)
    named = arguments.get("port", "")
    port_id = parse_uuid(named)
    port = Port.objects.filter(instance_uuid=row.pk, pk=port_id).first() if port_id else None
    if port is None:
        raise NotFound(_("The instance has no interface of port {named!r:.60}.", named=named), field="port")
    if port.vnic_type != VnicType.NORMAL:
        raise Conflict(_("A device of its host leaves the instance only with the instance."), field="port")
    device_at_rest_require(row, PORT_ID, port.pk, field="port")
    device_action_ask(row, rule, caller, arguments={PORT_ID: str(port.pk)}, changes=NO_DEFAULT)


def detach_done(lease: WorkLease) -> None:
    """The guest has let go of the card: the port leaves the instance, with what it holds of Placement."""
    arguments = Work.objects.values_list("arguments", flat=True).get(pk=lease.work_id)
    _port_leaves(lease.subject, uuid.UUID(arguments[PORT_ID]))


def _port_leaves(instance_uuid: uuid.UUID, port_id: uuid.UUID) -> None:
    asked = Port.objects.filter(pk=port_id, instance_uuid=instance_uuid).values_list("resource_request", flat=True)
    groups = resource_groups(asked.first() or {})
    port_release(instance_uuid=instance_uuid, port_id=port_id)
    port_allocations_free(instance_uuid=instance_uuid, groups=groups)


def attach_failed(instance: Instance, is_overdue: bool) -> None:
    """The host said that the guest has no such card. One that said nothing may have added it: then the port stays, the
    guest has the card after its next start, and it can be taken away.
    """
    if is_overdue:
        return
    works = Work.objects.filter(subject=instance.pk, kind=ATTACH_INTERFACE.work).order_by("-created_at", "-pk")
    arguments = works.values_list("arguments", flat=True).first()
    if arguments and (port_id := parse_uuid(str(arguments.get(PORT_ID, "")))) is not None:
        _port_leaves(instance.pk, port_id)


def attach_given_up(instance: Instance, arguments: Mapping[str, str], _reason: str) -> None:
    """The host was never asked for the card."""
    _port_leaves(instance.pk, uuid.UUID(arguments[PORT_ID]))
