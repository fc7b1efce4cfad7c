"""Instances that are kept as images: off their hosts, and back on any.

An instance is shelved on its host first. It leaves the host at once, after SHELVED_OFFLOAD_TIME_S, or when an admin
says so: then it holds nothing of any host. Unshelved, it is started where it is, or placed anew and built from its
image. Whatever fails there that a host has told of leaves it shelved, with its image.
"""

import uuid
from collections.abc import Mapping
from typing import Any

from django.db import transaction

from controlplane.identity.domain import Caller
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Conflict, Invalid, KilonovaError
from controlplane.kernel.texts import phrase as _
from controlplane.work.work import CONDUCTOR_QUEUE, NewWork, WorkLease, work_create
from scheduling.topology.services.claims import claims_free, devices_allocate
from servers.conf import server_options
from servers.fields import refuse_if
from servers.images.domain.images import ImageStatus
from servers.images.services.image_store import READABLE
from servers.images.services.snapshot_images import snapshot_image_discard
from servers.instances.actions.images import SHELVE_OFFLOAD
from servers.instances.actions.rule import ActionRule
from servers.instances.domain.instance_rules import zone_parse
from servers.instances.selectors.instances import instance_row
from servers.instances.selectors.work_images import image_made_by
from servers.instances.services.host_action import host_action_begin
from servers.instances.services.journal import action_open
from servers.instances.services.notifications import Phase, emit_action
from servers.instances.services.request_parts import zone_problems
from servers.instances.services.state import NOW, Sql, instance_error_set, state_set
from servers.instances.services.volume_zones import zone_with_volumes
from servers.instances.work_kinds import SCHEDULE_UNSHELVE
from servers.models import Image, Instance, RequestSpec, VolumeAttachment
from servers.networks.services.bindings import instance_ports_unbind
from servers.states import TaskState, VmState
from servers.volumes.services.attachments import attachments_activate, attachments_promise

HOST = "host"
"""Argument of the conductor's work: the only host that will do."""
OFFLOADS = 100
"""As many leave their hosts in one round."""
NOT_SHELVED: Mapping[str, Any] = {"shelved_at": None, "shelved_image_id": None}
NO_HOST: dict[str, Any] = {"host": "", "node": "", "compute_node_uuid": None, "addresses": {}, "console_socket": ""}


def shelve_done(lease: WorkLease) -> None:
    """It is off and its image is whole. Raises Invalid when it is not, as when somebody deleted it meanwhile."""
    image_id = image_made_by(lease)
    image = Image.objects.select_for_update().filter(pk=image_id, status=ImageStatus.ACTIVE).first()
    if image is None:
        raise Invalid(_("The image of the instance is not there."), field="image_id")
    shelved_image_discard(lease.subject)  # of an earlier time, which ended in ERROR
    state_set(lease.subject, vm_in={VmState.SHELVED}, shelved_at=NOW, shelved_image_id=image_id)
    if server_options().shelved_offload_time_s == 0:
        _offload_begin(instance_row(lease.subject), user_id=None)


def _offload_begin(instance: Instance, *, user_id: uuid.UUID | None) -> None:
    host_action_begin(
        instance, SHELVE_OFFLOAD, user_id=user_id, vm_in={VmState.SHELVED}, task_in=SHELVE_OFFLOAD.task_states
    )


def shelved_offload_round() -> int:
    """Those that have been shelved for SHELVED_OFFLOAD_TIME_S leave their hosts. Returns how many begin to."""
    wait_s, begun = server_options().shelved_offload_time_s, 0
    if wait_s < 0:
        return 0
    rows = Instance.objects.filter(vm_state=VmState.SHELVED, task_state=TaskState.NONE, deleted_at__isnull=True)
    for instance in rows.filter(shelved_at__lt=now_plus(-wait_s)).exclude(host="").order_by("shelved_at")[:OFFLOADS]:
        try:
            with transaction.atomic():
                _offload_begin(instance, user_id=None)
            begun += 1
        except KilonovaError:
            continue  # it changed at this moment, or its host was removed
    return begun


def offload_done(lease: WorkLease) -> None:
    """Its host holds nothing of it any more, so it holds nothing of its host."""
    state_set(lease.subject, vm_in={VmState.SHELVED_OFFLOADED}, **NO_HOST)
    instance_ports_unbind(instance_uuid=lease.subject)
    attachments_promise(instance_uuid=lease.subject)
    claims_free([lease.subject])


