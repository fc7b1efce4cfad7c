"""Putting drift right: asked for by an operator, or by itself once it has lasted. Each heal is in the book."""

import logging
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction

from controlplane.infra.db import db_now
from controlplane.kernel.errors import Conflict, KilonovaError, NotFound
from controlplane.work.heals import heal_record
from scheduling.fleet.services.inventory_drift import inventory_restore
from servers.models import DriftSighting, Instance, StrangeGuest
from servers.repair.domain.drift import AUTOMATIC, Drift, DriftKind
from servers.repair.domain.placement_findings import HealState
from servers.repair.selectors.drift import drift_get, drift_list, grace_s
from servers.repair.services.drift_sources import ALLOCATION_KINDS, finding_of
from servers.repair.services.placement_heal import finding_heal
from servers.repair.services.power_sync import power_restore
from servers.repair.services.task_heal import task_heal

log = logging.getLogger(__name__)
TRY_AGAIN_S = 3600.0
GUEST_KINDS = frozenset({DriftKind.GUEST_MISSING, DriftKind.GUEST_RUNS, DriftKind.GUEST_OFF, DriftKind.UNKNOWN_HOST})
PLACEMENT_KINDS = ALLOCATION_KINDS | {DriftKind.INVENTORY}


@dataclass(frozen=True, slots=True)
class DriftHealed:
    """What became of one drift. `is_done` False: it was not there any more when it was looked at under its lock."""

    drift: Drift
    is_done: bool
    message: str


def drift_heal(*, key: str, actor: str) -> DriftHealed:
    """Put this drift right for `actor` (a user's name), if it is still there.

    Raises NotFound when it is not, Conflict with the reason when it cannot be put right from here.
    """
    drift = drift_get(key=key)
    if drift.obstacle or not drift.heal:
        raise Conflict(drift.obstacle or "Only a person can decide what is right here.")
    if drift.asked_by:
        raise Conflict(f"{drift.asked_by} asked for it already.")
    is_done = _HEALERS[drift.kind](drift, actor)
    log.warning("drift %s is put right for %s: %s", drift.key, actor, drift.found)
    return DriftHealed(drift, is_done, drift.heal if is_done else "It went by itself; nothing was done.")


def guest_drift_round() -> int:
    """One round over instances and their guests. Returns how many were put right."""
    return _round(GUEST_KINDS)


def placement_drift_round() -> int:
    """One round over allocations and inventories, which reads whole tables. Returns how many were put right."""
    return _round(PLACEMENT_KINDS)


def _round(kinds: Collection[DriftKind]) -> int:
    found = drift_list(kinds=kinds)
    _sightings_write(kinds, found)
    return sum(_heal_by_itself(one) for one in _due(found))


def _sightings_write(kinds: Collection[DriftKind], found: list[Drift]) -> None:
    """Book what is new, forget what is gone; what was tried lately is kept, so that it is not tried every round."""
    keys = {one.key: one.kind for one in found}
    rows = DriftSighting.objects.filter(kind__in=kinds)
    known = set(rows.values_list("key", flat=True))
    now = db_now()
    DriftSighting.objects.bulk_create(
        [DriftSighting(key=key, kind=kind, first_seen_at=now) for key, kind in keys.items() if key not in known],
        ignore_conflicts=True,
    )
    gone = rows.exclude(key__in=keys).exclude(tried_at__gte=now - timedelta(seconds=TRY_AGAIN_S))
    gone.delete()


def _due(found: list[Drift]) -> list[Drift]:
    """Those that have lasted, are not left to a person, and were not tried in the last hour."""
    now = db_now()
    rows = DriftSighting.objects.filter(key__in=[one.key for one in found])
    seen = {row.key: row for row in rows}
    return [
        one
        for one in found
        if one.kind in AUTOMATIC
        and one.can_heal
        and (row := seen.get(one.key)) is not None
        and row.first_seen_at <= now - timedelta(seconds=grace_s(one.kind))
        and (row.tried_at is None or row.tried_at < now - timedelta(seconds=TRY_AGAIN_S))
    ]


def _heal_by_itself(drift: Drift) -> bool:
    """Noted before it is tried: whatever it ends in, it is not tried again for an hour. Failures stop no others."""
    rows = DriftSighting.objects.filter(key=drift.key)
    rows.update(tried_at=db_now(), refusal="")
    try:
        return _HEALERS[drift.kind](drift, "")
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


def _strange_guest(drift: Drift, asked_by: str) -> bool:
    """The agent removes it: no guest is ever touched from here."""
    _, host, guest_uuid = drift.key.split(":", 2)
    rows = StrangeGuest.objects.filter(host=host, guest_uuid=guest_uuid, kept_because="", asked_by="")
    return bool(rows.update(asked_by=asked_by))


def _placement(drift: Drift, asked_by: str) -> bool:
    """Looked for anew, since a finding carries what was compared; healed and booked in one transaction."""
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
    DriftKind.STRANGE_GUEST: _strange_guest,
    DriftKind.GUEST_MISSING: _guest,
    DriftKind.GUEST_RUNS: _guest,
    DriftKind.GUEST_OFF: _guest,
    DriftKind.LOST_TASK: _task,
    DriftKind.INVENTORY: _inventory,
    **dict.fromkeys(ALLOCATION_KINDS, _placement),
}
