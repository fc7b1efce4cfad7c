"""Reading device profiles."""

import uuid
from collections.abc import Collection

from django.db.models import QuerySet

from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _
from servers.catalog.domain.device_profiles import DeviceGroup
from servers.models import DeviceProfile


def device_profiles() -> QuerySet[DeviceProfile]:
    """All of them: who may look is for the door to decide."""
    return DeviceProfile.objects.all()


def device_profile_get(*, profile_id: uuid.UUID) -> DeviceProfile:
    """Raises NotFound."""
    profile = DeviceProfile.objects.filter(pk=profile_id).first()
    if profile is None:
        raise NotFound(_("Device profile {profile_id} does not exist.", profile_id=profile_id))
    return profile


def device_groups(names: Collection[str]) -> dict[str, list[DeviceGroup]]:
    """The groups of the profiles of these names; one that does not exist is left out. No query for none."""
    wanted = {name for name in names if name}
    if not wanted:
        return {}
    return dict(DeviceProfile.objects.filter(name__in=wanted).values_list("name", "groups"))
