"""Volumes are given to instances, and taken away from them, while these run, are off, or are on no host.

The volume is the instance's before its host is asked: cut off anywhere, the guest gets the disk with its next start at
the latest, and until its host said that it could not do it, nobody else gets the volume. A volume leaves the instance
when its host says that the guest has let go of the disk, and not before: one whose guest does not answer stays attached
and says why, and may be detached again.
"""

import uuid
from collections.abc import Mapping

from django.db import transaction
from django.db.models.functions import Now

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.identity.policy import allows
from controlplane.kernel.errors import Conflict, Invalid
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _
from controlplane.work.models import Work
from controlplane.work.work import WorkLease
from scheduling.domain.snapshots import FlavorSnapshot
from scheduling.fleet.selectors.zones import zone_of_host
from servers.conf import server_options
from servers.instances.actions.rule import ActionRule
from servers.instances.actions.volumes import ATTACH_VOLUME, DETACH_VOLUME, YES
from servers.instances.domain.block_device_rules import DiskSurroundings, block_devices_decide
from servers.instances.domain.volume_attach import attach_problem, detach_problem, device_chosen
from servers.instances.selectors.instances import instance_get
from servers.instances.services.device_requests import device_action_ask, device_at_rest_require
from servers.instances.services.host_action import row_locked
from servers.instances.services.journal import action_close, action_open
from servers.instances.services.notifications import emit_action_at_once
from servers.instances.services.state import state_set
from servers.models import BlockDeviceMapping, Instance, InstanceFault, Volume, VolumeAttachment
from servers.volumes.domain.attachments import AttachmentRequest, zone_problem
from servers.volumes.domain.block_device_faults import BlockDeviceFault
from servers.volumes.domain.block_devices import ROOT, DestinationType, SourceType
from servers.volumes.domain.errors import InvalidVolume, PoolUnreachable, VolumeNotFound
from servers.volumes.domain.states import AttachmentState
from servers.volumes.selectors.guest_volumes import disk_bus_of_instance
from servers.volumes.selectors.pool_hosts import hosts_of_pool
from servers.volumes.services.attachments import (
    attachment_begin,
    attachment_end_unsaid,
    attachment_keep,
    attachment_release,
    attachments_activate,
    volumes_reserve,
)

VOLUME_ID = "volume_id"
"""Argument of the work: the volume that the guest gets or loses."""
SEES_HOSTS = "hosts:read"


def attach_begin(instance: Instance, rule: ActionRule, caller: Caller, arguments: Mapping[str, str]) -> None:
    """Give the instance the volume, and have its host add the disk. Raises VolumeNotFound, InvalidVolume, Invalid,
    VolumeAttached, PoolCannot, PoolUnreachable, Conflict.
    """
    row = row_locked(instance, rule, caller)
    volume = _volume_named(row.project_id, arguments.get("volume", ""))
    if VolumeAttachment.objects.filter(volume=volume, instance_uuid=row.pk).exists():
        raise InvalidVolume(
            _("The instance has volume {volume} already.", volume=volume), field="volume", state=volume.state
        )
    _zone_require(row, volume)
    if row.host:
        _reach_require(row, volume, caller)
    disks = _disks_written(row)
    bus, tag = disk_bus_of_instance(row), arguments.get("tag", "")
    if problem := attach_problem(
        disks=len(disks),
        limit=server_options().max_disk_devices_to_attach,
        tag=tag,
        tags={one.tag for one in disks},
        bus=bus,
        power_state=row.power_state,
    ):
        raise Conflict(problem.message, field=problem.field)
    device, reason = device_chosen(arguments.get("device", ""), bus, {one.device for one in disks})
    if reason:
        raise Invalid(reason, field="device")
    wanted = AttachmentRequest(volume.pk, device, is_read_only=arguments.get("read_only") == YES)
    (attachment,) = volumes_reserve(project_id=row.project_id, instance_uuid=row.pk, wanted=[wanted])
    BlockDeviceMapping.objects.create(
        instance_uuid=row.pk,
        position=max((one.position for one in disks), default=-1) + 1,
        source_type=SourceType.VOLUME.value,
        destination_type=DestinationType.VOLUME.value,
        source_id=volume.pk,
        volume_id=volume.pk,
        attachment_id=attachment.pk,
        device=device,
        device_type="disk",
        disk_bus=bus,
        size_gib=volume.size_gib,
        delete_on_termination=arguments.get("delete_on_termination") == YES,
        tag=tag,
    )
    if not row.host:  # it has it now, as in Nova: the host that takes it next gives its guest all that it has
        attachments_activate(instance_uuid=row.pk, attachment_id=attachment.pk)
        _at_once(row, rule, caller, has_block_devices=True)
        return
    attachment_begin(attachment.pk, AttachmentState.ATTACHING)
    device_action_ask(row, rule, caller, arguments={VOLUME_ID: str(volume.pk)}, changes={"has_block_devices": True})


