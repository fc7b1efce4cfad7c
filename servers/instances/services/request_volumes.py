"""The volumes of a request for instances: those that are there are promised to it, and those that its builds will make
are judged and counted before anything is written.
"""

import uuid
from collections.abc import Sequence

from controlplane.identity.domain import Caller
from servers.instances.services.block_devices import DisksDecided
from servers.volumes.domain.attachments import AttachmentRequest
from servers.volumes.domain.block_devices import BlockDevice
from servers.volumes.services.attachments import volumes_reserve
from servers.volumes.services.new_volumes import volume_plan
from servers.volumes.services.quota import volumes_quota_require
from servers.volumes.services.with_instances import volume_request_of


def volumes_of_request_require(caller: Caller, disks: DisksDecided, count: int) -> None:
    """The volumes that `count` instances need could be made now, by quota and by what they are made of. In the
    caller's transaction. Raises QuotaExceeded, and what `volume_plan` raises.
    """
    made = disks.made
    if not made:
        return
    gib = count * sum(one.size_gib for one in made)
    volumes_quota_require(project_id=caller.project_id, volumes=count * len(made), gib=gib)
    for one in made:
        volume_plan(caller=caller, request=volume_request_of(one))


def request_volumes_reserve(*, instance_uuid: uuid.UUID, project_id: uuid.UUID, devices: Sequence[BlockDevice]) -> None:
    """Promise the instance the volumes that it names. In the transaction of the request, so that of two who want one
    volume one is refused. Raises VolumeNotFound, InvalidVolume, VolumeAttached, PoolCannot.
    """
    named = {one.source_id: one for one in devices if one.is_named_volume and one.source_id}
    if not named:
        return
    wanted = [AttachmentRequest(pk, one.device) for pk, one in named.items()]
    volumes_reserve(project_id=project_id, instance_uuid=instance_uuid, wanted=wanted)
