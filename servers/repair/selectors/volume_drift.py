"""Volumes, pools and attachments that are out of step, as rows show it."""

from collections.abc import Iterator
from datetime import timedelta

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from controlplane.infra.db import pages_by_key
from controlplane.kernel.texts import gettext_noop
from controlplane.kernel.texts import phrase as _
from controlplane.work.models import Work
from controlplane.work.models.work import OPEN_STATES
from scheduling.fleet.selectors.liveness import hosts_up
from servers.conf import server_options
from servers.models import (
    BuildRequest,
    Instance,
    PoolSighting,
    StoragePool,
    StoragePoolHost,
    Volume,
    VolumeAttachment,
)
from servers.repair.domain.drift import Drift, DriftKind, drift_key
from servers.volumes.services.attachments import MOVING
from servers.volumes.services.keys import volume_keys_unreadable

STRANGER = _(
    "Nothing here remembers it: it may be another installation's, or younger than a database that was restored."
)

KEYS_LOOKED_AT = 200
"""In each round; `manage.py audit` looks at all. Whoever changes SECRET_KEY and forgets the old one loses every one."""


def attachments_ownerless() -> QuerySet[VolumeAttachment]:
    """Attachments of instances that are not there, and that nobody is about to make."""
    living = Instance.objects.filter(pk=OuterRef("instance_uuid"), deleted_at__isnull=True)
    asked = BuildRequest.objects.filter(instance_uuid=OuterRef("instance_uuid"))
    return VolumeAttachment.objects.filter(~Exists(living), ~Exists(asked))


def attachments_stuck() -> QuerySet[VolumeAttachment]:
    """Attachments of instances that are there, which a host is said to make or end, and there is no work that does it:
    it is written, and ends, in the transactions that write these states.
    """
    living = Instance.objects.filter(pk=OuterRef("instance_uuid"), deleted_at__isnull=True)
    open_work = Work.objects.filter(subject=OuterRef("instance_uuid"), state__in=OPEN_STATES)
    return VolumeAttachment.objects.filter(Exists(living), ~Exists(open_work), state__in=MOVING)


def volume_drifts() -> Iterator[Drift]:
    """All of it, one after the other."""
    yield from _sightings()
    for stuck in (row for page in pages_by_key(attachments_stuck()) for row in page):
        yield _stuck(stuck)
    for attachment in (row for page in pages_by_key(attachments_ownerless()) for row in page):
        yield Drift(
            key=drift_key(DriftKind.ATTACHMENT_OWNERLESS, attachment.pk),
            kind=DriftKind.ATTACHMENT_OWNERLESS,
            subject=str(attachment.volume_id),
            found=_(
                "Volume {volume_id} is attached to {instance_uuid}, an instance that is gone.",
                volume_id=attachment.volume_id,
                instance_uuid=attachment.instance_uuid,
            ),
            evidence={"instance": str(attachment.instance_uuid), "state": attachment.state},
            heal=gettext_noop("Take the volume off it: it can be used again."),
            instance_id=attachment.instance_uuid,
        )
    yield from _problems()
    yield from _unreached()
    yield from _unreadable()


def _stuck(attachment: VolumeAttachment) -> Drift:
    volume, instance = attachment.volume_id, attachment.instance_uuid
    return Drift(
        key=drift_key(DriftKind.ATTACHMENT_STUCK, attachment.pk),
        kind=DriftKind.ATTACHMENT_STUCK,
        subject=str(volume),
        found=_(
            "Volume {volume} is {state} at instance {instance}, and nobody works on it.",
            volume=volume,
            state=attachment.state,
            instance=instance,
        ),
        evidence={"volume": str(volume), "instance": str(instance), "state": attachment.state},
        heal=gettext_noop(
            "Say that nobody knows whether the guest has the disk, until its host reports it; the volume stays its."
        ),
        instance_id=instance,
        since=attachment.updated_at,
    )


def _sightings() -> Iterator[Drift]:
    """What was seen twice, so that no shadow of a listing is shown."""
    settled = PoolSighting.objects.filter(Q(is_missing=False) | Q(last_seen_at__gt=F("first_seen_at")))
    for page in pages_by_key(settled.select_related("pool")):
        yield from (_missing(row) if row.is_missing else _orphan(row) for row in page)