def unshelve_begin(instance: Instance, rule: ActionRule, caller: Caller, arguments: Mapping[str, str]) -> None:
    """Start it where it is, or have a host chosen. Raises Conflict, InvalidFields, Forbidden for a host's name."""
    zone, host = arguments.get("availability_zone", ""), arguments.get(HOST, "")
    if instance.vm_state == VmState.SHELVED:
        if zone or host:
            raise Conflict(_("The instance is still on its host; only one that left its host can choose another."))
        host_action_begin(instance, rule, user_id=caller.user_id, vm_in={VmState.SHELVED}, task_in=rule.task_states)
        return
    _place_check(caller, zone, host)
    if zone:
        volume_ids = VolumeAttachment.objects.filter(instance_uuid=instance.pk).values_list("volume_id", flat=True)
        refuse_if(zone_with_volumes(zone, list(volume_ids))[1])
    image = Image.objects.filter(pk=instance.shelved_image_id).first() if instance.shelved_image_id else None
    if (image is None or image.status not in READABLE) and not instance.is_bfv:
        raise Conflict(_("The image that the instance is kept in is not there; it cannot come back."))
    if zone:
        _zone_pin(instance.pk, zone)
    state_set(instance.pk, vm_in={VmState.SHELVED_OFFLOADED}, task_in=rule.task_states, task_state=rule.task)
    deadline_s = server_options().build_deadline_s
    work = work_create(
        NewWork(CONDUCTOR_QUEUE, SCHEDULE_UNSHELVE, instance.pk, deadline_s, {HOST: host} if host else {})
    )
    action_open(
        instance_id=instance.pk, action=rule.name, user_id=caller.user_id, project_id=instance.project_id, work=work
    )
    emit_action(rule, Phase.START, instance.pk)


def _place_check(caller: Caller, zone: str, host: str) -> None:
    """Raises InvalidFields for a zone or host that does not exist; Forbidden."""
    wanted, reasons = zone_parse(f"{zone}:{host}" if host else zone)
    if not reasons and zone and (wanted.zone != zone or ":" in host):
        reasons = [_("{zone!r:.80} is no name of a zone.", zone=zone)]
    refuse_if({"availability_zone": reasons} if reasons else zone_problems(caller, wanted))


def _zone_pin(instance_id: uuid.UUID, zone: str) -> None:
    """From now on it belongs into this zone."""
    spec = RequestSpec.objects.filter(instance_uuid=instance_id).first()
    if spec is not None:
        RequestSpec.objects.filter(pk=spec.pk).update(body={**spec.body, "availability_zone": zone})


def unshelve_done(lease: WorkLease) -> None:
    """It runs again, on a host that may be another one."""
    devices_allocate(consumer_uuid=lease.subject)
    attachments_activate(instance_uuid=lease.subject)
    state_set(lease.subject, vm_in={VmState.ACTIVE}, launched_on=Sql("host"))


def shelving_end(instance_id: uuid.UUID) -> None:
    """Its host says that it runs, whatever was done for that: it is shelved no more, and needs its image no more.

    An instance that never was shelved is left alone.
    """
    if Instance.objects.filter(pk=instance_id).exclude(**NOT_SHELVED).exists():
        shelved_image_discard(instance_id)
        state_set(instance_id, vm_in={VmState.ACTIVE}, **NOT_SHELVED)


def shelved_image_discard(instance_id: uuid.UUID) -> None:
    """The image that it is kept in goes, where there is one and nobody protected it."""
    image_id = Instance.objects.filter(pk=instance_id).values_list("shelved_image_id", flat=True).first()
    if image_id is not None:
        snapshot_image_discard(image_id)


def unshelve_failed(instance: Instance, is_overdue: bool) -> None:
    """What its host tells of is as before: on its host it is off, and of one that was to be built on a new host that
    host holds nothing. Of a host that was silent to the end nobody knows whether the guest runs: ERROR, on that host.
    """
    if is_overdue and instance.host:
        instance_error_set(instance.pk)
        return
    if instance.vm_state != VmState.SHELVED_OFFLOADED:
        return
    state_set(instance.pk, vm_in={VmState.SHELVED_OFFLOADED}, **NO_HOST)
    instance_ports_unbind(instance_uuid=instance.pk)
    attachments_promise(instance_uuid=instance.pk)
    claims_free([instance.pk])
