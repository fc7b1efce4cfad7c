"""This module records what happened to an instance, for people: actions, their steps, attempts and faults."""

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import F
from django.db.models.functions import Now

from computeagent.protocol.steps import StepEnd
from controlplane.infra.db import later_sql, later_value, now_plus, now_sql, placeholders, uuid_value
from controlplane.infra.request_id import current_request_id
from controlplane.work.models import Work
from servers.instances.actions.lifecycle import CREATE, SCHEDULE_AGAIN
from servers.instances.actions.table import ACTIONS, AT_ONCE
from servers.instances.domain.host_blame import AttemptBlame
from servers.instances.domain.state_reasons import INCIDENTS
from servers.instances.services.hints import instance_changed, journey_changed
from servers.models import AttemptRecord, InstanceAction, InstanceActionEvent, InstanceFault

log = logging.getLogger(__name__)
STEP_NAMES = frozenset(step.name for rule in ACTIONS.values() for step in rule.steps) | {"clean_up"}
"""What agents call their steps. Others are a newer agent's."""
STEPS_OF_ACTION_MAX = 200
"""Steps of other names are kept of one action, whatever its host tells."""
STEP_MAX = 60
"""Letters of a step's name that its row holds."""
BURST, BURST_S, BURST_MESSAGE_MAX = 10, 60.0, 2000
MAX_BYTES = 2**62
"""Whatever a host says: a column holds no more."""

# In SQL is what each build writes, several times: Django takes longer to make these statements than the database to run
# them.
_STEPS_WRITE = """
INSERT INTO servers_instanceactionevent (action_id, attempt, host, name, result, details, started_at, finished_at)
VALUES {rows}
    ON CONFLICT (action_id, name, attempt, host)
    DO UPDATE SET result = excluded.result, details = excluded.details, finished_at = excluded.finished_at
"""
_ACTION_CLOSE = """
UPDATE servers_instanceaction
   SET finished_at = {now}, result = %s, message = CASE message WHEN '' THEN %s ELSE message END
 WHERE instance_uuid = %s AND action IN ({actions}) AND finished_at IS NULL
"""
_ATTEMPT_CLOSE = """
UPDATE servers_attemptrecord SET finished_at = {now}, outcome = %s, reason = %s, failure_class = %s, host_blame = %s
 WHERE instance_uuid = %s AND finished_at IS NULL
RETURNING number
"""


@dataclass(frozen=True, slots=True)
class StepTrack:
    """Where steps are recorded: under which action (0: none is open), of which attempt on which host."""

    action_id: int
    attempt: int
    host: str
    instance_id: uuid.UUID


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
    opened = InstanceAction.objects.create(
        instance_uuid=instance_id,
        action=action,
        request_id=current_request_id(),
        user_id=user_id,
        project_id=project_id,
        work_id=work.pk if work else None,
        started_at=Now(),
    )
    instance_changed(instance_id, project_id=project_id)
    return opened


BUILD_ACTIONS = (CREATE.name, SCHEDULE_AGAIN.name)
"""What ends with a build: the build, and having asked for it again, which succeeds when the build does."""


def action_close(*, instance_id: uuid.UUID, actions: tuple[str, ...], result: str, message: str = "") -> None:
    """End the open ones among `actions`; ended ones keep their result, and one with a message keeps that."""
    text = _ACTION_CLOSE.format(now=now_sql(), actions=placeholders(actions))
    words = _clean(message)
    with connection.cursor() as cursor:
        cursor.execute(text, [result, words, uuid_value(instance_id), *actions])
    journey_changed(instance_id)


def action_at_once(
    *, instance_id: uuid.UUID, action: str, user_id: uuid.UUID | None, project_id: uuid.UUID, message: str
) -> None:
    """Write the row of an action that is over, under the lock of its instance. Of one user's the first BURST within
    BURST_S have rows of their own; what follows them is said in the last: programs change metadata all day.
    """
    lately = InstanceAction.objects.filter(instance_uuid=instance_id, action=action, user_id=user_id)
    newest = list(lately.filter(started_at__gt=now_plus(-BURST_S)).order_by("-started_at", "-id")[:BURST])
    if len(newest) < BURST:
        action_open(instance_id=instance_id, action=action, user_id=user_id, project_id=project_id, work=None)
        action_close(instance_id=instance_id, actions=(action,), result="success", message=message)
        return
    last, words = newest[0], _clean(message)
    said = last.message if words in last.message.split("; ") else f"{last.message}; {words}"
    InstanceAction.objects.filter(pk=last.pk).update(
        finished_at=Now(), message=said if len(said) <= BURST_MESSAGE_MAX else last.message
    )
    journey_changed(instance_id)


