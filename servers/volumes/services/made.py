"""Volumes that the build of an instance made for it."""

import uuid

from django.db.models import F
from django.db.models.functions import Now

from computeagent.protocol.volumes import VolumeFacts
from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _
from servers.models import Volume


def volume_made(*, instance_uuid: uuid.UUID, volume_id: uuid.UUID, facts: VolumeFacts) -> None:
    """Where it is now. Its state follows the instance's build. Raises NotFound for a volume that is not made so."""
    rows = Volume.objects.filter(pk=volume_id, instance_uuid=instance_uuid)
    if not rows.update(
        location=facts.location,
        used_bytes=facts.used_bytes,
        generation=F("generation") + 1,
        updated_at=Now(),
    ):
        raise NotFound(
            _(
                "Volume {volume_id} is not made with instance {instance_uuid}.",
                volume_id=volume_id,
                instance_uuid=instance_uuid,
            )
        )
