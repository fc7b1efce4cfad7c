"""Work on volumes: a row for the agent of a host that reaches the pool, moved where that host goes down."""

import logging
import uuid
from collections.abc import Collection, Mapping
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from computeagent.protocol.volumes import VolumeSourceKind, VolumeWorkKind
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _
from controlplane.work.models import Work, WorkState
from controlplane.work.models.work import OPEN_STATES
from controlplane.work.wakeups import wakeups_send
from controlplane.work.work import NewWork, compute_queue, open_work_of_queues, work_create
from scheduling.fleet.selectors.liveness import host_is_forced_down, hosts_up
from servers.conf import server_options
from servers.models import StoragePool, Volume, VolumeSnapshot
from servers.volumes.domain.errors import PoolUnreachable
from servers.volumes.domain.work_rules import VOLUME_KINDS, attempts_of, follows_guest, host_chosen, may_move
from servers.volumes.selectors.pool_hosts import hosts_of_attachments, hosts_of_pool, live_hosts, volumes_by_id

log = logging.getLogger(__name__)

VOLUME_ID = "volume_id"
"""Argument of all work on volumes: which one, whatever the subject is."""
BATCH = 200


def volume_work_begin(
    *,
    kind: VolumeWorkKind,
    subject: uuid.UUID,
    volume: Volume,
    host: str = "",
    arguments: Mapping[str, Any] = {},
) -> None:
    """Have a host do this to the volume, or to a snapshot or backup of it: in the transaction that says so in its row.

    Without a `host` one is chosen: of a host's own pool that one, that of the guest that has the volume where the guest
    is asked, else one with little work of those that are up and reach the pool. Raises PoolUnreachable where none is,
    and Conflict where such work is under way already.
    """
    pool = _pool_of(kind, volume)
    if pool is None:
        raise PoolUnreachable(_("Volume {volume} is in no pool.", volume=volume.pk))
    chosen = host or _host_for(kind, volume, pool)
    work_create(
        NewWork(
            compute_queue(chosen),
            kind.value,
            subject,
            server_options().volume_work_deadline_s,
            {**arguments, VOLUME_ID: str(volume.pk)},
            max_attempts=attempts_of(kind),
        )
    )


def _pool_of(kind: VolumeWorkKind, volume: Volume) -> StoragePool | None:
    """The pool in which the work is done."""
    return volume.left_pool if kind is VolumeWorkKind.VOLUME_LEAVE else volume.pool


def _host_for(kind: VolumeWorkKind, volume: Volume, pool: StoragePool) -> str:
    """Raises PoolUnreachable, whose words the owner of the volume reads: they name no host."""
    live = live_hosts(pool)
    if follows_guest(kind, pool.kind) and (hosts := hosts_of_attachments(volume.pk)):
        live, what = [host for host in hosts if host in live], _("The host of the instance that has the volume")
    else:
        what = _("The host that stores the volume") if pool.host else _("Every host that reaches the volume's pool")
    if not live:
        log.warning("no host for %s of volume %s in pool %s: %s", kind, volume.pk, pool, hosts_of_pool(pool))
        raise PoolUnreachable(_("{what} is down, or cannot use the pool now. Try again later.", what=what))
    return host_idlest(live)


def host_idlest(hosts: Collection[str]) -> str:
    """Of these hosts, of which there is one at least, the one with the least work on volumes."""
    if len(hosts) == 1:
        return next(iter(hosts))
    busy = open_work_of_queues(queues=[compute_queue(host) for host in hosts], kinds=VOLUME_KINDS)
    return host_chosen({host: busy.get(compute_queue(host), 0) for host in hosts})


def volume_work_move() -> int:
    """Give the work of hosts that are down, or reach the pool no more, to others that do. Returns how much.

    What only that host can do waits for it until its deadline; the row says so.
    """
    free = Q(state=WorkState.WAITING) | Q(state=WorkState.RUNNING, lease_until__lt=Now())
    rows = Work.objects.filter(free, kind__in=VOLUME_KINDS, deadline_at__gt=Now())
    waiting = list(rows.order_by("updated_at")[:BATCH])
    hosts = {_host_of(work) for work in waiting}
    up = hosts_up(hosts) if hosts else set()
    volumes = volumes_by_id([uuid.UUID(work.arguments[VOLUME_ID]) for work in waiting])
    moved = 0
    for work in waiting:
        volume = volumes.get(uuid.UUID(work.arguments[VOLUME_ID]))
        pool = None if volume is None else _pool_of(VolumeWorkKind(work.kind), volume)
        if volume is not None and pool is not None:
            moved += _move(work, volume, pool, is_up=_host_of(work) in up)
    return moved


