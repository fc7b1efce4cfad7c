"""Schedule again: an instance that found no host becomes a request once more, with the same uuid and its history."""

import uuid
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.infra.request_id import current_request_id
from controlplane.kernel.errors import Conflict, NotFound
from controlplane.kernel.texts import phrase as _
from controlplane.work.models import Work
from controlplane.work.work import CONDUCTOR_QUEUE, NewWork, open_work_subjects, work_create
from scheduling.topology.services.claims import claims_free
from servers.catalog.domain.quota import QuotaAmounts
from servers.catalog.services.quota import quota_growth_check, quota_lock, quota_recheck
from servers.conf import server_options
from servers.images.domain.images import ImageStatus
from servers.instances.actions.lifecycle import SCHEDULE_AGAIN
from servers.instances.domain.bodies import InstanceBody
from servers.instances.domain.notification_payload import States
from servers.instances.domain.request_changes import NO_CHANGES, RequestChanges
from servers.instances.domain.schedule_again import schedule_again_refusal
from servers.instances.selectors.instances import instance_get
from servers.instances.selectors.pending import pending_instance
from servers.instances.services.hints import requests_changed
from servers.instances.services.host_blame import blame_drop
from servers.instances.services.journal import action_open
from servers.instances.services.nic_needs import nics_asked_again, with_nic_needs
from servers.instances.services.notifications import emit_return_to_pending
from servers.instances.services.request_changes import RequestChanged, request_changed
from servers.instances.services.request_volumes import request_volumes_reserve
from servers.instances.work_kinds import SCHEDULE_AND_BUILD
from servers.models import BuildRequest, Image, Instance, InstanceAction, InstanceMapping, RequestSpec
from servers.networks.services.instance_ports import instance_ports_claim, instance_ports_free
from servers.states import VmState
from servers.volumes.services.with_instances import instance_volumes_release

WRITTEN_ANEW = frozenset(
    {"generation", "availability_zone", "tags", "request_id", "created_at", "vm_state", "task_state"}
)
COPIED_FIELDS = tuple(each.name for each in fields(InstanceBody) if each.name not in WRITTEN_ANEW)
"""What its owner gave an instance stays with it. `attempts` goes on counting, so attempts keep their numbers in the
journey.
"""


@audited("instance.schedule_again", Instance, by="instance_id", also=("changes",))
def instance_schedule_again(*, instance_id: uuid.UUID, caller: Caller, changes: RequestChanges = NO_CHANGES) -> Work:
    """Turn an instance that is in ERROR on no host back into a build request, with the work that schedules it.

    One transaction: the row goes, the request comes. Of two who ask at once, or of one who asks and one who deletes,
    one wins. Actions, attempts, faults and the decision before stay; it is asked for as it was then, but for `changes`.
    Raises NotFound, Conflict with the reason, QuotaExceeded where its project is over quota by now or would be with the
    other flavor, InvalidFields and Forbidden for changes that a create would be refused for.
    """
    require(caller, SCHEDULE_AGAIN.policy)
    instance_get(caller=caller, instance_id=instance_id)
    with transaction.atomic():
        before = _locked(instance_id, caller, flavor=changes.flavor)
        if changes.generation is not None and changes.generation != before.generation:
            raise Conflict(_("The instance was scheduled again since you looked at it. Look again."))
        quota_lock(before.project_id)
        quota_recheck(project_id=before.project_id)
        spec, image = _spec_of(before)
        changed = request_changed(caller, spec.typed_body, changes, image=image)
        _quota_check(before, changed)
        blame_drop(instance_id=before.pk)
        claims_free([before.pk])  # it should hold nothing; what it may have kept must not double
        spec.body = changed.body.to_dict()
        request = _request_from(before, spec, changed.columns)
        _row_replace(before, request, spec)
        deadline_s = server_options().build_deadline_s
        work = work_create(NewWork(CONDUCTOR_QUEUE, SCHEDULE_AND_BUILD, request.reservation_id, deadline_s))
        named = replace(changes, flavor=changed.body.flavor.name if changes.flavor else "")
        _write_down(before, request, caller, work, named)
    return work


def _quota_check(before: Instance, changed: RequestChanged) -> None:
    """What it counts already is not asked for twice."""
    cores, ram_mib = changed.columns.get("vcpus", before.vcpus), changed.columns.get("memory_mib", before.memory_mib)
    quota_growth_check(
        project_id=before.project_id,
        user_id=before.user_id,
        before=QuotaAmounts(1, before.vcpus, before.memory_mib),
        after=QuotaAmounts(1, cores, ram_mib),
    )


