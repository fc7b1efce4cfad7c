"""Instances in ERROR, put together by what went wrong, and those whose guest crashed or stands still by itself."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from computeagent.protocol.power import PowerState, StateReason
from controlplane.identity.domain import Caller
from scheduling.decisions.selectors.main_reasons import MainReason, main_reasons
from servers.instances.selectors.instances import latest_faults
from servers.models import Instance, InstanceFault
from servers.states import TaskState, VmState

TRAIT = "trait:"
MAX_LOOKED_AT = 300
"""Of the newest in ERROR: whoever has more has the same few reasons many times."""


@dataclass(frozen=True, slots=True)
class FailedInstance:
    """One of a group."""

    id: UUID
    name: str
    project_id: UUID


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Instances that failed alike: no host by this `reason`, or this `message` in this `step`, with `details`
    for operators. `traits` are those that
    their flavor asks for; `hosts` are where it happened; `decision_id` and `at` are the newest one's.
    """

    reason: MainReason | None
    message: str
    details: str
    step: str
    flavor: str
    traits: tuple[str, ...]
    instances: tuple[FailedInstance, ...]
    hosts: tuple[str, ...]
    decision_id: UUID | None
    at: datetime
    was_built: bool


def failure_groups(*, caller: Caller) -> list[FailureGroup]:
    """Of the newest MAX_LOOKED_AT in ERROR, the largest group first. Five queries."""
    rows = list(
        _mine(caller)
        .filter(vm_state=VmState.ERROR)
        .order_by("-created_at")
        .only("id", "name", "project_id", "decision_id", "flavor", "created_at", "launched_at")[:MAX_LOOKED_AT]
    )
    faults = latest_faults([one.pk for one in rows])
    reasons = main_reasons({one.decision_id for one in rows if one.decision_id})
    groups: defaultdict[tuple[str, ...], list[Instance]] = defaultdict(list)
    for one in rows:
        groups[_key(one, faults.get(one.pk), reasons)].append(one)
    made = [_group(alike, faults, reasons) for alike in groups.values()]
    return sorted(made, key=lambda group: -len(group.instances))


def crashed(*, caller: Caller) -> QuerySet[Instance]:
    """Those that are off since their guest crashed, which nobody has said to have seen; the last crash first."""
    # By the power state first, which an index leads to: many are stopped, few have crashed.
    rows = _mine(caller).filter(power_state=PowerState.CRASHED, task_state=TaskState.NONE, crash_is_seen=False)
    return rows.exclude(vm_state=VmState.ERROR).order_by("-updated_at", "id")


def standing_still(*, caller: Caller) -> QuerySet[Instance]:
    """Those whose guest stands still by itself, for it hangs or a disk of it failed; the last first."""
    rows = _mine(caller).filter(power_state=PowerState.PAUSED, task_state=TaskState.NONE)
    reasons = [StateReason.WATCHDOG, StateReason.IO_ERROR]
    return rows.filter(power_reason__in=reasons).exclude(vm_state=VmState.ERROR).order_by("-updated_at", "id")


def in_error(*, caller: Caller) -> QuerySet[Instance]:
    """All of them, in no order."""
    return _mine(caller).filter(vm_state=VmState.ERROR)


def _mine(caller: Caller) -> QuerySet[Instance]:
    rows = Instance.objects.filter(deleted_at__isnull=True)
    return rows if caller.sees_all else rows.filter(project_id=caller.project_id)


def _key(one: Instance, fault: InstanceFault | None, reasons: Mapping[UUID, MainReason]) -> tuple[str, ...]:
    reason = _reason_of(one, fault, reasons)
    if reason is not None:
        return "no host", reason.reason.value, str(one.flavor.get("name", ""))
    return "fault", "" if fault is None else fault.step, "" if fault is None else fault.message


def _reason_of(one: Instance, fault: InstanceFault | None, reasons: Mapping[UUID, MainReason]) -> MainReason | None:
    """Why no host was found, where that is what went wrong last: a build that failed on a host had one."""
    if one.decision_id is None or (fault is not None and fault.host):
        return None
    return reasons.get(one.decision_id)


def _group(
    alike: Sequence[Instance], faults: Mapping[UUID, InstanceFault], reasons: Mapping[UUID, MainReason]
) -> FailureGroup:
    newest = alike[0]
    fault = faults.get(newest.pk)
    specs = newest.flavor.get("extra_specs", {})
    hosts = {found.host for one in alike if (found := faults.get(one.pk)) is not None and found.host}
    return FailureGroup(
        reason=_reason_of(newest, fault, reasons),
        message="" if fault is None else fault.message,
        details="" if fault is None else fault.details,
        step="" if fault is None else fault.step,
        flavor=str(newest.flavor.get("name", "")),
        traits=tuple(sorted(key.removeprefix(TRAIT) for key, value in specs.items() if _is_required(key, value))),
        instances=tuple(FailedInstance(one.pk, one.name, one.project_id) for one in alike),
        hosts=tuple(sorted(hosts)),
        decision_id=newest.decision_id,
        at=newest.created_at if fault is None else fault.created_at,
        was_built=newest.launched_at is not None,
    )


def _is_required(key: str, value: str) -> bool:
    return key.startswith(TRAIT) and value == "required"
