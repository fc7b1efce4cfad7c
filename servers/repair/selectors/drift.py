"""What is out of step between instances, allocations, guests and hosts. Only rows are read: no hypervisor is asked.

Checking reads whole tables (`drift_find`), so the reconciler does it, and stores what it found in rows, which pages and
the API read (`drift_rows`).

Agents report their guests into rows. Apps register here the sources of drift that their services can check
(`drift_source_register`); what the rows of this app show is read below.
"""

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Q, QuerySet

from computeagent.protocol.power import PowerState
from controlplane.infra.db import db_now, pages_by_key
from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import gettext_noop
from controlplane.kernel.texts import phrase as _
from controlplane.work.work import open_work_subjects
from scheduling.fleet.selectors.hosts import host_nodes
from scheduling.fleet.selectors.liveness import hosts_up
from servers.conf import server_options
from servers.instances.domain.task_rules import TASK_RULES, task_heal_for
from servers.models import DriftCheck, DriftSighting, Instance, OrphanGuest
from servers.repair.domain.drift import AUTOMATIC, GUEST_DRIFTS, Drift, DriftKind, drift_key
from servers.repair.domain.power_rules import POWER_RULES, power_heal
from servers.repair.selectors.stuck_tasks import instances_with_lost_task_everywhere
from servers.states import TaskState, VmState

DriftSource = Callable[[], Iterable[Drift]]
_SOURCES: dict[str, tuple[frozenset[DriftKind], DriftSource]] = {}
_GUEST_HEALS = {
    DriftKind.GUEST_OFF: gettext_noop("Set the instance to stopped, as its guest is."),
    DriftKind.GUEST_RUNS: gettext_noop("Stop the guest, as an action that its owner sees."),
    DriftKind.GUEST_MISSING: gettext_noop(
        "Define the guest anew from its disks and start it; one that runs is left alone."
    ),
}

_READ = ("id", "name", "host", "vm_state", "power_state", "generation")
"""Columns that a finding needs: instances are read by the thousand, with user data and images that would be much."""

CRASHED = _("Read its console log for the reason, then start the instance, delete it, or mark the crash as seen.")
DOWN = (
    "The agent of {host} is not heard of. It looks at its guests when it starts, and brings back those that should run."
)


def drift_source_register(name: str, *, kinds: Collection[DriftKind], source: DriftSource) -> None:
    """Let this be asked as well for these kinds. Called when the apps are ready; of one name the last counts."""
    _SOURCES[name] = (frozenset(kinds), source)


def drift_rows(
    *, kinds: Collection[DriftKind] | None = None, host: str = "", instance_id: uuid.UUID | None = None
) -> QuerySet[DriftSighting]:
    """The findings of the last checks, longest lasting first; only these kinds, this host, this instance when named."""
    rows = DriftSighting.objects.filter(seen_at__isnull=False).order_by("first_seen_at", "key")
    rows = rows if kinds is None else rows.filter(kind__in=[kind.value for kind in kinds])
    rows = rows.filter(host=host) if host else rows
    return rows.filter(instance_id=instance_id) if instance_id else rows


def drift_of(row: DriftSighting) -> Drift:
    """The drift that a row describes."""
    drift = Drift(
        key=row.key,
        kind=DriftKind(row.kind),
        subject=row.subject,
        found=row.found,
        evidence=row.evidence,
        heal=row.heal,
        obstacle=row.obstacle,
        instance_id=row.instance_id,
        host=row.host,
        heals_at=row.heals_at,
        asked_by=row.asked_by,
    )
    return _dated(drift, row)


def drift_checks() -> dict[str, DriftCheck]:
    """The last check of each group of kinds, by its name; one that never ran is missing. One query."""
    return {row.name: row for row in DriftCheck.objects.all()}


def drift_find(kinds: Collection[DriftKind]) -> Iterator[Drift]:
    """Everything of these kinds that is out of step now, one after the other: all of it may be more than fits."""
    return _found(frozenset(kinds))


def drift_list(
    *, kinds: Collection[DriftKind] | None = None, host: str = "", instance_id: uuid.UUID | None = None
) -> list[Drift]:
    """Everything out of step now, longest lasting first; only these kinds, this host, this instance when named.

    A constant number of queries for each kind. Rows change while it reads: what `since` is empty of was never seen
    before, and may be the shadow of a move.
    """
    found = _found(frozenset(DriftKind) if kinds is None else frozenset(kinds))
    shown = [one for one in found if host in ("", one.host) and instance_id in (None, one.instance_id)]
    # Since when it lasts is in the reconciler's record; an orphan guest has its own.
    rows = DriftSighting.objects.filter(key__in=[one.key for one in shown if one.since is None])
    sightings = {row.key: row for row in rows}
    dated = [_dated(one, sightings[one.key]) if one.key in sightings else one for one in shown]
    now = db_now()
    return sorted(dated, key=lambda one: (one.since or now, one.kind, one.key))