@audited("instance.volume_change", Instance, by="instance_id", also=("volume_id", "delete_on_termination"))
def attached_volume_change(
    *, caller: Caller, instance_id: uuid.UUID, volume_id: uuid.UUID, delete_on_termination: bool
) -> None:
    """Say whether a volume of an instance is deleted with it. Raises NotFound, VolumeNotFound, and Conflict as an
    attachment would.
    """
    with transaction.atomic():
        row = row_locked(instance_get(caller=caller, instance_id=instance_id), ATTACH_VOLUME, caller)
        mappings = BlockDeviceMapping.objects.filter(instance_uuid=row.pk, volume_id=volume_id)
        if not mappings.update(delete_on_termination=delete_on_termination, updated_at=Now()):
            raise VolumeNotFound(_("The instance has no volume {volume_id}.", volume_id=volume_id), field="volume")


def detach_begin(instance: Instance, rule: ActionRule, caller: Caller, arguments: Mapping[str, str]) -> None:
    """Have its host take the disk away. Raises VolumeNotFound for a volume that is not the instance's, Conflict."""
    row = row_locked(instance, rule, caller)
    attachment = _attachment_named(row, arguments.get("volume", ""))
    mapping = BlockDeviceMapping.objects.filter(instance_uuid=row.pk, volume_id=attachment.volume_id).first()
    if mapping is not None and mapping.boot_index == ROOT:
        raise Conflict(
            _("The instance boots from this volume, which leaves it only with the instance."), field="volume"
        )
    if not row.host:
        attachment_release(attachment_id=attachment.pk)
        _at_once(row, rule, caller)
        return
    if mapping is not None and (
        problem := detach_problem(bus=mapping.disk_bus, device_type=mapping.device_type, power_state=row.power_state)
    ):
        raise Conflict(problem.message, field=problem.field)
    device_at_rest_require(row, VOLUME_ID, attachment.volume_id, field="volume")
    attachment_begin(attachment.pk, AttachmentState.DETACHING)
    device_action_ask(row, rule, caller, arguments={VOLUME_ID: str(attachment.volume_id)})


def attach_done(lease: WorkLease) -> None:
    """The guest has the disk, or gets it with its next start."""
    if (attachment := _attachment_of(lease.subject, _volume_of_work(lease.work_id))) is not None:
        attachments_activate(instance_uuid=lease.subject, attachment_id=attachment.pk)


def detach_done(lease: WorkLease) -> None:
    """The guest has let go of the disk."""
    if (attachment := _attachment_of(lease.subject, _volume_of_work(lease.work_id))) is not None:
        attachment_release(attachment_id=attachment.pk)


def attach_failed(instance: Instance, is_overdue: bool) -> None:
    """The host said that the guest has no such disk. One that said nothing may have added it: then the volume stays
    the instance's, and can be detached.
    """
    attachment = _attachment_of(instance.pk, _volume_of_newest(instance, ATTACH_VOLUME))
    if attachment is None:
        return
    if is_overdue:
        attachment_end_unsaid(attachment, instance.host)
    else:
        attachment_release(attachment_id=attachment.pk)


def detach_failed(instance: Instance, is_overdue: bool) -> None:
    """It is attached still, whatever was tried; the next try may do it."""
    attachment = _attachment_of(instance.pk, _volume_of_newest(instance, DETACH_VOLUME))
    if attachment is None:
        return
    faults = InstanceFault.objects.filter(instance_uuid=instance.pk).order_by("-created_at", "-pk")
    if is_overdue or not (why := faults.values_list("message", flat=True).first()):
        attachment_end_unsaid(attachment, instance.host)
    else:
        attachment_keep(attachment.pk, problem=why, state=AttachmentState.ATTACHED)


def attach_given_up(instance: Instance, arguments: Mapping[str, str], _reason: str) -> None:
    """The host was never asked for the disk."""
    if (attachment := _attachment_of(instance.pk, parse_uuid(arguments[VOLUME_ID]))) is not None:
        attachment_release(attachment_id=attachment.pk)


def detach_given_up(instance: Instance, arguments: Mapping[str, str], reason: str) -> None:
    """The host was never asked to take the disk away."""
    if (attachment := _attachment_of(instance.pk, parse_uuid(arguments[VOLUME_ID]))) is not None:
        attachment_keep(attachment.pk, problem=reason, state=AttachmentState.ATTACHED)


def _volume_named(project_id: uuid.UUID, named: str) -> Volume:
    """By id, or by a name that one volume of the project alone has."""
    rows = Volume.objects.select_related("pool").filter(project_id=project_id)
    pk = parse_uuid(named)
    found = list(rows.filter(pk=pk) if pk else rows.filter(name=named)[:2])
    if len(found) > 1:
        raise Invalid(_("Several volumes are called {named!r:.80}: name one by its id.", named=named), field="volume")
    if not found:
        raise VolumeNotFound(_("There is no volume {named!r:.80}.", named=named), field="volume")
    return found[0]


