"""Images of instances: snapshots, backups with rotation, and what a shelved instance is kept in."""

from collections.abc import Mapping

from controlplane.identity.domain import Caller
from controlplane.work.work import WorkLease
from servers.fields import name_reasons, refuse_if
from servers.images.domain.snapshots import BACKUP_TYPE, IMAGE_TYPE
from servers.images.services.snapshot_images import (
    SnapshotOf,
    backups_rotate,
    snapshot_image_create,
    unfinished_images_discard,
)
from servers.instances.actions.images import SHELVE_OFFLOAD
from servers.instances.actions.rule import ActionRule
from servers.instances.selectors.work_images import IMAGE, work_arguments
from servers.instances.services.host_action import host_action_begin
from servers.instances.services.state import NOW
from servers.instances.services.volume_snapshots import volumes_snapshot
from servers.models import Instance
from servers.states import VmState

SHELVED_SUFFIX = "-shelved"
RAN = "ran"
"""Argument of the work: whether the guest is to run again should shelving fail."""


def snapshot_begin(instance: Instance, rule: ActionRule, caller: Caller, arguments: Mapping[str, str]) -> None:
    """The record of the image and the work of the host, in the caller's transaction. Of an instance that boots from a
    volume the image names snapshots of its volumes.
    """
    if instance.is_bfv:
        instance.made_image_id = volumes_snapshot(instance, rule, caller, name=arguments["name"]).pk
        return
    _begin(instance, rule, caller, name=arguments["name"])


def backup_begin(instance: Instance, rule: ActionRule, caller: Caller, arguments: Mapping[str, str]) -> None:
    """The same; what is beyond the rotation goes when the new one is there. With 0, as in Nova, none stays."""
    kind = arguments["backup_type"]
    if reasons := name_reasons(kind):
        refuse_if({"backup_type": reasons})
    extra = {IMAGE_TYPE: "backup", BACKUP_TYPE: kind}
    more = {"rotation": arguments["rotation"], BACKUP_TYPE: kind}
    _begin(instance, rule, caller, name=arguments["name"], extra=extra, more=more)


def shelve_begin(instance: Instance, rule: ActionRule, caller: Caller, _arguments: Mapping[str, str]) -> None:
    """The image bears the instance's name, as in Nova. One that boots from a volume is kept in that, and leaves its
    host at once.
    """
    if instance.is_bfv:
        host_action_begin(
            instance,
            SHELVE_OFFLOAD,
            user_id=caller.user_id,
            vm_in=rule.vm_states,
            task_in=rule.task_states,
            changes={"shelved_at": NOW},
        )
        return
    name = instance.name[: 255 - len(SHELVED_SUFFIX)] + SHELVED_SUFFIX
    more = {RAN: "yes"} if instance.vm_state == VmState.ACTIVE else {}
    _begin(instance, rule, caller, name=name, more=more)


def _begin(
    instance: Instance,
    rule: ActionRule,
    caller: Caller,
    *,
    name: str,
    extra: Mapping[str, str] | None = None,
    more: Mapping[str, str] | None = None,
) -> None:
    # Its row before the project's quota, as everybody locks who needs both.
    Instance.objects.select_for_update().filter(pk=instance.pk).first()
    of = SnapshotOf(
        instance_id=instance.pk,
        project_id=instance.project_id,
        user_id=caller.user_id,
        image=instance.image,
        base_image_id=instance.image_id,
        root_gib=instance.root_gib,
        extra=extra or {},
    )
    image = snapshot_image_create(name=name, of=of)
    instance.made_image_id = image.pk
    arguments = {IMAGE: str(image.pk), **(more or {})}
    host_action_begin(
        instance,
        rule,
        user_id=caller.user_id,
        vm_in=rule.vm_states,
        task_in=rule.task_states,
        arguments=arguments,
    )


def backup_done(lease: WorkLease) -> None:
    """The new one is there, so the oldest may go."""
    arguments = work_arguments(lease)
    backups_rotate(instance_id=lease.subject, backup_type=arguments[BACKUP_TYPE], rotation=int(arguments["rotation"]))


def image_given_up(instance: Instance, _is_overdue: bool) -> None:
    """The host could not make it: nothing of it stays."""
    unfinished_images_discard(instance.pk)