def _locked(instance_id: uuid.UUID, caller: Caller, *, flavor: str) -> Instance:
    """The instance's row under lock, if it may be scheduled again. Whoever waited for the lock sees what the first one
    left.
    """
    rows = Instance.objects.select_for_update().filter(pk=instance_id, deleted_at__isnull=True)
    instance = rows.first()
    if instance is None:
        if BuildRequest.objects.filter(instance_uuid=instance_id).exists():
            raise Conflict(_("The instance waits to be scheduled already."))
        raise NotFound(_("Instance {instance_id} does not exist.", instance_id=instance_id))
    refused = schedule_again_refusal(instance, caller, flavor=flavor)
    if refused or open_work_subjects(subjects=[instance_id]):
        raise Conflict(
            refused or _("Work for the instance is under way."),
            vm_state=instance.vm_state,
            task_state=instance.task_state or None,
        )
    return instance


def _spec_of(instance: Instance) -> tuple[RequestSpec, Image | None]:
    """The request spec of the instance, and its image, if it has one. Raises Conflict where one of them does not exist
    any more.
    """
    spec = RequestSpec.objects.filter(instance_uuid=instance.pk).first()
    if spec is None:
        raise Conflict(_("What was asked for is not known any more; delete the instance and create it anew."))
    image = Image.objects.filter(pk=instance.image_id).first() if instance.image_id else None
    if instance.image_id and (image is None or image.status != ImageStatus.ACTIVE):
        state = "gone" if image is None else image.status
        raise Conflict(
            _(
                "Its image {image!r:.80} is {state}; without it nothing can be built.",
                image=instance.image.get("name", ""),
                state=state,
            )
        )
    return spec, image


def _request_from(instance: Instance, spec: RequestSpec, columns: Mapping[str, Any]) -> BuildRequest:
    """A batch of its own: the others of its first one are where they are. `columns`: those with other values."""
    body = InstanceBody(
        **{name: columns.get(name, getattr(instance, name)) for name in COPIED_FIELDS},
        generation=instance.generation + 1,
        availability_zone=spec.typed_body.availability_zone,
        tags=tuple(sorted(instance.tags.values_list("tag", flat=True))),
        request_id=current_request_id(),
        created_at=instance.created_at,
    )
    return BuildRequest(
        instance_uuid=instance.pk,
        project_id=instance.project_id,
        user_id=instance.user_id,
        reservation_id=uuid.uuid4(),
        request_id=current_request_id(),
        vcpus=body.vcpus,
        memory_mib=body.memory_mib,
        ports=sum(1 for nic in spec.typed_body.nics or () if nic.is_counted),
        decision_id=instance.decision_id,
        instance_body=body.to_dict(),
    )


def _row_replace(instance: Instance, request: BuildRequest, spec: RequestSpec) -> None:
    """Its tags go with the row and come back with the next one; ports are made anew on the host that is found, and
    those that were given to it are claimed again, as are volumes. Raises Conflict where one of these is another's by
    now.
    """
    instance_ports_free([instance.pk])
    instance_volumes_release(instance_uuid=instance.pk, is_terminated=False)
    _rest, rows = Instance.objects.filter(
        pk=instance.pk, generation=instance.generation, vm_state=VmState.ERROR
    ).delete()
    if not rows.get(Instance._meta.label):
        raise Conflict(_("The instance changed at this very moment. Look again."))
    request.save(force_insert=True)
    nics = spec.typed_body.nics or ()
    instance_ports_claim(instance_uuid=instance.pk, project_id=instance.project_id, nics=nics)
    request_volumes_reserve(
        instance_uuid=instance.pk, project_id=instance.project_id, devices=spec.typed_body.block_devices or ()
    )
    # Its ports were nobody's in between: what they ask of a host may be something else by now.
    spec.body = with_nic_needs(spec.typed_body, nics_asked_again(nics)).to_dict()
    requests_changed([request])
    RequestSpec.objects.filter(pk=spec.pk).update(
        reservation_id=request.reservation_id, body=spec.body, updated_at=Now()
    )
    InstanceMapping.objects.filter(instance_uuid=instance.pk).update(cell_id=None, updated_at=Now())


def _write_down(before: Instance, request: BuildRequest, caller: Caller, work: Work, changes: RequestChanges) -> None:
    """Who asked, when, and what was decided before; the build that follows is an action of its own.

    Having asked ends with that build, and as it does: what was asked for is done when the instance runs.
    """
    action, project_id = SCHEDULE_AGAIN.name, before.project_id
    asked = action_open(instance_id=before.pk, action=action, user_id=caller.user_id, project_id=project_id, work=work)
    decided = f" The decision before was {before.decision_id}." if before.decision_id else ""
    otherwise = f", with {changes.words}" if changes.words else ""
    message = f"Asked for again by {caller.username}{otherwise}.{decided}"
    InstanceAction.objects.filter(pk=asked.pk).update(message=message)
    emit_return_to_pending(pending_instance(request), before=States(before.vm_state, before.task_state or None))
