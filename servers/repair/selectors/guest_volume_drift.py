"""Volumes that guests have and instances do not, and the other way round, as rows show it."""

from collections.abc import Iterator

from controlplane.infra.db import pages_by_key
from controlplane.kernel.texts import gettext_noop
from controlplane.kernel.texts import phrase as _
from servers.models import Instance, VolumeAttachment
from servers.repair.domain.drift import Drift, DriftKind, drift_key
from servers.volumes.services.attachments import NOT_IN_GUEST


def guest_volume_drifts() -> Iterator[Drift]:
    """All of it, one after the other."""
    away = VolumeAttachment.objects.filter(problem=NOT_IN_GUEST).select_related("volume")
    for row in (row for page in pages_by_key(away) for row in page):
        yield Drift(
            key=drift_key(DriftKind.VOLUME_NOT_IN_GUEST, row.pk),
            kind=DriftKind.VOLUME_NOT_IN_GUEST,
            subject=str(row.volume),
            found=_(
                "Volume {volume_id} is attached to instance {instance_uuid}, whose guest runs without it.",
                volume_id=row.volume_id,
                instance_uuid=row.instance_uuid,
            ),
            evidence={"volume": str(row.volume_id), "instance": str(row.instance_uuid), "device": row.device},
            obstacle=gettext_noop("The guest has it after its next start; or detach the volume."),
            instance_id=row.instance_uuid,
        )
    with_strays = Instance.objects.filter(deleted_at__isnull=True).exclude(stray_volumes=[])
    for instance in (row for page in pages_by_key(with_strays) for row in page):
        for volume_id in instance.stray_volumes:
            yield Drift(
                key=drift_key(DriftKind.VOLUME_IN_GUEST_ONLY, instance.pk, volume_id),
                kind=DriftKind.VOLUME_IN_GUEST_ONLY,
                subject=instance.name,
                found=_(
                    "The guest of instance {instance} has volume {volume_id}, which is not attached to it.",
                    instance=instance.pk,
                    volume_id=volume_id,
                ),
                evidence={"volume": volume_id, "instance": str(instance.pk)},
                obstacle=gettext_noop(
                    "The guest loses it with its next start: reboot it hard, before another instance gets it."
                ),
                instance_id=instance.pk,
                host=instance.host,
            )
