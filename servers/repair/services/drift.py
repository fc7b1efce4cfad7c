"""This module heals drift: when an operator asks, or by itself once the drift has lasted. Each heal is recorded."""

import logging
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from django.db import transaction
from django.db.models import Q

from controlplane.infra.db import db_now
from controlplane.kernel.errors import Conflict, KilonovaError, NotFound
from controlplane.work.heals import heal_record
from controlplane.work.models import Work
from controlplane.work.work import CONDUCTOR_QUEUE, NewWork, Package, WorkLease, work_create, work_finish
from scheduling.fleet.services.inventory_drift import inventory_restore
from servers.conf import server_options
from servers.instances.work_kinds import DRIFT_CHECK
from servers.models import DriftCheck, DriftSighting, Instance, OrphanGuest
from servers.repair.domain.drift import AUTOMATIC, Drift, DriftKind
from servers.repair.domain.placement_findings import HealState
from servers.repair.selectors.drift import drift_find, drift_get, drift_of, grace_s
from servers.repair.services.drift_sources import ALLOCATION_KINDS, finding_of
from servers.repair.services.placement_heal import finding_heal
from servers.repair.services.power_sync import power_restore
from servers.repair.services.task_heal import task_heal

log = logging.getLogger(__name__)
TRY_AGAIN_S = 3600.0
SHOWN = ("subject", "found", "heal", "obstacle", "instance_id", "host", "heals_at", "asked_by")
"""Fields that a row has in common with the drift."""
GUEST_KINDS = frozenset(
    {
        DriftKind.GUEST_MISSING,
        DriftKind.GUEST_RUNS,
        DriftKind.GUEST_OFF,
        DriftKind.GUEST_CRASHED,
        DriftKind.UNKNOWN_HOST,
    }
)
PLACEMENT_KINDS = ALLOCATION_KINDS | {DriftKind.INVENTORY}
HEALED_ELSEWHERE = frozenset({DriftKind.ORPHAN_GUEST, DriftKind.LOST_TASK})
"""They are listed with the guests, and healed by the agents and by the rules of tasks without being asked for."""
GUESTS, ALLOCATIONS = "guests", "allocations"
LOOKS: dict[str, frozenset[DriftKind]] = {GUESTS: GUEST_KINDS | HEALED_ELSEWHERE, ALLOCATIONS: PLACEMENT_KINDS}
"""The kinds that are checked together, by name."""
TOGETHER = 500
MAX_HEALS = 200
"""The maximum in one round; what is left is due in the next."""
CHECK_SUBJECT = uuid.UUID("d21f7000-0000-4000-8000-000000000001")
"""All checks that are asked for have the same subject, so that two at once are one."""
CHECK_DEADLINE_S = 900.0


@dataclass(frozen=True, slots=True)
class DriftHealed:
    """The outcome for one drift. `is_done` False: under its lock it was not there any more."""

    drift: Drift
    is_done: bool
    message: str


def drift_heal(*, key: str, actor: str) -> DriftHealed:
    """Heal this drift for `actor` (a user's name), if it is still there.

    Raises NotFound when it is not, Conflict with the reason when it cannot be healed from here.
    """
    drift = drift_get(key=key)
    if drift.obstacle or not drift.heal:
        raise Conflict(drift.obstacle or "Only a person can decide what is right here.")
    if drift.asked_by:
        raise Conflict(f"{drift.asked_by} asked for it already.")
    is_done = _HEALERS[drift.kind](drift, actor)
    rows = DriftSighting.objects.filter(key=key)
    if is_done and drift.kind is DriftKind.ORPHAN_GUEST:
        rows.update(asked_by=actor)
    else:
        rows.delete()  # what is not right after all is found again by the next check
    log.warning("drift %s is put right for %s: %s", drift.key, actor, drift.found)
    return DriftHealed(drift, is_done, drift.heal if is_done else "It went by itself; nothing was done.")


