"""This module heals drift: when an operator asks, or by itself once the drift has lasted. Each heal is recorded."""

import logging
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from controlplane.audit_log.recording.audited import audited
from controlplane.infra.db import db_now
from controlplane.kernel.errors import Conflict, KilonovaError, NotFound
from controlplane.kernel.texts import phrase as _
from controlplane.work.heals import heal_record
from controlplane.work.models import Work
from controlplane.work.models.work import OPEN_STATES
from controlplane.work.work import CONDUCTOR_QUEUE, NewWork, Package, WorkLease, work_create, work_finish
from scheduling.fleet.services.inventory_drift import inventory_restore
from servers.conf import server_options
from servers.instances.work_kinds import DRIFT_CHECK
from servers.models import DriftCheck, DriftSighting, Instance, OrphanGuest, PoolSighting
from servers.networks.domain.names import OvnSubject
from servers.networks.services.ovn_changes import ovn_change_retry, ovn_wake
from servers.repair.domain.drift import AUTOMATIC, Drift, DriftKind
from servers.repair.domain.drift_shares import DriftShares, left_prefix
from servers.repair.domain.placement_findings import HealState
from servers.repair.selectors.drift import drift_find, drift_get, drift_of, grace_s
from servers.repair.selectors.volume_drift import attachments_ownerless, attachments_stuck
from servers.repair.services.drift_sources import (
    ALLOCATION_KINDS,
    GUEST_VOLUME_KINDS,
    NETWORK_KINDS,
    OVN_KINDS,
    STORAGE_KINDS,
    finding_of,
)
from servers.repair.services.network_heal import host_wake, port_bind_anew, port_free
from servers.repair.services.placement_heal import finding_heal
from servers.repair.services.power_sync import power_restore
from servers.repair.services.task_heal import task_heal
from servers.volumes.services.attachments import attachment_end_unsaid, attachments_release

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
        DriftKind.SAFE_MODE,
        DriftKind.UNKNOWN_HOST,
    }
)
PLACEMENT_KINDS = ALLOCATION_KINDS | {DriftKind.INVENTORY}
HEALED_ELSEWHERE = frozenset({DriftKind.ORPHAN_GUEST, DriftKind.VOLUME_ORPHAN, DriftKind.LOST_TASK})
"""They are listed with the guests, and healed by the agents and by the rules of tasks without being asked for."""
GUESTS, ALLOCATIONS = "guests", "allocations"
LOOKS: dict[str, frozenset[DriftKind]] = {
    GUESTS: GUEST_KINDS | HEALED_ELSEWHERE | NETWORK_KINDS | OVN_KINDS | STORAGE_KINDS | GUEST_VOLUME_KINDS,
    ALLOCATIONS: PLACEMENT_KINDS,
}
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


@audited("drift.heal", by="key", is_apart=True)
def drift_heal(*, key: str, actor: str) -> DriftHealed:
    """Heal this drift for `actor` (a user's name), if it is still there.

    Raises NotFound when it is not, Conflict with the reason when it cannot be healed from here.
    """
    drift = drift_get(key=key)
    if drift.obstacle or not drift.heal:
        raise Conflict(drift.obstacle or _("Only a person can decide what is right here."))
    if drift.asked_by:
        raise Conflict(_("{asked_by} asked for it already.", asked_by=drift.asked_by))
    is_done = _HEALERS[drift.kind](drift, actor)
    rows = DriftSighting.objects.filter(key=key)
    if is_done and drift.kind in (DriftKind.ORPHAN_GUEST, DriftKind.VOLUME_ORPHAN):
        rows.update(asked_by=actor)
    else:
        rows.delete()  # what is not right after all is found again by the next check
    log.warning("drift %s is put right for %s: %s", drift.key, actor, drift.found)
    return DriftHealed(drift, is_done, drift.heal if is_done else _("It went by itself; nothing was done."))


def guest_drift_round() -> int:
    """One round over instances and their guests. Returns how many drifts were healed."""
    return _round(GUESTS)


def placement_drift_round() -> int:
    """One round over allocations and inventories, which reads whole tables. Returns how many drifts were healed."""
    return _round(ALLOCATIONS)