def drift_get(*, key: str) -> Drift:
    """One, as it was last seen. Raises NotFound when it is not there (any more)."""
    row = drift_rows().filter(key=key).first()
    if row is None:
        raise NotFound(_("There is no such drift any more: it was put right, or went by itself."))
    return drift_of(row)


def grace_s(kind: DriftKind) -> float:
    """Seconds that a drift of this kind must last before it is put right without being asked for."""
    options = server_options()
    if kind is DriftKind.VOLUME_ORPHAN:
        return options.orphan_volume_grace_s
    return options.orphan_guest_grace_s if kind is DriftKind.ORPHAN_GUEST else options.drift_grace_s


def _found(kinds: frozenset[DriftKind]) -> Iterator[Drift]:
    if DriftKind.ORPHAN_GUEST in kinds:
        yield from (_orphan_drifts(row) for page in pages_by_key(OrphanGuest.objects.all()) for row in page)
    if kinds & frozenset(GUEST_DRIFTS.values()):
        yield from (one for one in _guests() if one.kind in kinds)
    if DriftKind.GUEST_CRASHED in kinds:
        yield from _crashed()
    if DriftKind.LOST_TASK in kinds:
        yield from _lost_tasks()
    if DriftKind.UNKNOWN_HOST in kinds:
        yield from _unknown_hosts()
    if DriftKind.SAFE_MODE in kinds:
        yield from (_safe_mode(node) for node in host_nodes().exclude(safe_mode=""))
    for its_kinds, source in list(_SOURCES.values()):
        if kinds & its_kinds:
            yield from (one for one in source() if one.kind in kinds)


def _dated(one: Drift, row: DriftSighting) -> Drift:
    evidence: dict[str, Any] = dict(one.evidence)
    if row.tried_at is not None:
        evidence["tried_at"] = row.tried_at.isoformat()
    if row.refusal:
        evidence["refusal"] = row.refusal
    is_automatic = one.kind in AUTOMATIC and one.can_heal and row.tried_at is None and one.heals_at is None
    heals_at = row.first_seen_at + timedelta(seconds=grace_s(one.kind)) if is_automatic else one.heals_at
    return replace(one, since=row.first_seen_at, heals_at=heals_at, evidence=evidence)


def _orphan_drifts(row: OrphanGuest) -> Drift:
    grace = grace_s(DriftKind.ORPHAN_GUEST)
    goes_at = row.first_seen_at + timedelta(seconds=grace)
    name = f" ({row.name})" if row.name else ""
    obstacle = f"{row.not_removed_because}." if row.not_removed_because else ""
    return Drift(
        key=drift_key(DriftKind.ORPHAN_GUEST, row.host, row.guest_uuid),
        kind=DriftKind.ORPHAN_GUEST,
        subject=str(row.guest_uuid),
        found=_(
            "Host {host} has guest {guest_uuid}{name}, {power_state}, and no instance explains it.",
            host=row.host,
            guest_uuid=row.guest_uuid,
            name=name,
            power_state=row.power_state,
        ),
        evidence={
            "host": row.host,
            "name": row.name,
            "power_state": row.power_state,
            "last_seen_at": row.last_seen_at.isoformat(),
            "grace_s": grace,
            "released_at": row.released_at.isoformat() if row.released_at else None,
        },
        heal=gettext_noop("Let the host's agent remove the guest and its disks at its next look."),
        obstacle=obstacle,
        host=row.host,
        since=row.first_seen_at,
        heals_at=None if row.not_removed_because else goes_at,
        asked_by=row.asked_by,
        besides=row.more,
    )


def _guests() -> Iterator[Drift]:
    """Instances at rest whose guest is not what their state says."""
    pairs = (Q(vm_state=vm, power_state=power) for vm, power in POWER_RULES)
    rows = Instance.objects.filter(reduce(or_, pairs), deleted_at__isnull=True, task_state=TaskState.NONE)
    for page in pages_by_key(rows.exclude(host="").only(*_READ)):
        busy = open_work_subjects(subjects=[one.pk for one in page])
        up = hosts_up()
        for instance in page:
            if instance.pk not in busy:
                yield _guest(instance, is_up=instance.host in up)


