"""This module asks whether volumes, their claims, their attachments and the work on them agree."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from django.db.models import Exists, OuterRef, Q

from controlplane.infra.db import now_plus
from controlplane.work.models import Work
from controlplane.work.models.work import OPEN_STATES
from placement.domain import AllocationView
from placement.selectors import allocations_by_consumer
from servers.conf import server_options
from servers.models import Volume, VolumeAttachment, VolumeBackup, VolumeKey, VolumeSnapshot, VolumeTransfer
from servers.repair.selectors.volume_drift import attachments_stuck
from servers.repair.services.volume_heal import FAILS
from servers.volumes.domain.attachments import ATTACHMENT_STATES
from servers.volumes.domain.states import BackupState, VolumeSnapshotState, VolumeState
from servers.volumes.services.attachments import state_by_attachments
from servers.volumes.services.keys import volume_keys_unreadable

Fault = tuple[int, str, str, dict[str, Any]]
OLD_S = 120.0
"""Longer than the heal of volumes takes to see them twice."""
MAX_UNREADABLE = 100
"""Passphrases that are named; of more it is said how many."""


def volume_owners() -> set[uuid.UUID]:
    """All consumers that are volumes, or snapshots of them."""
    volumes = set(Volume.objects.values_list("pk", flat=True))
    return volumes | set(VolumeSnapshot.objects.values_list("pk", flat=True))


def volume_faults() -> Iterator[Fault]:
    """(invariant, subject, message, evidence) of each that is wrong. Rows change while they are read, so what looks
    wrong is read again on its own.
    """
    yield from _claims()
    yield from _attachments()
    yield from _standing_still()
    offered = Exists(VolumeTransfer.objects.filter(volume=OuterRef("pk")))
    for volume in Volume.objects.filter(Q(state=VolumeState.AWAITING_TRANSFER) & ~offered):
        yield 4, str(volume.pk), "waits for a transfer, and there is none", {}
    keyed = Exists(VolumeKey.objects.filter(owner_id=OuterRef("pk")))
    for volume in Volume.objects.filter(Q(is_encrypted=True) & ~keyed):
        yield 4, str(volume.pk), "is encrypted and has no passphrase", {}
    yield from _unreadable()


def _unreadable() -> Iterator[Fault]:
    unreadable = volume_keys_unreadable()
    for owner_id in islice(unreadable, MAX_UNREADABLE):
        yield 4, str(owner_id), "is encrypted, and neither SECRET_KEY nor its fallbacks open its passphrase", {}
    if more := sum(1 for _ in unreadable):
        yield 4, "volumes and backups", f"have {more} more passphrases that no key opens", {"more": more}


def _claims() -> Iterator[Fault]:
    """A volume holds as much of its pool as it has, or is to have, GiB, and nothing else."""
    held = allocations_by_consumer()
    for volume in Volume.objects.select_related("pool").iterator(chunk_size=1000):
        if _is_amiss(volume, held) and (now := Volume.objects.filter(pk=volume.pk).first()) is not None:
            again = allocations_by_consumer([volume.pk])
            if _is_amiss(now, again):
                found = {str(one.provider_uuid): one.used for one in again.get(volume.pk, ())}
                evidence = {"pool": str(now.pool_id), "size_gib": now.size_gib, "wanted_gib": now.wanted_gib}
                yield 2, str(volume.pk), "does not hold its size of its pool alone", {**evidence, "holds": found}


def _is_amiss(volume: Volume, held: Mapping[uuid.UUID, Sequence[AllocationView]]) -> bool:
    found = {one.provider_uuid: one.used for one in held.get(volume.pk, ())}
    pools = [pk for pk in (volume.pool_id, volume.wanted_pool_id) if pk is not None]
    wanted = {pk: max(volume.size_gib, volume.wanted_gib) for pk in pools}
    return found != wanted


def _attachments() -> Iterator[Fault]:
    """A volume is what its attachments say, where nothing else is done to it."""
    having = Exists(VolumeAttachment.objects.filter(volume=OuterRef("pk")))
    free_and_had = Q(state=VolumeState.AVAILABLE) & having
    had_and_free = Q(state__in=[one.value for one in ATTACHMENT_STATES if one is not VolumeState.AVAILABLE]) & ~having
    for volume in Volume.objects.filter(free_and_had | had_and_free):
        wanted = state_by_attachments(volume.pk)
        if Volume.objects.filter(pk=volume.pk, state=volume.state).exists() and wanted != volume.state:
            yield 2, str(volume.pk), f"is {volume.state}, and is {wanted.value} by its attachments", {}


def _standing_still() -> Iterator[Fault]:
    open_work = Work.objects.filter(subject=OuterRef("pk"), state__in=OPEN_STATES)
    old = Q(updated_at__lt=now_plus(-OLD_S)) & ~Exists(open_work)
    made_alone = Q(instance_uuid__isnull=True) | ~Q(state=VolumeState.CREATING)
    for volume in Volume.objects.filter(old & made_alone, state__in=[*FAILS]):
        yield 4, str(volume.pk), f"is {volume.state} and nobody works on it", {}
    for attachment in attachments_stuck().filter(updated_at__lt=now_plus(-OLD_S - server_options().drift_grace_s)):
        yield 4, str(attachment.volume_id), f"is {attachment.state} and nobody works on it", {}
    for snapshot in VolumeSnapshot.objects.filter(old, state=VolumeSnapshotState.CREATING):
        yield 4, str(snapshot.pk), f"is {snapshot.state} and nobody works on it", {}
    # One whose snapshot is being made, and one that no host can make now, which its fault says, wait for that.
    making = VolumeSnapshot.objects.filter(pk=OuterRef("snapshot_id"), state=VolumeSnapshotState.CREATING)
    for backup in VolumeBackup.objects.filter(old, ~Exists(making), state=BackupState.CREATING, fault=""):
        yield 4, str(backup.pk), f"is {backup.state} and nobody works on it", {}
