"""Images that are nothing but snapshots of volumes: active once all of them are there, refused when one could not be
made, or was removed before. In the transaction that ends the work on the last of them.
"""

import uuid
from functools import partial

from django.db.models.functions import Now

from controlplane.infra.db import in_transaction, now_plus
from controlplane.kernel.ids import parse_uuid
from servers.images.domain.image_disks import image_disks
from servers.images.domain.images import ImageStatus
from servers.images.domain.snapshots import IMAGE_TYPE
from servers.models import Image, VolumeSnapshot
from servers.volumes.domain.states import VolumeSnapshotState
from servers.volumes.services.deletion import snapshot_deletion_begin

_S = VolumeSnapshotState
ON_THEIR_WAY = (_S.CREATING.value, _S.AVAILABLE.value)
GRACE_S = 60.0
BATCH = 200


def image_of_snapshots_settle(image_id: uuid.UUID | None) -> bool:
    """Look whether the image has all that it names, and whether it changed by that. One that somebody deleted meanwhile
    does not.
    """
    if image_id is None:
        return False
    rows = Image.objects.filter(pk=image_id)
    image = rows.select_for_update().filter(status=ImageStatus.QUEUED).first()
    if image is None or not (named := _snapshots_named(image)):
        return False
    found = {one.pk: one for one in VolumeSnapshot.objects.filter(pk__in=named, project=image.project)}
    missing = next((pk for pk in named if pk not in found or found[pk].state not in ON_THEIR_WAY), None)
    if missing is not None:
        lost = found.get(missing)
        words = f"of volume {lost.volume_id} could not be made: {lost.fault}" if lost and lost.fault else "was removed"
        why = f"Snapshot {missing} {words}"
        rows.update(status=ImageStatus.KILLED.value, status_reason=why[:500], updated_at=Now())
        for one in found.values():
            if one.state == _S.AVAILABLE:
                snapshot_deletion_begin(snapshot_id=one.pk, is_forced=False)
        return True
    if any(one.state == _S.CREATING for one in found.values()):
        return False
    return bool(rows.update(status=ImageStatus.ACTIVE.value, updated_at=Now()))


def images_of_snapshots_heal() -> int:
    """The same for those that have waited for a while: snapshots that were removed, or whose state was written by hand,
    have no work whose end would look. Returns how many changed.
    """
    waiting = Image.objects.filter(status=ImageStatus.QUEUED, instance_uuid=None, updated_at__lt=now_plus(-GRACE_S))
    ids = [one.pk for one in waiting.order_by("updated_at")[:BATCH] if _snapshots_named(one)]
    return sum(in_transaction(partial(image_of_snapshots_settle, pk)) for pk in ids)


def _snapshots_named(image: Image) -> list[uuid.UUID]:
    if image.properties.get(IMAGE_TYPE) != "snapshot":
        return []
    disks = [one for one in image_disks(image.properties)[0] if one.get("source_type") == "snapshot"]
    return [pk for one in disks if (pk := parse_uuid(str(one.get("uuid", "")))) is not None]
