"""This module ends tasks that nobody works on: by the rule of the task, an instance a transaction, with evidence."""

import logging
import uuid
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import transaction

from controlplane.infra.db import db_now
from controlplane.infra.request_id import request_id_scope
from controlplane.work.heals import LOST_TASK, OVERDUE_TASK, heal_record
from controlplane.work.models import Work
from controlplane.work.work import CONDUCTOR_QUEUE, NewWork, compute_queue, open_work_subjects, work_create
from scheduling.topology.services.claims import claims_free
from servers.conf import server_options
from servers.images.services.snapshot_images import unfinished_images_discard
from servers.instances.actions.rule import work_deadline_s
from servers.instances.actions.table import ACTION_OF_WORK
from servers.instances.domain.task_rules import TASK_RULES, TaskHeal, overdue_words, restart_words, task_heal_for
from servers.instances.services.action_ends import open_actions_failed
from servers.instances.services.delete import deletion_take_up
from servers.instances.services.journal import (
    action_take_up,
    actions_fail,
    attempt_close,
    fault_record,
    step_hung,
    steps_cut,
)
from servers.instances.services.state import state_set
from servers.instances.work_kinds import RESCHEDULE
from servers.models import Instance
from servers.repair.selectors.stuck_tasks import instances_with_lost_task, instances_with_overdue_task
from servers.states import TaskState, VmState

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Stuck:
    """An instance under its lock, what is done about its task, and the words and numbers for it."""

    instance: Instance
    task: TaskState
    since: datetime
    stood_s: float
    last: Work | None
    proposed_heal: TaskHeal
    message: str = ""

    @property
    def step(self) -> str:
        """The last known step: that of the task's own work; the task itself where that work does not exist any more."""
        last = self.last
        is_of_task = last is not None and (last.finished_at is None or last.finished_at >= self.since)
        return (last.step or last.kind) if last is not None and is_of_task else self.task.value


def overdue_tasks_heal() -> int:
    """End every task past its deadline that has no open work. Returns how many; a second run finds none of them."""
    return sum(task_heal(pk, generation, is_restart=False) for pk, generation in instances_with_overdue_task())


def lost_tasks_heal(*, host: str) -> int:
    """End the tasks of one host whose agent starts, by the rules of a restart, whatever their age. Returns how many."""
    return sum(task_heal(pk, generation, is_restart=True) for pk, generation in instances_with_lost_task(host=host))


def task_heal(instance_id: uuid.UUID, generation: int, *, is_restart: bool) -> bool:
    """End the task of one instance, if it is still of this generation; a failure is logged and does not stop the
    others.
    """
    try:
        with transaction.atomic():
            return _heal_in_transaction(instance_id, generation, is_restart=is_restart)
    except Exception:
        log.exception("the task of instance %s could not be ended", instance_id)
        return False


def _heal_in_transaction(instance_id: uuid.UUID, generation: int, *, is_restart: bool) -> bool:
    rows = Instance.objects.select_for_update().filter(pk=instance_id, generation=generation, deleted_at__isnull=True)
    instance = rows.first()
    # Checked again under the lock: whoever begins work changes the instance first.
    if instance is None or open_work_subjects(subjects=[instance_id]):
        return False
    stuck = _judge(instance, is_restart=is_restart)
    with request_id_scope(stuck.last.request_id if stuck.last else instance.request_id):
        _write_down(stuck)
        _HEALS[stuck.proposed_heal](stuck)
        unfinished_images_discard(instance.pk)
        _record(stuck, is_restart=is_restart)
    log.warning("instance %s: %s", instance.pk, stuck.message)
    return True


def _judge(instance: Instance, *, is_restart: bool) -> _Stuck:
    task, vm_state = TaskState(instance.task_state), VmState(instance.vm_state)
    since = instance.task_since or instance.updated_at
    stuck = _Stuck(
        instance=instance,
        task=task,
        since=since,
        stood_s=(db_now() - since).total_seconds(),
        last=Work.objects.filter(subject=instance.pk).order_by("-created_at").first(),
        proposed_heal=task_heal_for(task, vm_state, has_host=bool(instance.host), is_restart=is_restart),
    )
    words = restart_words if is_restart else overdue_words
    return replace(
        stuck, message=words(task, stood_s=stuck.stood_s, step=stuck.step, proposed_heal=stuck.proposed_heal)
    )


