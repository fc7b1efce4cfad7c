"""Which zone an instance is in by its volumes, where zones are not crossed, when another zone is asked for later.

Source: `nova.compute.api.API._validate_unshelve_az`.
"""

import uuid
from collections.abc import Collection

from controlplane.kernel.texts import phrase as _
from servers.conf import server_options
from servers.fields import Problems
from servers.models import Volume
from servers.volumes.domain.attachments import zone_problem
from servers.volumes.domain.block_device_faults import BlockDeviceFault


def zone_with_volumes(zone: str, volume_ids: Collection[uuid.UUID]) -> tuple[str, Problems]:
    """The zone of an instance that has these volumes and for which this one is asked, empty for any; and why it cannot
    be there. Volumes without a zone go anywhere.
    """
    if server_options().cross_az_attach or not volume_ids:
        return zone, {}
    reasons = []
    for volume in Volume.objects.filter(pk__in=volume_ids).exclude(availability_zone="").order_by("created_at", "pk"):
        own = volume.availability_zone
        zone = zone or own
        if text := zone_problem(volume, volume_zone=own, zone=zone, is_crossing_allowed=False):
            reasons.append(_("{sentence} ({detail})", sentence=text, detail=BlockDeviceFault.ZONE.value))
    return zone, {"availability_zone": reasons} if reasons else {}
