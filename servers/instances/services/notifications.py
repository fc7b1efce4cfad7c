"""This module emits what happens to instances into the outbox, in the transaction in which it happens, as Nova's
events.

Every function here costs nothing, no statement either, where nobody wants its event. An event is read from the rows
after the change, so call these last. `servers.instances.domain.notification_payload` has the payloads.
"""

import uuid
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum

from django.db import transaction
from django.utils import timezone

from controlplane.identity.domain import Caller
from controlplane.infra.request_id import current_request_id
from controlplane.notifications.models import Priority
from controlplane.notifications.outbox import events_wanted, events_write
from controlplane.notifications.serializer import Event, publisher
from scheduling.domain.notification_payload import Payload, request_spec_payload
from scheduling.policies.selectors.policies import attempts_allowed
from servers.instances.actions.rule import ActionRule
from servers.instances.actions.table import ACTIONS
from servers.instances.domain.notification_payload import (
    FaultFacts,
    States,
    action_payload,
    create_payload,
    task_failure_payload,
    update_payload,
)
from servers.instances.selectors.notification_facts import instance_notification_facts
from servers.instances.selectors.scheduling_facts import schedule_request
from servers.models import Instance, RequestSpec

API, COMPUTE, CONDUCTOR = (f"nova-{service}" for service in ("api", "compute", "conductor"))
UPDATE = "instance.update"
BUILD_FAILED = "compute_task.build_instances.error"


class Phase(StrEnum):
    """The phase of an action at which the event is emitted."""

    START = "start"
    END = "end"
    ERROR = "error"


def instance_event_types() -> frozenset[str]:
    """All that are emitted of instances: of what has no phases, or is done at once, `instance.<verb>` alone."""
    rules = [rule for rule in ACTIONS.values() if rule.notification]
    phases = {f"instance.{rule.notification}.{phase.value}" for rule in rules if rule.work for phase in Phase}
    return frozenset({UPDATE, BUILD_FAILED, *phases, *(f"instance.{rule.notification}" for rule in rules)})


def emit_instance_action(
    verb: str,
    phase: Phase,
    instance_ids: Collection[uuid.UUID],
    *,
    problem: str = "",
    step: str = "",
    binary: str = COMPUTE,
) -> None:
    """Emit `instance.<verb>.<phase>` for each, in one statement more than reading them.

    `problem` and `step` say what failed. `verb` is Nova's: see `ActionRule.notification`.
    """
    event_type = f"instance.{verb}.{phase.value}"
    if instance_ids and events_wanted((event_type,)):
        rows = list(Instance.objects.filter(pk__in=instance_ids).order_by("launch_index", "id"))
        _verb_write(event_type, rows, problem=problem, step=step, binary=binary)


def emit_action(rule: ActionRule, phase: Phase, instance_id: uuid.UUID, *, problem: str = "", step: str = "") -> None:
    """Emit the same for one instance, by the action's row in the table."""
    emit_instance_action(rule.notification, phase, [instance_id], problem=problem, step=step)


def emit_action_at_once(rule: ActionRule, instance_id: uuid.UUID, caller: Caller) -> None:
    """Emit `instance.<verb>` for an action that is over as soon as it is asked for."""
    event_type = f"instance.{rule.notification}"
    if events_wanted((event_type,)):
        _verb_write(event_type, list(Instance.objects.filter(pk=instance_id)), binary=API, caller=caller)


def emit_pending_deletion(instance: Instance, caller: Caller) -> None:
    """Emit both ends of a deletion before there was a row; `instance` is made of its build request."""
    names = [f"instance.delete.{phase.value}" for phase in (Phase.START, Phase.END)]
    for name in sorted(events_wanted(names), key=names.index):
        _verb_write(name, [instance], binary=API, caller=caller)


@contextmanager
def emit_state_changes(instance_ids: Collection[uuid.UUID]) -> Iterator[None]:
    """Wrap what changes states: `instance.update` is emitted for each whose vm_state or task_state differs after it.

    Where that event is wanted, the rows are locked before the change, so that the states reported as old are the old
    ones.
    """
    if not instance_ids or not events_wanted((UPDATE,)):
        yield
        return
    with transaction.atomic():
        rows = Instance.objects.select_for_update().filter(pk__in=instance_ids)
        before = {row.pk: _states(row) for row in rows}
        yield
        after = Instance.objects.filter(pk__in=before)
        _updates_write([(row, before[row.pk]) for row in after if _states(row) != before[row.pk]])