def _move(work: Work, volume: Volume, pool: StoragePool, *, is_up: bool) -> bool:
    host, kind = _host_of(work), VolumeWorkKind(work.kind)
    problem = hosts_of_pool(pool).get(host, _("it reaches the pool no more"))
    if is_up and not problem:
        return False
    is_free = may_move(
        kind,
        is_shared=not pool.host,
        is_begun=work.attempt > 0,
        is_host_dead=host_is_forced_down(host=host),
        is_restored=volume.source_kind == VolumeSourceKind.BACKUP.value,
    )
    others = [each for each in live_hosts(pool) if each != host] if is_free else []
    if follows_guest(kind, pool.kind) and (needed := hosts_of_attachments(volume.pk)):
        others = [each for each in others if each in needed]
    if kind is VolumeWorkKind.VOLUME_RETYPE and volume.wanted_pool is not None:
        into = live_hosts(volume.wanted_pool)
        others = [each for each in others if each in into]
    why = (
        _("host {host} is down", host=host)
        if not is_up
        else _("host {host} cannot use pool {pool}: {problem}", host=host, pool=pool, problem=problem)
    )
    same = Work.objects.filter(pk=work.pk, attempt=work.attempt, state=work.state, queue=work.queue)
    same = same.filter(Q(lease_until__isnull=True) | Q(lease_until__lt=Now()))
    if not others:
        same.update(outcome={"error": _("It waits: {why}.", why=why)}, updated_at=Now())
        return False
    queue = compute_queue(host_idlest(others))
    with transaction.atomic():
        # The attempt is not counted against the work, and fences off whoever had it.
        is_moved = same.update(
            queue=queue,
            state=WorkState.WAITING,
            attempt=F("attempt") + 1,
            max_attempts=F("max_attempts") + 1,
            lease_owner="",
            lease_until=None,
            woken_at=Now(),
            updated_at=Now(),
            outcome={"error": _("It was moved here, for {why}.", why=why)},
        )
        if is_moved:
            wakeups_send([(queue, work.kind, str(work.pk))])
    if is_moved:
        log.warning("%s of volume %s goes to %s, for %s", work.kind, volume.pk, queue, why)
    return bool(is_moved)


def _host_of(work: Work) -> str:
    return work.queue.removeprefix(compute_queue(""))


def volume_work_on_host(*, host: str) -> list[str]:
    """Ids of work on volumes of this host that nobody holds a valid lease on, oldest first."""
    free = Q(state=WorkState.WAITING) | Q(state=WorkState.RUNNING, lease_until__lt=Now())
    rows = Work.objects.filter(free, queue=compute_queue(host), kind__in=VOLUME_KINDS, deadline_at__gt=Now())
    rows = rows.filter(attempt__lt=F("max_attempts"))
    return [str(pk) for pk in rows.order_by("created_at").values_list("pk", flat=True)[:BATCH]]


def is_volume_work(work_id: str) -> bool:
    """Whether there is such work, and it is on a volume."""
    found = parse_uuid(work_id)
    return found is not None and Work.objects.filter(pk=found, kind__in=VOLUME_KINDS).exists()


def keys_needed(*, host: str) -> set[uuid.UUID]:
    """Of which volumes and backups this host needs the passphrase for what it does now, under a lease: those that its
    work is about, and what they are made of.
    """
    rows = Work.objects.filter(queue=compute_queue(host), kind__in=VOLUME_KINDS, state=WorkState.RUNNING)
    found: set[uuid.UUID] = set()
    for subject, arguments in rows.filter(lease_until__gt=Now()).values_list("subject", "arguments"):
        found |= {subject, uuid.UUID(arguments[VOLUME_ID])}
    sources = Volume.objects.filter(pk__in=found, source_id__isnull=False).values_list("source_id", flat=True)
    found.update(pk for pk in sources if pk is not None)
    return found | set(VolumeSnapshot.objects.filter(pk__in=found).values_list("volume", flat=True))


def volume_work_is_open(*, subject: uuid.UUID) -> bool:
    """Whether anything is to be done to this volume, snapshot or backup."""
    return Work.objects.filter(subject=subject, kind__in=VOLUME_KINDS, state__in=OPEN_STATES).exists()
