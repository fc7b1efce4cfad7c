"""The images that a piece of work names: the only ones that its host may read or send."""

import uuid

from computeagent.protocol.volumes import VolumeSourceKind
from computeagent.protocol.work import WorkKind
from controlplane.kernel.errors import NotFound
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _
from controlplane.work.models import Work
from controlplane.work.work import WorkLease
from servers.instances.selectors.instances import instance_row
from servers.models import Instance, Volume

IMAGE = "image_id"
"""Argument of the work that sends an image: which one."""

FROM_IMAGE = "from_image"
"""Argument of an unshelving that builds the guest anew, from the image that the instance is kept in."""


def image_read_by(lease: WorkLease) -> uuid.UUID | None:
    """The image that a piece of work builds or rescues its guest from; None for one without. The caller fences."""
    instance = instance_row(lease.subject)
    if lease.kind == WorkKind.RESCUE:
        return parse_uuid(instance.rescue_image.get("id", ""))
    return instance.shelved_image_id if lease.kind == WorkKind.UNSHELVE else instance.image_id


def image_of_new_volume(instance: Instance, named: str) -> uuid.UUID | None:
    """The image of this id, if a volume that the instance's build or rebuild makes is of it; None for any other."""
    image_id = parse_uuid(named)
    if image_id is None or not instance.has_block_devices:
        return None
    made = Volume.objects.filter(instance_uuid=instance.pk, source_id=image_id)
    return image_id if made.filter(source_kind=VolumeSourceKind.IMAGE.value).exists() else None


def work_arguments(lease: WorkLease) -> dict[str, str]:
    """What the work was asked with."""
    return Work.objects.filter(pk=lease.work_id).values_list("arguments", flat=True).first() or {}


def image_made_by(lease: WorkLease) -> uuid.UUID:
    """Raises NotFound for work that makes none. The caller fences the lease."""
    arguments = work_arguments(lease)
    if not arguments.get(IMAGE):
        raise NotFound(_("This work makes no image."))
    return uuid.UUID(arguments[IMAGE])
