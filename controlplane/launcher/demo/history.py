"""What was done to the instances of a demo until now, by whom, and what went wrong."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from random import Random
from uuid import UUID

from controlplane.launcher.demo.placing import Placed
from controlplane.launcher.demo.plan import DemoPlan
from controlplane.launcher.demo.rows import rows_write
from servers.instances.domain.state_reasons import CRASH
from servers.models import ConsoleLog, InstanceAction, InstanceActionEvent, InstanceFault

CRASHED = "The guest crashed: it ended by itself on its host. The instance is stopped since."
PANICKED = "The system inside crashed. The instance is stopped since."
PANIC_LOG = (
    "[    2.114873] virtio_blk virtio1: [vda] 41943040 512-byte logical blocks\n"
    "[14032.881204] Kernel panic - not syncing: Out of memory: compulsory panic_on_oom is enabled\n"
    "[14032.881611] CPU: 1 PID: 811 Comm: ledger Not tainted 6.12.48-cloud-amd64 #1\n"
    "[14032.882390] ---[ end Kernel panic - not syncing ]---\n"
)
# Action, how often, share that failed, and with what message.
LATER = (
    ("reboot_soft", 5, 0.02, "The guest did not answer the power button within 120 s."),
    ("reboot", 2, 0.0, ""),
    ("stop", 4, 0.0, ""),
    ("start", 5, 0.01, "The host could not start it: cannot get a write lock on the disk."),
    ("snapshot", 3, 0.06, "The upload ended early: the image store is full."),
    ("attach_volume", 3, 0.03, "The host could not connect the volume within 60 s."),
    ("pause", 1, 0.0, ""),
    ("update", 2, 0.0, ""),
)
ACTED_ON = 0.06
"""The share of instances to which something was done lately."""


def history_write(plan: DemoPlan, placed: Sequence[Placed]) -> None:
    """Actions with their steps, faults of what crashed, and the console of one that panicked."""
    rows_write(InstanceAction, (_create(one) for one in placed))
    rows_write(InstanceAction, _later(plan, placed))
    crashed = [one for one in placed if one.state.is_crash]
    _crashes(plan, crashed)
    _steps(placed)


def _create(one: Placed) -> InstanceAction:
    return InstanceAction(
        instance_uuid=one.id,
        action="create",
        request_id=one.request_id,
        user_id=one.user.user_id,
        project_id=one.team.project.pk,
        started_at=one.asked_at,
        finished_at=one.launched_at,
        result="success",
    )


def _later(plan: DemoPlan, placed: Sequence[Placed]) -> Iterator[InstanceAction]:
    """People act on a service at a time: on instances of one request, with one request."""
    rng = plan.rng("later")
    together: list[Placed] = []
    for one in placed:
        if together and (one.reservation_id != together[0].reservation_id):
            if rng.random() < ACTED_ON:
                yield from _acts(plan, rng, together)
            together = []
        together.append(one)


def _acts(plan: DemoPlan, rng: Random, together: Sequence[Placed]) -> Iterator[InstanceAction]:
    name, _, failing, message = rng.choices(LATER, [row[1] for row in LATER])[0]
    first = together[0]
    at = plan.ago(minutes=10) - (plan.now - first.launched_at) * rng.random() ** 2
    at = max(at, first.launched_at + timedelta(seconds=1))
    request_id = plan.request_id(name, first.id)
    for one in together:
        has_failed = rng.random() < failing
        yield InstanceAction(
            instance_uuid=one.id,
            action=name,
            request_id=request_id,
            user_id=one.user.user_id,
            project_id=one.team.project.pk,
            started_at=at,
            finished_at=at + timedelta(seconds=rng.uniform(0.4, 20.0)),
            result="error" if has_failed else "success",
            message=message if has_failed else "",
        )


def _crashes(plan: DemoPlan, crashed: Sequence[Placed]) -> None:
    rng = plan.rng("crashes")
    at: dict[UUID, datetime] = {}
    for one in crashed:
        at[one.id] = max(one.launched_at, plan.ago(hours=rng.uniform(0.2, 30.0)))
    rows_write(
        InstanceAction,
        (
            InstanceAction(
                instance_uuid=one.id,
                action=CRASH,
                project_id=one.team.project.pk,
                started_at=at[one.id],
                finished_at=at[one.id],
                result="error",
                message=_crash_message(one),
            )
            for one in crashed
        ),
    )
    for one in crashed:
        fault = InstanceFault.objects.create(
            instance_uuid=one.id,
            message=_crash_message(one),
            details=f"On {one.host.name}." if one.host else "",
            host=one.host.name if one.host else "",
            step=CRASH,
        )
        InstanceFault.objects.filter(pk=fault.pk).update(created_at=at[one.id])
        if one.state.reason:
            ConsoleLog.objects.create(instance_uuid=one.id, output=PANIC_LOG)


def _crash_message(one: Placed) -> str:
    return PANICKED if one.state.reason else CRASHED


STEPS = (("claim", 0.05), ("networking", 0.15), ("block_device_mapping", 0.4), ("spawning", 0.4))
WITH_STEPS = 4000
"""Instances whose build is told step by step, the youngest ones."""


def _steps(placed: Sequence[Placed]) -> None:
    young = {one.id: one for one in placed[-WITH_STEPS:] if one.host is not None}
    since = min((one.asked_at for one in young.values()), default=None)
    rows = InstanceAction.objects.filter(action="create", started_at__gte=since) if since else ()
    recorded = ((row, young[row.instance_uuid]) for row in rows if row.instance_uuid in young)
    rows_write(InstanceActionEvent, (event for row, one in recorded for event in _events(row, one)))


def _events(row: InstanceAction, one: Placed) -> Iterator[InstanceActionEvent]:
    at, span = row.started_at + timedelta(seconds=0.1), one.build_s - 0.2
    for name, share in STEPS:
        ends = at + timedelta(seconds=span * share)
        yield InstanceActionEvent(
            action=row,
            name=name,
            host=one.host.name if one.host else "",
            started_at=at,
            finished_at=ends,
            result="success",
        )
        at = ends