def emit_details_change(instance_id: uuid.UUID, caller: Caller, *, old_name: str | None) -> None:
    """Emit `instance.update` for a change of name, description, metadata or tags; `old_name` where it was renamed."""
    if not events_wanted((UPDATE,)):
        return
    now, rows = timezone.now(), list(Instance.objects.filter(pk=instance_id))
    events_write(
        [
            _event(
                UPDATE,
                row,
                update_payload(facts, before=_states(row), after=_states(row), now=now, old_name=old_name),
                API,
            )
            for row, facts in instance_notification_facts(rows, caller=caller)
        ]
    )


def emit_initial_states(instances: Sequence[Instance], *, before: States | None = None) -> None:
    """Emit `instance.update` for rows just made: from `before`, or from nothing, to the states that they have."""
    if instances and events_wanted((UPDATE,)):
        rows = Instance.objects.filter(pk__in=[one.pk for one in instances])
        _updates_write([(row, before or States(None, None)) for row in rows])


def emit_return_to_pending(instance: Instance, *, before: States) -> None:
    """Emit `instance.update` for an instance that is a build request again, from which `instance` is made."""
    if events_wanted((UPDATE,)):
        _updates_write([(instance, before)])


def emit_build_failures(instance_ids: Sequence[uuid.UUID], *, exception: str, message: str) -> None:
    """Emit `compute_task.build_instances.error` for each: the conductor gave up finding a host for it."""
    if not instance_ids or not events_wanted((BUILD_FAILED,)):
        return
    fault = FaultFacts(exception, message, module="servers.conductor.build")
    spec, now = RequestSpec.objects.filter(instance_uuid__in=instance_ids).first(), timezone.now()
    asked = None
    if spec is not None:
        request = schedule_request(spec, instance_ids, current_request_id(), attempts=attempts_allowed())
        asked = request_spec_payload(request)
    events_write(
        [
            Event(
                event_type=BUILD_FAILED,
                publisher_id=publisher(CONDUCTOR),
                payload=task_failure_payload(str(instance_id), asked, fault),
                happened_at=now,
                priority=Priority.ERROR,
                project_id=None if spec is None else spec.project_id,
            )
            for instance_id in instance_ids
        ]
    )


def _verb_write(
    event_type: str,
    rows: Sequence[Instance],
    *,
    problem: str = "",
    step: str = "",
    binary: str,
    caller: Caller | None = None,
) -> None:
    fault = FaultFacts(step, problem) if problem else None
    payload = create_payload if event_type.startswith("instance.create.") else action_payload
    priority = Priority.ERROR if problem else Priority.INFO
    events_write(
        [
            _event(event_type, row, payload(facts, fault), binary, priority)
            for row, facts in instance_notification_facts(rows, caller=caller)
        ]
    )


def _updates_write(changes: Sequence[tuple[Instance, States]]) -> None:
    before, now = {row.pk: states for row, states in changes}, timezone.now()
    events_write(
        [
            _event(
                UPDATE,
                row,
                update_payload(facts, before=before[row.pk], after=_states(row), now=now),
                COMPUTE if row.host else CONDUCTOR,
            )
            for row, facts in instance_notification_facts([row for row, _ in changes])
        ]
    )


def _event(event_type: str, row: Instance, payload: Payload, binary: str, priority: Priority = Priority.INFO) -> Event:
    """The publisher of what a host does to its guest is that host, whoever writes the event."""
    is_of_host = binary == COMPUTE and bool(row.host)
    return Event(
        event_type=event_type,
        publisher_id=f"{binary}:{row.host}" if is_of_host else publisher(binary),
        payload=payload,
        happened_at=timezone.now(),
        priority=priority,
        project_id=row.project_id,
    )


def _states(row: Instance) -> States:
    return States(row.vm_state, row.task_state or None)