def _attachment_named(row: Instance, named: str) -> VolumeAttachment:
    rows, pk = VolumeAttachment.objects.filter(instance_uuid=row.pk), parse_uuid(named)
    found = list(rows.filter(volume=pk) if pk else rows.filter(volume__name=named)[:2])
    if len(found) > 1:
        raise Invalid(
            _("Several volumes of the instance are called {named!r:.80}: name one by its id.", named=named),
            field="volume",
        )
    if not found:
        raise VolumeNotFound(_("The instance has no volume {named!r:.80}.", named=named), field="volume")
    return found[0]


def _zone_require(row: Instance, volume: Volume) -> None:
    """Raises InvalidVolume where it is in another zone than the instance, and may not be. Off its host an instance is
    in the zone that was asked for.
    """
    zone = zone_of_host(host=row.host) if row.host else row.availability_zone
    text = zone_problem(
        volume,
        volume_zone=volume.availability_zone,
        zone=zone,
        is_crossing_allowed=server_options().cross_az_attach,
    )
    if text:
        said = _("{sentence} ({detail})", sentence=text, detail=BlockDeviceFault.ZONE.value)
        raise InvalidVolume(said, field="volume", state=volume.state)


def _reach_require(row: Instance, volume: Volume, caller: Caller) -> None:
    """Raises PoolUnreachable unless the instance's host can use the volume's pool. Who may see hosts is told them."""
    if volume.pool is None:
        return
    hosts = hosts_of_pool(volume.pool)
    problem = hosts.get(row.host, _("it does not reach the pool"))
    if not problem:
        return
    others = sorted(host for host, why in hosts.items() if not why)
    if allows(caller, SEES_HOSTS):
        reaching = (
            _("it is reached from {others}", others=", ".join(others[:10])) if others else _("no host reaches it now")
        )
        said = _(
            "Host {host} of the instance cannot use pool {pool}: {problem}; {reaching}.",
            host=row.host,
            pool=volume.pool,
            problem=problem,
            reaching=reaching,
        )
        raise PoolUnreachable(said, field="volume", pool=str(volume.pool), host=row.host, hosts=others)
    count = _("{count} other hosts do", count=len(others)) if len(others) != 1 else _("one other host does")
    raise PoolUnreachable(
        _(
            "The instance's host does not reach pool {pool}, in which volume {volume} is; {count}.",
            pool=volume.pool.name,
            volume=volume,
            count=count,
        ),
        field="volume",
        pool=volume.pool.name,
    )


def _disks_written(row: Instance) -> list[BlockDeviceMapping]:
    """The rows of all its disks. One that has none gets those of its flavor and image, as it was built with them."""
    if not row.has_block_devices:
        flavor = FlavorSnapshot(
            id="",
            name="",
            vcpus=row.vcpus,
            memory_mib=row.memory_mib,
            root_gib=row.root_gib,
            ephemeral_gib=row.ephemeral_gib,
            swap_mib=row.swap_mib,
        )
        around = DiskSurroundings(flavor, image_id=row.image_id or uuid.UUID(int=0), bus=disk_bus_of_instance(row))
        devices, _ = block_devices_decide((), {}, {}, around)
        BlockDeviceMapping.objects.bulk_create(
            BlockDeviceMapping(
                instance_uuid=row.pk,
                position=position,
                source_type=one.source_type.value,
                destination_type=one.destination_type.value,
                source_id=row.image_id if one.is_root else None,
                boot_index=one.boot_index,
                device=one.device,
                device_type=one.device_type,
                disk_bus=one.disk_bus,
                guest_format=one.guest_format,
                size_gib=one.size_gib,
                size_mib=one.size_mib,
                delete_on_termination=True,
            )
            for position, one in enumerate(devices)
        )
    return list(BlockDeviceMapping.objects.filter(instance_uuid=row.pk).order_by("position"))


def _at_once(row: Instance, rule: ActionRule, caller: Caller, **changes: bool) -> None:
    """On no host nobody has to be asked: rows are all that there is. Raises Conflict."""
    if row.task_state:
        raise Conflict(_("The instance is busy with {task_state}.", task_state=row.task_state))
    if changes:
        state_set(row.pk, vm_in={row.vm_state}, task_in={row.task_state}, **changes)
    action_open(instance_id=row.pk, action=rule.name, user_id=caller.user_id, project_id=row.project_id, work=None)
    action_close(instance_id=row.pk, actions=(rule.name,), result="success")
    emit_action_at_once(rule, row.pk, caller)


def _volume_of_work(work_id: uuid.UUID) -> uuid.UUID | None:
    arguments = Work.objects.values_list("arguments", flat=True).get(pk=work_id)
    return parse_uuid(str(arguments.get(VOLUME_ID, "")))


def _volume_of_newest(instance: Instance, rule: ActionRule) -> uuid.UUID | None:
    works = Work.objects.filter(subject=instance.pk, kind=rule.work).order_by("-created_at", "-pk")
    arguments = works.values_list("arguments", flat=True).first()
    return parse_uuid(str(arguments.get(VOLUME_ID, ""))) if arguments else None


def _attachment_of(instance_uuid: uuid.UUID, volume_id: uuid.UUID | None) -> VolumeAttachment | None:
    return VolumeAttachment.objects.filter(instance_uuid=instance_uuid, volume=volume_id).first()