def _guest(instance: Instance, *, is_up: bool) -> Drift:
    kind = GUEST_DRIFTS[power_heal(instance.vm_state, instance.power_state)]
    guest = (
        _("is not there")
        if kind is DriftKind.GUEST_MISSING
        else _("is {power_state}", power_state=instance.power_state)
    )
    return Drift(
        key=drift_key(kind, instance.pk),
        kind=kind,
        subject=instance.name,
        found=_(
            "Instance {instance} on {host} is {vm_state} and its guest {guest}.",
            instance=instance.name,
            host=instance.host,
            vm_state=instance.vm_state,
            guest=guest,
        ),
        evidence={
            "vm_state": instance.vm_state,
            "power_state": instance.power_state,
            "host": instance.host,
            "generation": instance.generation,
        },
        heal=_GUEST_HEALS[kind],
        obstacle="" if is_up or kind is DriftKind.GUEST_OFF else DOWN.format(host=instance.host),
        instance_id=instance.pk,
        host=instance.host,
    )


def _crashed() -> Iterator[Drift]:
    """Instances that were stopped because their guest crashed. One that is started again, or deleted, is none; nor is
    one whose crash somebody has seen.
    """
    rows = Instance.objects.filter(vm_state=VmState.STOPPED, power_state=PowerState.CRASHED, deleted_at__isnull=True)
    for page in pages_by_key(rows.filter(task_state=TaskState.NONE, crash_is_seen=False).only(*_READ)):
        for instance in page:
            yield Drift(
                key=drift_key(DriftKind.GUEST_CRASHED, instance.pk),
                kind=DriftKind.GUEST_CRASHED,
                subject=instance.name,
                found=_(
                    "The guest of instance {instance} crashed on {host}, and is off since.",
                    instance=instance.name,
                    host=instance.host,
                ),
                evidence={"vm_state": instance.vm_state, "power_state": instance.power_state, "host": instance.host},
                obstacle=CRASHED,
                instance_id=instance.pk,
                host=instance.host,
            )


def _lost_tasks() -> Iterator[Drift]:
    now = db_now()
    for instance in instances_with_lost_task_everywhere():
        yield _lost_task(instance, now)


def _lost_task(instance: Instance, now: datetime) -> Drift:
    task = TaskState(instance.task_state)
    rule = TASK_RULES[task]
    since = instance.task_since or instance.updated_at
    proposed_heal = task_heal_for(task, VmState(instance.vm_state), has_host=bool(instance.host))
    return Drift(
        key=drift_key(DriftKind.LOST_TASK, instance.pk, task.value),
        kind=DriftKind.LOST_TASK,
        subject=instance.name,
        found=_(
            "Instance {instance} has the task {task} and nobody works on it.", instance=instance.name, task=task.value
        ),
        evidence={
            "vm_state": instance.vm_state,
            "task_state": task.value,
            "host": instance.host,
            "stood_s": round((now - since).total_seconds(), 1),
            "deadline_s": rule.deadline_s,
            "heal": proposed_heal.value,
            "why": rule.why,
        },
        heal=_("End the task by its rule now: {proposed_heal}.", proposed_heal=proposed_heal.value.replace("_", " ")),
        instance_id=instance.pk,
        host=instance.host,
        since=since,
        heals_at=since + timedelta(seconds=rule.deadline_s),
    )


def _unknown_hosts() -> Iterator[Drift]:
    """Read after the instances: a host is registered before anything is placed on it."""
    known: set[str] = set()
    for placed in pages_by_key(Instance.objects.filter(deleted_at__isnull=True).exclude(host="").only(*_READ)):
        if not {instance.host for instance in placed} <= known:
            known = set(host_nodes().values_list("host", flat=True))
        yield from (_unknown_host(instance) for instance in placed if instance.host not in known)


def _safe_mode(node: Any) -> Drift:
    return Drift(
        key=drift_key(DriftKind.SAFE_MODE, node.pk),
        kind=DriftKind.SAFE_MODE,
        subject=node.host,
        found=f"Host {node.host} is in safe mode: {node.safe_mode}",
        evidence={"host": node.host, "safe_mode": node.safe_mode},
        obstacle=gettext_noop(
            "Look at the hypervisor's list of guests on the host (virsh list --all, the mounts of its state "
            "directory). Once it lists them again the host goes on by itself; if they are gone, start its agent with "
            "--trust-listing."
        ),
        host=node.host,
    )


def _unknown_host(instance: Instance) -> Drift:
    return Drift(
        key=drift_key(DriftKind.UNKNOWN_HOST, instance.pk),
        kind=DriftKind.UNKNOWN_HOST,
        subject=instance.name,
        found=_(
            "Instance {instance} is on host {host}, which is not registered.",
            instance=instance.name,
            host=instance.host,
        ),
        evidence={"host": instance.host, "vm_state": instance.vm_state},
        obstacle=gettext_noop(
            "Enrol the host again and start its agent on the state directory that it had: it takes its instances "
            "up again. If the host is gone for good, delete the instance."
        ),
        instance_id=instance.pk,
        host=instance.host,
    )