def _write_down(stuck: _Stuck) -> None:
    """Record the steps that hung on the action they belong to, before an action that follows may be opened."""
    instance = stuck.instance
    steps_cut(instance_id=instance.pk, error=stuck.message)
    step_hung(
        instance_id=instance.pk,
        name=stuck.task.value,
        attempt=max(1, instance.attempts),
        host=instance.host,
        since=stuck.since,
        error=stuck.message,
    )


def _retry(stuck: _Stuck) -> None:
    instance, kind = stuck.instance, TASK_RULES[stuck.task].work
    if kind == RESCHEDULE:
        _state(stuck, task_state=TaskState.SCHEDULING)
        work_create(NewWork(CONDUCTOR_QUEUE, kind, instance.pk, server_options().build_deadline_s))
        return
    rule = ACTION_OF_WORK[kind]
    _state(stuck, task_state=rule.task)
    work = work_create(NewWork(compute_queue(instance.host), kind, instance.pk, work_deadline_s(rule, instance)))
    action_take_up(instance_id=instance.pk, action=rule.name, project_id=instance.project_id, work=work)


def _revert(stuck: _Stuck) -> None:
    _state(stuck, task_state=TaskState.NONE)
    if not stuck.instance.host:
        claims_free([stuck.instance.pk])
    _fault(stuck)


def _error(stuck: _Stuck) -> None:
    """The host retains what it may have; without a host the claim is freed, for nobody uses it."""
    _state(stuck, task_state=TaskState.NONE, vm_state=VmState.ERROR)
    if not stuck.instance.host:
        claims_free([stuck.instance.pk])
    attempt_close(instance_id=stuck.instance.pk, outcome="failed", reason=stuck.message)
    _fault(stuck)


def _finish_deletion(stuck: _Stuck) -> None:
    deletion_take_up(stuck.instance)


_HEALS = {
    TaskHeal.RETRY: _retry,
    TaskHeal.REVERT: _revert,
    TaskHeal.ERROR: _error,
    TaskHeal.FINISH_DELETION: _finish_deletion,
}


def _state(stuck: _Stuck, **changes: Any) -> None:
    """Change states by a compare-and-set on what was judged. Raises Conflict."""
    state_set(stuck.instance.pk, vm_in={stuck.instance.vm_state}, task_in={stuck.task}, **changes)


def _fault(stuck: _Stuck) -> None:
    instance = stuck.instance
    fault_record(instance_id=instance.pk, message=stuck.message, step=stuck.step, host=instance.host)
    open_actions_failed(instance)
    actions_fail(instance_id=instance.pk, message=stuck.message)


def _record(stuck: _Stuck, *, is_restart: bool) -> None:
    heal_record(
        kind=LOST_TASK if is_restart else OVERDUE_TASK,
        subject=stuck.instance.pk,
        found=stuck.message,
        done=f"{stuck.proposed_heal.value}: {TASK_RULES[stuck.task].why}",
        evidence=_evidence(stuck),
    )


def _evidence(stuck: _Stuck) -> dict[str, Any]:
    instance, last = stuck.instance, stuck.last
    work = last and {
        "work": str(last.pk),
        "kind": last.kind,
        "state": last.state,
        "step": last.step,
        "attempt": last.attempt,
        "error": str(last.outcome.get("error", ""))[:500],
    }
    return {
        "vm_state": instance.vm_state,
        "task_state": stuck.task.value,
        "host": instance.host,
        "generation": instance.generation,
        "since": stuck.since.isoformat(),
        "stood_s": round(stuck.stood_s, 1),
        "deadline_s": TASK_RULES[stuck.task].deadline_s,
        "heal": stuck.proposed_heal.value,
        "last_work": work,
    }
