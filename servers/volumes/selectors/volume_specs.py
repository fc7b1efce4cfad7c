"""Volumes as hosts are told of them."""

from dataclasses import replace

from computeagent.protocol.volumes import NO_SOURCE, PoolKind, VolumeSource, VolumeSourceKind, VolumeSpec
from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _
from servers.models import StoragePool, Volume, VolumeBackup, VolumeSnapshot


def volume_spec(volume: Volume) -> VolumeSpec:
    """Where the volume is, and how large it is to be. Raises NotFound for one that is in no pool."""
    if volume.pool is None:
        raise NotFound(_("Volume {volume} is in no pool.", volume=volume.pk))
    return VolumeSpec(
        id=str(volume.pk),
        pool=volume.pool.name,
        kind=PoolKind(volume.pool.kind),
        size_gib=volume.size_gib,
        is_encrypted=volume.is_encrypted,
        location=volume.location,
    )


def volume_spec_elsewhere(volume: Volume, pool: StoragePool | None) -> VolumeSpec:
    """The volume as it is in another pool than its own. Raises NotFound where that is none."""
    if pool is None:
        raise NotFound(_("Volume {volume} is in no other pool.", volume=volume.pk))
    return replace(volume_spec(volume), pool=pool.name, kind=PoolKind(pool.kind), location={})


def volume_source(volume: Volume) -> VolumeSource:
    """What the volume begins with. One query, none for a blank one. Raises NotFound where the source is gone."""
    kind, source_id = VolumeSourceKind(volume.source_kind), volume.source_id
    if kind is VolumeSourceKind.BLANK or source_id is None:
        return NO_SOURCE
    if kind is VolumeSourceKind.IMAGE:
        image = volume.image
        return VolumeSource(
            kind,
            id=str(source_id),
            checksum=image.get("checksum_sha256", ""),
            size_bytes=image.get("size_bytes", 0),
            disk_format=image.get("disk_format", "qcow2"),
        )
    if kind is VolumeSourceKind.SNAPSHOT:
        snapshot = VolumeSnapshot.objects.select_related("volume").filter(pk=source_id).first()
        if snapshot is not None:
            of = str(snapshot.volume_id)
            return VolumeSource(kind, id=str(source_id), volume_id=of, is_encrypted=snapshot.volume.is_encrypted)
    elif kind is VolumeSourceKind.VOLUME:
        found = Volume.objects.filter(pk=source_id).first()
        if found is not None:
            return VolumeSource(kind, id=str(source_id), volume_id=str(source_id), is_encrypted=found.is_encrypted)
    else:
        backup = VolumeBackup.objects.filter(pk=source_id).first()
        if backup is not None:
            of = str(backup.volume_id)
            return VolumeSource(kind, id=str(source_id), volume_id=of, is_encrypted=backup.is_encrypted)
    raise NotFound(
        _(
            "The {kind} {source_id} that volume {volume} begins with is gone.",
            kind=kind.value,
            source_id=source_id,
            volume=volume.pk,
        )
    )
