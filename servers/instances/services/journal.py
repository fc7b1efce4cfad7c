"""This module records what happened to an instance, for people: actions, their steps, attempts and faults."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Case, F, TextField, Value, When
from django.db.models.functions import Now

from computeagent.protocol.steps import StepEnd
from controlplane.infra.db import now_plus
from controlplane.infra.request_id import current_request_id
from controlplane.work.models import Work
from servers.instances.actions.table import AT_ONCE, CREATE, SCHEDULE_AGAIN
from servers.models import AttemptRecord, InstanceAction, InstanceActionEvent, InstanceFault

STEP_MAX = 60
"""Letters of a step's name that its row holds."""


@dataclass(frozen=True, slots=True)
class StepTrack:
    """Where steps are recorded: under which action (0: none is open), of which attempt on which host."""

    action_id: int
    attempt: int
    host: str


@dataclass(frozen=True, slots=True)
class StepReport:
    """Steps that ended since an agent wrote last: they go into the transaction of what it writes now."""

    track: StepTrack
    ended: tuple[StepEnd, ...]

    def write(self) -> None:
        steps_write(self.track, ended=self.ended)


def action_open(
    *, instance_id: uuid.UUID, action: str, user_id: uuid.UUID | None, project_id: uuid.UUID, work: Work | None
) -> InstanceAction:
    """Write the row of an action that begins."""
    return InstanceAction.objects.create(
        instance_uuid=instance_id,
        action=action,
        request_id=current_request_id(),
        user_id=user_id,
        project_id=project_id,
        work_id=work.pk if work else None,
        started_at=Now(),
    )


BUILD_ACTIONS = (CREATE.name, SCHEDULE_AGAIN.name)
"""What ends with a build: the build, and having asked for it again, which succeeds when the build does."""


def action_close(*, instance_id: uuid.UUID, actions: tuple[str, ...], result: str, message: str = "") -> None:
    """End the open ones among `actions`; ended ones keep their result, and one with a message keeps that."""
    rows = InstanceAction.objects.filter(instance_uuid=instance_id, action__in=actions, finished_at__isnull=True)
    words = Case(When(message="", then=Value(_clean(message))), default=F("message"), output_field=TextField())
    rows.update(finished_at=Now(), result=result, message=words)


def actions_cancel(*, instance_id: uuid.UUID, message: str) -> None:
    """End every open action, because something stronger took over."""
    rows = InstanceAction.objects.filter(instance_uuid=instance_id, finished_at__isnull=True)
    rows.update(finished_at=Now(), result="cancelled", message=message)


def actions_fail(*, instance_id: uuid.UUID, message: str) -> None:
    """End every open action, because nobody works on it any more."""
    rows = InstanceAction.objects.filter(instance_uuid=instance_id, finished_at__isnull=True)
    rows.update(finished_at=Now(), result="error", message=message)


def action_take_up(*, instance_id: uuid.UUID, action: str, project_id: uuid.UUID, work: Work) -> None:
    """Give an action new work: the open action continues with it; without one, the control plane itself begins one."""
    rows = InstanceAction.objects.filter(instance_uuid=instance_id, action=action, finished_at__isnull=True)
    if not rows.update(work_id=work.pk, attempt=F("attempt") + 1):
        action_open(instance_id=instance_id, action=action, user_id=None, project_id=project_id, work=work)


def steps_write(track: StepTrack, *, ended: Sequence[StepEnd] = (), begins: str = "") -> None:
    """Steps that are over, and one that begins. One statement, or none when there is nothing to say.

    The same step of the same attempt is one row: a step that was begun as a row keeps its beginning, and one that is
    begun again is open again. So it may be written twice.
    """
    over = {step.name[:STEP_MAX]: step for step in ended if step.name[:STEP_MAX] != begins}
    if not track.action_id or not (over or begins):
        return
    of = {"action_id": track.action_id, "attempt": track.attempt, "host": track.host}
    rows = [
        InstanceActionEvent(
            **of,
            name=step.name,
            result="error" if step.error else "success",
            details=_clean(step.error[:4000]),
            started_at=now_plus(-max(step.began_ago_s, 0.0, step.ended_ago_s)),
            finished_at=now_plus(-max(0.0, step.ended_ago_s)),
        )
        for step in over.values()
    ]
    if begins:
        rows.append(InstanceActionEvent(**of, name=begins, started_at=Now()))
    InstanceActionEvent.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["action", "name", "attempt", "host"],
        update_fields=["result", "details", "finished_at"],
    )


def _clean(text: str) -> str:
    """PostgreSQL keeps no NUL in a text, and what agents report may have one."""
    return text.replace("\x00", "")


def _newest_with_steps(instance_id: uuid.UUID) -> InstanceAction | None:
    """What was done at once meanwhile has no steps."""
    rows = InstanceAction.objects.filter(instance_uuid=instance_id).exclude(action__in=AT_ONCE)
    return rows.order_by("-started_at", "-id").first()


def step_failed(*, instance_id: uuid.UUID, name: str, error: str) -> None:
    """Record a step of the newest action that began with it and has already ended in this error."""
    action = _newest_with_steps(instance_id)
    if action is not None:
        InstanceActionEvent.objects.create(
            action=action,
            name=name,
            started_at=action.started_at,
            finished_at=Now(),
            result="error",
            details=error[:4000],
        )


def step_hung(*, instance_id: uuid.UUID, name: str, attempt: int, host: str, since: datetime, error: str) -> None:
    """Record a step of the newest action that made no progress since then and is ended. The row is found as in
    `steps_write`.
    """
    action = _newest_with_steps(instance_id)
    if action is not None:
        InstanceActionEvent.objects.update_or_create(
            action=action,
            name=name,
            attempt=attempt,
            host=host,
            defaults={"finished_at": Now(), "result": "error", "details": error[:4000]},
            create_defaults={
                "started_at": since,
                "finished_at": Now(),
                "result": "error",
                "details": error[:4000],
            },
        )


def steps_cut(*, instance_id: uuid.UUID, error: str) -> None:
    """End all open steps: the work they belong to ended without them."""
    rows = InstanceActionEvent.objects.filter(action__instance_uuid=instance_id, finished_at__isnull=True)
    rows.update(finished_at=Now(), result="error", details=error[:4000])


def attempt_open(*, instance_id: uuid.UUID, number: int, host: str) -> AttemptRecord:
    """The row of a host that is about to be tried, not saved: callers write these rows in bulk."""
    return AttemptRecord(instance_uuid=instance_id, number=number, host=host, started_at=Now())


def attempt_close(*, instance_id: uuid.UUID, outcome: str, reason: str = "") -> None:
    """How the open attempt ended."""
    rows = AttemptRecord.objects.filter(instance_uuid=instance_id, finished_at__isnull=True)
    rows.update(finished_at=Now(), outcome=outcome, reason=_clean(reason[:4000]))


def fault_record(
    *, instance_id: uuid.UUID, message: str, step: str = "", host: str = "", details: str = "", code: int = 500
) -> None:
    """Record why it failed: `message` is for the owner, `details` are for operators."""
    InstanceFault.objects.create(
        instance_uuid=instance_id,
        code=code,
        message=message[:1000],
        details=details[:20000],
        step=step[:60],
        host=host,
    )