def _orphan(row: PoolSighting) -> Drift:
    grace = server_options().orphan_volume_grace_s
    what = "snapshot" if "/" in row.name else "volume"
    whose = "" if row.was_known else f" {STRANGER}"
    is_automatic = row.was_known and not row.not_removed_because
    return Drift(
        key=drift_key(DriftKind.VOLUME_ORPHAN, row.pk),
        kind=DriftKind.VOLUME_ORPHAN,
        subject=row.name,
        found=f"Pool {row.pool} has {what} {row.name}, which no row explains.{whose}",
        evidence={
            "pool": row.pool.name,
            "host": row.host,
            "was_known": row.was_known,
            "last_seen_at": row.last_seen_at.isoformat(),
            "grace_s": grace,
            "released_at": row.released_at.isoformat() if row.released_at else None,
        },
        heal=gettext_noop("Let a host that reaches the pool remove it at its next look."),
        obstacle=f"{row.not_removed_because}." if row.not_removed_because else "",
        host=row.pool.host,
        since=row.first_seen_at,
        heals_at=row.first_seen_at + timedelta(seconds=grace) if is_automatic else None,
        asked_by=row.asked_by,
        besides=row.more,
    )


def _missing(row: PoolSighting) -> Drift:
    return Drift(
        key=drift_key(DriftKind.VOLUME_MISSING, row.pk),
        kind=DriftKind.VOLUME_MISSING,
        subject=row.name,
        found=_("The bytes of {name} are not in pool {pool}, where they have to be.", name=row.name, pool=row.pool),
        evidence={"pool": row.pool.name, "host": row.host, "last_seen_at": row.last_seen_at.isoformat()},
        obstacle=gettext_noop(
            "Look for them where the pool is stored. If they are lost, restore a backup, or delete the volume."
        ),
        host=row.pool.host,
        since=row.first_seen_at,
    )


def _problems() -> Iterator[Drift]:
    for row in StoragePoolHost.objects.exclude(problem="").select_related("pool").order_by("pk"):
        yield Drift(
            key=drift_key(DriftKind.POOL_PROBLEM, row.pool_id, row.host),
            kind=DriftKind.POOL_PROBLEM,
            subject=row.pool.name,
            found=f"Host {row.host} cannot use pool {row.pool.name}: {row.problem}",
            evidence={"pool": str(row.pool_id), "host": row.host, "problem": row.problem},
            obstacle=gettext_noop("It is looked at again with each report of the host."),
            host=row.host,
        )


def _unreached() -> Iterator[Drift]:
    """Pools with volumes that no host can work on."""
    used = Exists(Volume.objects.filter(pool=OuterRef("pk")))
    reached: dict[object, set[str]] = {}
    for pool_id, host in StoragePoolHost.objects.filter(problem="").values_list("pool_id", "host"):
        reached.setdefault(pool_id, set()).add(host)
    up = hosts_up({host for hosts in reached.values() for host in hosts}) if reached else set()
    for pool in StoragePool.objects.filter(used):
        able = {host for host in reached.get(pool.pk, set()) if pool.host in ("", host)}
        if able & up:
            continue
        why = _("{able} are down", able=", ".join(sorted(able))) if able else _("no host reports it as sound")
        yield Drift(
            key=drift_key(DriftKind.POOL_UNREACHED, pool.pk),
            kind=DriftKind.POOL_UNREACHED,
            subject=pool.name,
            found=_("Nothing can be done to the volumes of pool {pool}: {why}.", pool=pool, why=why),
            evidence={"pool": str(pool.pk), "hosts": sorted(able)},
            obstacle=gettext_noop(
                "Bring back a host that reaches the pool. Work on its volumes waits until its deadline."
            ),
            host=pool.host,
        )


def _unreadable() -> Iterator[Drift]:
    for owner_id in volume_keys_unreadable(among=KEYS_LOOKED_AT):
        yield Drift(
            key=drift_key(DriftKind.VOLUME_KEY_UNREADABLE, owner_id),
            kind=DriftKind.VOLUME_KEY_UNREADABLE,
            subject=str(owner_id),
            found=_(
                "Neither SECRET_KEY nor its fallbacks open the passphrase of encrypted volume or backup {owner_id}.",
                owner_id=owner_id,
            ),
            obstacle=gettext_noop(
                "Add the SECRET_KEY that was there before to SECRET_KEY_FALLBACKS. Without it the bytes are lost."
            ),
        )
