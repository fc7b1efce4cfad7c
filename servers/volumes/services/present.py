"""What pools have, compared with the rows: bytes that nobody explains, and rows whose bytes are not there.

A volume's row is written before its bytes, and goes after them, and no id is given twice. So bytes without a row are
left over from work that was fenced off. Where nothing here remembers them they may be another installation's: they are
listed, and removed only when somebody asks.
"""

import logging
from collections.abc import Collection, Sequence
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from computeagent.protocol.volumes import VolumesOnHost
from controlplane.infra.db import now_plus
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _
from controlplane.work.heals import heal_record
from controlplane.work.models import Work
from servers.conf import server_options
from servers.models import PoolSighting, StoragePool, Volume, VolumeBackup, VolumeSnapshot
from servers.volumes.domain.states import VolumeSnapshotState, VolumeState
from servers.volumes.domain.work_rules import VOLUME_KINDS

log = logging.getLogger(__name__)

VOLUME_ORPHAN = "volume_orphan"
"""The kind of heal, and of drift."""
REASON_MAX = 255
TOGETHER = 500
LISTED_MAX = 500
"""Without a row, of one pool; of more it is said how many there are."""
NAMED = 3
HAS_NO_BYTES = (VolumeState.CREATING, VolumeState.DELETING, VolumeState.ERROR, VolumeState.ERROR_DELETING)
HAS_BYTES_OF_SNAPSHOT = (VolumeSnapshotState.AVAILABLE,)


def volumes_present(*, host: str, pools: Sequence[VolumesOnHost], not_removed_because: str = "") -> list[VolumesOnHost]:
    """Write down what does not agree in pools that this host reaches, and answer what it may remove now.

    What was read of a pool that is not what it was says nothing. In the caller's transaction, or each pool in its own.
    """
    reached = StoragePool.objects.filter(host__in=("", host), hosts__host=host, hosts__problem="")
    by_name = {pool.name: pool for pool in reached}
    found = []
    for seen in pools:
        pool = by_name.get(seen.pool)
        if pool is None or pool.identity != seen.identity:
            log.warning("what host %s read of pool %.64s is not believed: it is %.80r", host, seen.pool, seen.identity)
            continue
        with transaction.atomic():
            due = _compare(pool, host, seen, not_removed_because[:REASON_MAX])
        if due:
            volumes, snapshots = (tuple(sorted(name for name in due if ("/" in name) is at)) for at in (False, True))
            found.append(VolumesOnHost(seen.pool, seen.identity, volumes, snapshots))
    return found


def _compare(pool: StoragePool, host: str, seen: VolumesOnHost, because: str) -> set[str]:
    """What is to be removed."""
    present = {name for name in (*seen.volumes, *seen.snapshots) if _ids(name)}
    unexplained, missing = present - _explained(present), _expected(pool) - present
    known = {row.name: row for row in PoolSighting.objects.select_for_update().filter(pool=pool)}
    remembered = _remembered(unexplained - known.keys()) | {name for name, row in known.items() if row.was_known}
    # Ours before a stranger's: those are removed, and these fill no table.
    orphans = set(sorted(unexplained, key=lambda name: (name not in remembered, name not in known, name))[:LISTED_MAX])
    gone = [row for name, row in known.items() if name not in orphans | missing]
    _gone(pool, gone, unlisted=unexplained)
    PoolSighting.objects.bulk_create(
        [
            PoolSighting(
                pool=pool,
                name=name,
                is_missing=name in missing,
                was_known=name in remembered,
                host=host,
                first_seen_at=Now(),
                last_seen_at=Now(),
                not_removed_because=because,
                more=len(unexplained) - len(orphans),
            )
            for name in sorted(orphans | missing)
        ],
        update_conflicts=True,
        unique_fields=["pool", "name"],
        update_fields=["is_missing", "host", "last_seen_at", "not_removed_because", "more"],
    )
    if new := sorted(orphans - known.keys()):
        log.warning("pool %s has %d more that no row explains, such as %s", pool, len(new), ", ".join(new[:NAMED]))
    grace = now_plus(-server_options().orphan_volume_grace_s)
    asked = ~Q(asked_by="") | Q(was_known=True, first_seen_at__lte=grace)
    due = PoolSighting.objects.filter(asked, pool=pool, is_missing=False, not_removed_because="")
    due.filter(released_at__isnull=True).update(released_at=Now())
    return set(due.values_list("name", flat=True)) & orphans