def guest_drift_round() -> int:
    """One round over instances and their guests. Returns how many drifts were healed."""
    return _round(GUESTS)


def placement_drift_round() -> int:
    """One round over allocations and inventories, which reads whole tables. Returns how many drifts were healed."""
    return _round(ALLOCATIONS)


def drift_check_request() -> bool:
    """Ask for a check of everything now, as work. False when one is asked for already and has not ended."""
    wanted = NewWork(CONDUCTOR_QUEUE, DRIFT_CHECK, CHECK_SUBJECT, CHECK_DEADLINE_S, max_attempts=3)
    try:
        work_create(wanted)
    except Conflict:
        return False
    return True


def drift_check(_work: Work, lease: WorkLease) -> None:
    """The work of kind `drift_check`: check everything and heal nothing. After a crash it begins again."""
    package = Package([lease])
    counts: dict[str, int] = {}
    for name in LOOKS:
        counts |= drift_check_run(name, between=package.renew).counts
    work_finish(lease=lease, outcome={"found": sum(counts.values())})


def drift_check_overdue(work: Work, reason: str) -> None:
    """Nothing follows from it: the periodic checks go on."""
    log.warning("the look for drift that was asked for did not end: %s (%s)", reason, work.pk)


def drift_check_run(name: str, *, between: Callable[[], object] = lambda: None) -> DriftCheck:
    """Check the kinds of one group and store what is found in rows; rows of what is gone are removed. Nothing is
    healed.

    Findings are written TOGETHER at a time and counted, never all held in memory: a restored database may have as many
    as there are instances. At DRIFT_MAX_FINDINGS the check stops. `between` is called after each part. Of two checks at
    once the later one counts; a row that only the earlier one found comes back with the next.
    """
    kinds, began_at = LOOKS[name], db_now()
    limit = server_options().drift_max_findings
    walk, counts = islice(drift_find(kinds), limit + 1), Counter[str]()
    is_cut = False
    while part := list(islice(walk, TOGETHER)):
        room = limit - counts.total()
        is_cut, part = len(part) > room, part[:room]
        _sightings_write(part, began_at)
        counts.update(one.kind.value for one in part)
        between()
    tried_lately = Q(tried_at__gte=began_at - timedelta(seconds=TRY_AGAIN_S))
    gone = DriftSighting.objects.filter(Q(seen_at__lt=began_at) | Q(seen_at__isnull=True), kind__in=kinds)
    gone.filter(tried_lately).update(
        seen_at=None
    )  # not removed, so that it is not tried every round, but listed no more
    gone.exclude(tried_lately).delete()
    look = DriftCheck(name=name, began_at=began_at, finished_at=db_now(), counts=dict(counts), is_cut=is_cut)
    look.save()
    return look


def _round(name: str) -> int:
    look = drift_check_run(name)
    return sum(_heal_by_itself(one) for one in _due(LOOKS[name] - HEALED_ELSEWHERE, look.began_at))


def _sightings_write(found: Sequence[Drift], began_at: datetime) -> None:
    """Write findings in one statement. Since when a drift lasts, and the outcome of trying to heal it, stay as they
    are.
    """
    DriftSighting.objects.bulk_create(
        [
            DriftSighting(
                **{field: getattr(one, field) for field in SHOWN},
                key=one.key,
                kind=one.kind.value,
                evidence=dict(one.evidence),
                first_seen_at=one.since or began_at,
                seen_at=began_at,
            )
            for one in {one.key: one for one in found}.values()
        ],
        update_conflicts=True,
        unique_fields=["key"],
        update_fields=[*SHOWN, "evidence", "seen_at"],
    )