def actions_cancel(*, instance_id: uuid.UUID, message: str) -> None:
    """End every open action, because something stronger took over."""
    rows = InstanceAction.objects.filter(instance_uuid=instance_id, finished_at__isnull=True)
    rows.update(finished_at=Now(), result="cancelled", message=message)
    journey_changed(instance_id)


def actions_fail(*, instance_id: uuid.UUID, message: str) -> None:
    """End every open action, because nobody works on it any more."""
    rows = InstanceAction.objects.filter(instance_uuid=instance_id, finished_at__isnull=True)
    rows.update(finished_at=Now(), result="error", message=message)
    journey_changed(instance_id)


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
    if {*over, begins} - STEP_NAMES - {""} and _is_full(track):
        over = {name: step for name, step in over.items() if name in STEP_NAMES}
        begins = begins if begins in STEP_NAMES else ""
        if not (over or begins):
            return
    of = [track.action_id, track.attempt, track.host]
    later = later_sql()
    rows = [f"(%s, %s, %s, %s, %s, %s, {later}, {later})"] * len(over)
    values: list[Any] = []
    for name, step in over.items():
        result, ended_ago_s = "error" if step.error else "success", max(0.0, step.ended_ago_s)
        began, ended_at = later_value(-max(step.began_ago_s, ended_ago_s)), later_value(-ended_ago_s)
        values += [*of, name, result, _clean(step.error[:4000]), began, ended_at]
    if begins:
        rows.append(f"(%s, %s, %s, %s, '', '', {now_sql()}, NULL)")
        values += [*of, begins]
    with connection.cursor() as cursor:
        cursor.execute(_STEPS_WRITE.format(rows=", ".join(rows)), values)
    journey_changed(track.instance_id)


def _is_full(track: StepTrack) -> bool:
    """Whether the action has so many steps that those of names which no rule has are left out of its journal."""
    is_full = InstanceActionEvent.objects.filter(action_id=track.action_id).count() >= STEPS_OF_ACTION_MAX
    if is_full:
        log.warning("host %s tells more steps of one action than a journal takes", track.host)
    return is_full


def step_progress_write(track: StepTrack, *, step: str, done_bytes: int, total_bytes: int) -> None:
    """How far an open step is. One statement; a step that is not open changes nothing."""
    rows = InstanceActionEvent.objects.filter(
        action_id=track.action_id, attempt=track.attempt, host=track.host, name=step[:STEP_MAX], finished_at=None
    )
    total = max(0, min(total_bytes, MAX_BYTES))
    if rows.update(done_bytes=max(0, min(done_bytes, total)), total_bytes=total):
        journey_changed(track.instance_id)


def _clean(text: str) -> str:
    """PostgreSQL keeps no NUL in a text, and what agents report may have one."""
    return text.replace("\x00", "")


def _newest_with_steps(instance_id: uuid.UUID) -> InstanceAction | None:
    """What was done at once meanwhile has no steps."""
    rows = InstanceAction.objects.filter(instance_uuid=instance_id).exclude(action__in=[*AT_ONCE, *INCIDENTS])
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
        journey_changed(instance_id)


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
        journey_changed(instance_id)


def steps_cut(*, instance_id: uuid.UUID, error: str) -> None:
    """End all open steps: the work they belong to ended without them."""
    rows = InstanceActionEvent.objects.filter(action__instance_uuid=instance_id, finished_at__isnull=True)
    if rows.update(finished_at=Now(), result="error", details=error[:4000]):
        journey_changed(instance_id)


def attempt_open(*, instance_id: uuid.UUID, number: int, host: str) -> AttemptRecord:
    """The row of a host that is about to be tried, not saved: callers write these rows in bulk."""
    return AttemptRecord(instance_uuid=instance_id, number=number, host=host, started_at=Now())


def attempt_close(
    *,
    instance_id: uuid.UUID,
    outcome: str,
    reason: str = "",
    failure_class: str = "",
    host_blame: AttemptBlame = AttemptBlame.NONE,
) -> int:
    """How the open attempt ended. Its number; 0 where none is open."""
    values = [outcome, _clean(reason[:4000]), failure_class, host_blame.value, uuid_value(instance_id)]
    with connection.cursor() as cursor:
        cursor.execute(_ATTEMPT_CLOSE.format(now=now_sql()), values)
        numbers = [number for (number,) in cursor.fetchall()]
    journey_changed(instance_id)
    return max(numbers, default=0)


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
    journey_changed(instance_id)