def _ids(name: str) -> tuple[UUID, ...]:
    """The volume, or the volume and its snapshot; nothing for a name that is neither."""
    found = [parse_uuid(part) for part in name.split("/")]
    ids = tuple(one for one in found if one is not None)
    is_ours = len(ids) == len(found) <= 2 and name == "/".join(str(one) for one in ids)
    return ids if is_ours else ()


def _explained(names: Collection[str]) -> set[str]:
    """Those of which there is a row, in whichever pool: a row's word is enough to keep bytes."""
    last = {name: _ids(name)[-1] for name in names}
    ids = set(last.values())
    rows: set[UUID] = set()
    for part in _parts(sorted(ids)):
        rows.update(Volume.objects.filter(pk__in=part).values_list("pk", flat=True))
        rows.update(VolumeSnapshot.objects.filter(pk__in=part).values_list("pk", flat=True))
        backups = VolumeBackup.objects.filter(Q(pk__in=part) | Q(snapshot_id__in=part))
        for pk, snapshot_id in backups.values_list("pk", "snapshot_id"):
            rows.update(one for one in (pk, snapshot_id) if one is not None)
    return {name for name, pk in last.items() if pk in rows}


def _parts(ids: Sequence[UUID]) -> list[Sequence[UUID]]:
    return [ids[at : at + TOGETHER] for at in range(0, len(ids), TOGETHER)]


def _expected(pool: StoragePool) -> set[str]:
    """What the rows say that the pool has now, made long enough ago that a listing has it."""
    settled = now_plus(-server_options().drift_grace_s)
    volumes = Volume.objects.filter(pool=pool, updated_at__lt=settled).exclude(state__in=HAS_NO_BYTES)
    snapshots = VolumeSnapshot.objects.filter(
        volume__pool=pool, updated_at__lt=settled, state__in=HAS_BYTES_OF_SNAPSHOT
    ).exclude(volume__state__in=HAS_NO_BYTES)
    of_snapshots = snapshots.values_list("volume", "pk")
    return {str(pk) for pk in volumes.values_list("pk", flat=True)} | {f"{volume}/{pk}" for volume, pk in of_snapshots}


def _remembered(names: Collection[str]) -> set[str]:
    """Those on which something was done here once."""
    last = {name: _ids(name)[-1] for name in names}
    subjects: set[UUID] = set()
    for part in _parts(sorted(set(last.values()))):
        worked = Work.objects.filter(subject__in=part, kind__in=VOLUME_KINDS)
        subjects.update(worked.values_list("subject", flat=True))
    return {name for name, pk in last.items() if pk in subjects}


def _gone(pool: StoragePool, rows: Sequence[PoolSighting], *, unlisted: Collection[str]) -> None:
    """What was released was removed by its host, which is recorded; anything else went, or is explained, by itself, or
    is only `unlisted`, for there are too many.
    """
    for row in rows:
        if row.released_at is not None and row.name not in unlisted:
            heal_record(
                kind=VOLUME_ORPHAN,
                subject=_ids(row.name)[-1],
                found=_("Pool {pool} had {name}, and no row explained it.", pool=pool, name=row.name),
                done=_("A host that reaches the pool removed it."),
                evidence={
                    "pool": pool.name,
                    "host": row.host,
                    "first_seen_at": row.first_seen_at.isoformat(),
                    "released_at": row.released_at.isoformat(),
                    "was_known": row.was_known,
                    "asked_by": row.asked_by,
                },
            )
    PoolSighting.objects.filter(pk__in=[row.pk for row in rows]).delete()