def _due(kinds: frozenset[DriftKind], seen_at: datetime) -> list[Drift]:
    """The drifts that have lasted, are not left to a person, and were not tried in the last hour."""
    now = db_now()
    untried = Q(tried_at__isnull=True) | Q(tried_at__lt=now - timedelta(seconds=TRY_AGAIN_S))
    due: list[Drift] = []
    for kind in kinds & AUTOMATIC:
        rows = DriftSighting.objects.filter(untried, kind=kind.value, seen_at=seen_at, obstacle="", asked_by="")
        lasting = rows.filter(first_seen_at__lte=now - timedelta(seconds=grace_s(kind))).exclude(heal="")
        due += [drift_of(row) for row in lasting.order_by("first_seen_at", "key")[: MAX_HEALS - len(due)]]
    return due


def _heal_by_itself(drift: Drift) -> bool:
    """Heal a drift and record any failure, which stops no others. It is noted as tried first: whatever the outcome, it
    is not tried again for an hour.
    """
    rows = DriftSighting.objects.filter(key=drift.key)
    rows.update(tried_at=db_now(), refusal="")
    try:
        is_done = _HEALERS[drift.kind](drift, "")
        rows.update(seen_at=None)  # what is not right after all is listed again by the next check
        return is_done
    except KilonovaError as error:
        rows.update(refusal=error.message)
        log.warning("drift %s cannot be put right: %s", drift.key, error.message)
    except Exception as error:
        rows.update(refusal=f"{type(error).__name__}: {error}")
        log.exception("drift %s could not be put right", drift.key)
    return False


def _guest(drift: Drift, asked_by: str) -> bool:
    return power_restore(instance_id=_instance(drift), asked_by=asked_by)


def _task(drift: Drift, asked_by: str) -> bool:
    del asked_by  # the fault and the heal are the rule's, whoever asked
    row = Instance.objects.filter(pk=_instance(drift), deleted_at__isnull=True).first()
    return row is not None and task_heal(row.pk, row.generation, is_restart=False)


def _orphan_guest(drift: Drift, asked_by: str) -> bool:
    """Let the agent remove the guest. Invariant: no guest is ever touched from here."""
    _, host, guest_uuid = drift.key.split(":", 2)
    rows = OrphanGuest.objects.filter(host=host, guest_uuid=guest_uuid, not_removed_because="", asked_by="")
    return bool(rows.update(asked_by=asked_by))


def _placement(drift: Drift, asked_by: str) -> bool:
    """Heal a finding that is read anew, since it carries what was compared; the heal and its record are one
    transaction.
    """
    finding = finding_of(drift.key)
    if finding is None:
        return False
    with transaction.atomic():
        result = finding_heal(finding)
        if result.state is HealState.IMPOSSIBLE:
            raise Conflict(result.reason)
        if result.state is HealState.DONE:
            _record(drift, asked_by)
    return result.state is HealState.DONE


def _inventory(drift: Drift, asked_by: str) -> bool:
    with transaction.atomic():
        is_done = inventory_restore(node_id=uuid.UUID(drift.key.split(":")[1]))
        if is_done:
            _record(drift, asked_by)
    return is_done


def _record(drift: Drift, asked_by: str) -> None:
    heal_record(
        kind=drift.kind.value,
        subject=drift.instance_id or uuid.UUID(drift.key.split(":")[1]),
        found=drift.found,
        done=drift.heal,
        evidence={**drift.evidence, "asked_by": asked_by},
    )


def _instance(drift: Drift) -> uuid.UUID:
    if drift.instance_id is None:
        raise NotFound("The drift is about no instance.")
    return drift.instance_id


_HEALERS: dict[DriftKind, Callable[[Drift, str], bool]] = {
    DriftKind.ORPHAN_GUEST: _orphan_guest,
    DriftKind.GUEST_MISSING: _guest,
    DriftKind.GUEST_RUNS: _guest,
    DriftKind.GUEST_OFF: _guest,
    DriftKind.LOST_TASK: _task,
    DriftKind.INVENTORY: _inventory,
    **dict.fromkeys(ALLOCATION_KINDS, _placement),
}