@audited("drift.check")
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
    as there are instances. At DRIFT_MAX_FINDINGS the check stops; of one host DRIFT_MAX_FINDINGS_OF_HOST are listed,
    and one finding says how many more there are. `between` is called after each part. Of two checks at once the later
    one counts; a row that only the earlier one found comes back with the next.
    """
    kinds, began_at = LOOKS[name], db_now()
    limit, shares = server_options().drift_max_findings, DriftShares(server_options().drift_max_findings_of_host)
    walk, counts = islice(filter(shares.takes, drift_find(kinds)), limit + 1), Counter[str]()
    is_cut = False
    while part := list(islice(walk, TOGETHER)):
        room = limit - counts.total()
        is_cut, part = len(part) > room, part[:room]
        _sightings_write(part, began_at)
        counts.update(one.kind.value for one in part)
        between()
    _sightings_write(list(shares.left(name)), began_at)
    _gone_remove(kinds, began_at, is_cut=is_cut)
    # No state hangs on them, and nobody tries to put them right.
    DriftSighting.objects.filter(key__startswith=left_prefix(name), seen_at__lt=began_at).delete()
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


def _gone_remove(kinds: frozenset[DriftKind], began_at: datetime, *, is_cut: bool) -> None:
    """Remove the rows of what this check did not find. A heal that was tried lately and of which nobody knows yet that
    it helped is listed no more, and its row stays: else what does not help would be tried in every round. Nobody knows
    while work on its instance is open or ended during the check, nor after a check that was cut.
    """
    gone = DriftSighting.objects.filter(Q(seen_at__lt=began_at) | Q(seen_at__isnull=True), kind__in=kinds)
    tried_lately = Q(tried_at__gte=began_at - timedelta(seconds=TRY_AGAIN_S))
    at_work = Work.objects.filter(subject=OuterRef("instance_id")).filter(
        Q(state__in=OPEN_STATES) | Q(finished_at__gte=began_at)
    )
    undecided = gone.filter(tried_lately) if is_cut else gone.filter(tried_lately, Exists(at_work))
    undecided.update(seen_at=None)
    gone.exclude(pk__in=list(undecided.values_list("pk", flat=True))).delete()


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


def _host_networks(drift: Drift, asked_by: str) -> bool:
    del asked_by  # a wake-up changes nothing that a record would have to explain
    return host_wake(host=drift.host)


def _ovn(drift: Drift, asked_by: str) -> bool:
    del asked_by  # trying again changes nothing that a record would have to explain
    _, subject, *subject_id = drift.key.split(":")
    if drift.kind is DriftKind.OVN_BEHIND:
        return ovn_wake()
    return ovn_change_retry(subject=OvnSubject(subject), subject_id=uuid.UUID(subject_id[0]))


def _port(drift: Drift, asked_by: str) -> bool:
    port_id = uuid.UUID(drift.key.split(":")[1])
    heal = port_free if drift.kind is DriftKind.PORT_OWNERLESS else port_bind_anew
    with transaction.atomic():
        is_done = heal(port_id=port_id)
        if is_done:
            _record(drift, asked_by)
    return is_done


def _orphan_volume(drift: Drift, asked_by: str) -> bool:
    """Let a host of the pool remove it. Invariant: no volume's bytes are ever touched from here."""
    rows = PoolSighting.objects.filter(pk=int(drift.key.split(":")[1]), is_missing=False, asked_by="")
    return bool(rows.filter(not_removed_because="").update(asked_by=asked_by))


def _attachment(drift: Drift, asked_by: str) -> bool:
    """Looked at again in the transaction of what is done."""
    with transaction.atomic():
        row = attachments_ownerless().select_for_update(of=("self",)).filter(pk=drift.key.split(":")[1]).first()
        if row is None:
            return False
        attachments_release(instance_uuid=row.instance_uuid)
        _record(drift, asked_by)
    return True


def _stuck_attachment(drift: Drift, asked_by: str) -> bool:
    """Looked at again under the instance's lock: whoever begins work on its volumes takes that first."""
    with transaction.atomic():
        instance = Instance.objects.select_for_update().filter(pk=_instance(drift)).first()
        row = attachments_stuck().select_for_update(of=("self",)).filter(pk=drift.key.split(":")[1]).first()
        if instance is None or row is None:
            return False
        attachment_end_unsaid(row, instance.host)
        _record(drift, asked_by)
    return True


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
        raise NotFound(_("The drift is about no instance."))
    return drift.instance_id


_HEALERS: dict[DriftKind, Callable[[Drift, str], bool]] = {
    DriftKind.ORPHAN_GUEST: _orphan_guest,
    DriftKind.GUEST_MISSING: _guest,
    DriftKind.GUEST_RUNS: _guest,
    DriftKind.GUEST_OFF: _guest,
    DriftKind.LOST_TASK: _task,
    DriftKind.INVENTORY: _inventory,
    DriftKind.NETWORKS_BEHIND: _host_networks,
    DriftKind.OVN_BEHIND: _ovn,
    DriftKind.OVN_REFUSED: _ovn,
    DriftKind.PORT_ELSEWHERE: _port,
    DriftKind.PORT_OWNERLESS: _port,
    DriftKind.VOLUME_ORPHAN: _orphan_volume,
    DriftKind.ATTACHMENT_OWNERLESS: _attachment,
    DriftKind.ATTACHMENT_STUCK: _stuck_attachment,
    **dict.fromkeys(ALLOCATION_KINDS, _placement),
}
