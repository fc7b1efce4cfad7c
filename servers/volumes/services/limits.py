"""Guests are held to the limits that their volumes have now, when these change while they run; and they see how large
a volume is now that another guest's hypervisor made grow.

`limits_due` of an attachment is written with the change, and taken back with the work that tells its host, so that a
change while that is under way is told after it. A guest that starts has the limits by its definition.
"""

import uuid
from collections.abc import Iterable

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from computeagent.protocol.volumes import VolumeFacts, VolumeWorkKind
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Conflict
from controlplane.work.models import Work, WorkState
from controlplane.work.models.work import OPEN_STATES
from servers.models import Instance, Volume, VolumeAttachment, VolumeType
from servers.volumes.domain.states import AttachmentState
from servers.volumes.services.new_volumes import qos_stored
from servers.volumes.services.work import volume_work_begin

TRY_AGAIN_S = 60.0
AT_ONCE = 20
BATCH = 200


def volumes_limits_set(volume_type: VolumeType) -> None:
    """Let all volumes of the type have the limits that it says now: a statement for each size that there is."""
    sizes = Volume.objects.filter(volume_type=volume_type).values_list("size_gib", flat=True).distinct()
    for size_gib in list(sizes.order_by()):
        rows = Volume.objects.filter(volume_type=volume_type, size_gib=size_gib)
        rows.update(qos=qos_stored(volume_type, size_gib), updated_at=Now())
    of_type = Volume.objects.filter(volume_type=volume_type).values("pk")
    VolumeAttachment.objects.filter(volume__in=of_type).update(limits_due=True)
    limits_begin(VolumeAttachment.objects.filter(volume__in=of_type).values_list("pk", flat=True)[:AT_ONCE])


def volume_limits_due(volume_id: uuid.UUID) -> None:
    """The volume's limits changed: have the guests that have it held to them. In the transaction of the change."""
    rows = VolumeAttachment.objects.filter(volume=volume_id)
    rows.update(limits_due=True)
    limits_begin(rows.values_list("pk", flat=True))


def limits_round() -> int:
    """Begin what is due still, and did not fail in the last minute. Returns how much."""
    failed = Work.objects.filter(
        subject=OuterRef("pk"),
        kind=VolumeWorkKind.VOLUME_LIMIT.value,
        state=WorkState.FAILED,
        finished_at__gt=now_plus(-TRY_AGAIN_S),
    )
    under_way = Work.objects.filter(subject=OuterRef("pk"), state__in=OPEN_STATES)
    due = VolumeAttachment.objects.filter(~Exists(failed), ~Exists(under_way), limits_due=True)
    return limits_begin(due.order_by("updated_at").values_list("pk", flat=True)[:BATCH])


def limits_begin(attachment_ids: Iterable[uuid.UUID]) -> int:
    """Have the hosts of these guests told. What is told already is told again afterwards. Returns how many."""
    begun = 0
    rows = VolumeAttachment.objects.filter(pk__in=list(attachment_ids)).select_related("volume", "volume__pool")
    for row in rows:
        with transaction.atomic():
            host = Instance.objects.filter(pk=row.instance_uuid, deleted_at__isnull=True).values_list("host", flat=True)
            at = host.first()
            is_given = row.state in (AttachmentState.ATTACHED, AttachmentState.DETACHING, AttachmentState.ERROR)
            if at and is_given and not _begin(row, at):
                continue
            VolumeAttachment.objects.filter(pk=row.pk).update(limits_due=False)
            begun += 1
    return begun


def _begin(attachment: VolumeAttachment, host: str) -> bool:
    try:
        kind = VolumeWorkKind.VOLUME_LIMIT
        volume_work_begin(kind=kind, subject=attachment.pk, volume=attachment.volume, host=host)
    except Conflict:  # the round begins it when what is under way has ended
        return False
    return True


def limit_done(*, subject: uuid.UUID, facts: VolumeFacts) -> None:
    """The guest is held to them, or has them with its next start."""


def limit_failed(*, subject: uuid.UUID, message: str) -> None:
    """It is tried again in a while."""
    VolumeAttachment.objects.filter(pk=subject).update(limits_due=True, updated_at=Now())
