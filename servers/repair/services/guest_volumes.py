"""Which volumes a guest really has, compared with those that its instance has. Differences are noted, and listed as
drift; nobody's disk is taken away or given by itself.
"""

import uuid
from collections.abc import Collection

from controlplane.kernel.ids import parse_uuid
from servers.models import Instance, VolumeAttachment
from servers.volumes.domain.states import AttachmentState
from servers.volumes.services.attachments import (
    LOST_UNSAID,
    NOT_IN_GUEST,
    NOT_LOST,
    attachment_keep,
    attachments_activate,
)

MAX_STRAYS = 50
"""So many are remembered of one guest."""


def guest_volumes_note(instance: Instance, found: Collection[str]) -> list[str]:
    """Note which attached volumes the guest, which is on, does not have; returns those that it has and nobody attached.

    One query, where the instance has disks that were named.
    """
    there = {pk for text in found if (pk := parse_uuid(text)) is not None}
    attached: set[uuid.UUID] = set()
    if instance.has_block_devices:
        for row in VolumeAttachment.objects.filter(instance_uuid=instance.pk):
            attached.add(row.volume_id)
            is_there = row.volume_id in there
            if row.state == AttachmentState.ERROR and is_there:
                attachments_activate(instance_uuid=instance.pk, attachment_id=row.pk)
            elif row.state == AttachmentState.ATTACHED and (problem := _problem(row.problem, is_there)) != row.problem:
                attachment_keep(row.pk, problem=problem, state=AttachmentState.ATTACHED)
    return sorted(str(pk) for pk in there - attached)[:MAX_STRAYS]


def _problem(before: str, is_there: bool) -> str:
    """What is said of an attached volume after a look into the guest."""
    if not is_there:
        return NOT_IN_GUEST
    return {NOT_IN_GUEST: "", LOST_UNSAID: NOT_LOST}.get(before, before)
