"""What the owner of an instance may change of its record is changed here, each change under the lock of its row."""

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.kernel.errors import Conflict, NotFound
from controlplane.kernel.texts import phrase as _
from scheduling.domain.request.image_property_names import present_names
from servers.fields import refuse_if
from servers.instances.actions.guards import METADATA_WRITE, guard_refusal
from servers.instances.actions.record import UPDATE
from servers.instances.domain.guest_config_rules import disk_config_decided
from servers.instances.domain.instance_details import (
    InstanceDetails,
    change_words,
    details_problems,
    needs_metadata_guard,
)
from servers.instances.selectors.instances import instance_details, instance_get
from servers.instances.services.config_parts import metadata_check
from servers.instances.services.journal import action_at_once
from servers.instances.services.metadata_changes import guest_documents_changed
from servers.instances.services.notifications import emit_details_change
from servers.instances.services.state import action_require, state_set
from servers.models import Instance, InstanceTag

Change = Callable[[InstanceDetails], Mapping[str, Any]]


@audited("instance.update", Instance, by="instance_id")
def instance_update(
    *, caller: Caller, instance_id: uuid.UUID, changes: Mapping[str, Any], etag: str | None = None
) -> Instance:
    """Replace those of the fields of `InstanceDetails` that `changes` has, each as a whole.

    With the `etag` of what the caller read, it is refused once somebody else changed one of them since. Raises
    InvalidFields, Forbidden, NotFound, and Conflict for a wrong state, a lock, or a change of somebody else.
    """
    return _update(caller, instance_id, lambda _: changes, etag)


@audited("instance.metadata_set", Instance, by="instance_id", also=("key",))
def metadata_item_set(*, caller: Caller, instance_id: uuid.UUID, key: str, value: str) -> Instance:
    """Set one key; the others stay, also those that somebody else sets at this moment. Raises as `instance_update`."""
    return _update(caller, instance_id, lambda now: {"metadata": {**now.metadata, key: value}})


@audited("instance.metadata_set", Instance, by="instance_id")
def metadata_items_set(*, caller: Caller, instance_id: uuid.UUID, items: Mapping[str, str]) -> Instance:
    """Set several keys; the others stay. Raises as `instance_update`."""
    return _update(caller, instance_id, lambda now: {"metadata": {**now.metadata, **items}})


@audited("instance.metadata_delete", Instance, by="instance_id", also=("key",))
def metadata_item_delete(*, caller: Caller, instance_id: uuid.UUID, key: str) -> Instance:
    """Remove one key. Raises NotFound where there is none such, and as `instance_update`."""

    def without(now: InstanceDetails) -> Mapping[str, Any]:
        if key not in now.metadata:
            raise NotFound(_("The instance has no metadata item {key!r:.80}.", key=key))
        return {"metadata": {name: value for name, value in now.metadata.items() if name != key}}

    return _update(caller, instance_id, without)


@audited("instance.tag_add", Instance, by="instance_id", also=("tag",))
def tag_add(*, caller: Caller, instance_id: uuid.UUID, tag: str) -> Instance:
    """Put one tag on it; one that it has already stays. Raises as `instance_update`."""
    return _update(caller, instance_id, lambda now: {"tags": [*now.tags, *({tag} - {*now.tags})]})


@audited("instance.tag_remove", Instance, by="instance_id", also=("tag",))
def tag_remove(*, caller: Caller, instance_id: uuid.UUID, tag: str) -> Instance:
    """Take one tag off. Raises NotFound where it has none such, and as `instance_update`."""

    def without(now: InstanceDetails) -> Mapping[str, Any]:
        if tag not in now.tags:
            raise NotFound(_("The instance has no tag {tag!r:.80}.", tag=tag))
        return {"tags": [one for one in now.tags if one != tag]}

    return _update(caller, instance_id, without)


def _update(caller: Caller, instance_id: uuid.UUID, change: Change, etag: str | None = None) -> Instance:
    """Nothing is written, and nothing told, where the instance already is as it is asked to be."""
    require(caller, UPDATE.policy)
    seen = instance_get(caller=caller, instance_id=instance_id)
    if seen.is_pending:
        refuse_if(details_problems(change(instance_details(seen))))
        raise Conflict(_("The instance waits to be scheduled and has no row to change yet. Ask once more."))
    with transaction.atomic():
        row = Instance.objects.select_for_update().filter(pk=seen.pk, deleted_at__isnull=True).first()
        if row is None:
            raise Conflict(_("The instance changed at this very moment. Look again."))
        before = instance_details(row)
        changes = change(before)
        refuse_if(details_problems(changes))
        action_require(row, UPDATE.name, caller)
        if etag is not None and etag != before.etag:
            raise Conflict(_("Somebody else changed it since it was read. Look at it again."), field="etag")
        after = before.changed(changes)
        if after.disk_config != before.disk_config:
            image_says = str(present_names(row.image.get("properties", {})).get("hw_auto_disk_config", ""))
            refuse_if({"disk_config": disk_config_decided(after.disk_config, image_says)[1]})
        if len(after.metadata) > len(before.metadata):
            metadata_check(caller, after.metadata)
        if after != before:
            _write(row, before, after, caller)
    row.refresh_from_db()
    return row


def _write(row: Instance, before: InstanceDetails, after: InstanceDetails, caller: Caller) -> None:
    if needs_metadata_guard(before, after):
        states = {"vm_state": row.vm_state, "task_state": row.task_state}
        if refused := guard_refusal(METADATA_WRITE, **states, is_launched=row.launched_at is not None):
            raise Conflict(refused, vm_state=row.vm_state, task_state=row.task_state or None)
    state_set(
        row.pk,
        vm_in={row.vm_state},
        task_in={row.task_state},
        name=after.name,
        description=after.description,
        metadata=dict(after.metadata),
        access_ip_v4=after.access_ip_v4,
        access_ip_v6=after.access_ip_v6,
        hostname=after.hostname,
        disk_config=after.disk_config,
    )
    InstanceTag.objects.filter(instance=row, tag__in={*before.tags} - {*after.tags}).delete()
    InstanceTag.objects.bulk_create([InstanceTag(instance=row, tag=tag) for tag in {*after.tags} - {*before.tags}])
    words, who = change_words(before, after), caller.user_id
    action_at_once(instance_id=row.pk, action=UPDATE.name, user_id=who, project_id=row.project_id, message=words)
    guest_documents_changed(row)
    emit_details_change(row.pk, caller, old_name=before.name if before.name != after.name else None)
