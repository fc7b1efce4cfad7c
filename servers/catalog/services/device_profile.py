"""Changing device profiles: for admins, which the policy of the door decides."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from controlplane.audit_log.recording.audited import audited
from controlplane.kernel.errors import Conflict, NotFound
from controlplane.kernel.texts import phrase as _
from servers.catalog.domain.device_profiles import PROFILE_KEY, device_profile_problems
from servers.fields import refuse_if
from servers.models import DeviceProfile, Flavor

CHANGEABLE = ("name", "description", "groups")


@audited("device_profile.create", DeviceProfile)
def device_profile_create(*, name: str, groups: Sequence[Mapping[str, str]], description: str = "") -> DeviceProfile:
    """A new profile. Raises InvalidFields, and Conflict when its name is taken."""
    refuse_if(device_profile_problems(name=name, description=description, groups=groups))
    try:
        with transaction.atomic():
            return DeviceProfile.objects.create(name=name, description=description, groups=list(groups))
    except IntegrityError as error:
        raise _taken(name) from error


@audited("device_profile.update", DeviceProfile, by="profile_id")
def device_profile_update(*, profile_id: uuid.UUID, changes: Mapping[str, Any]) -> DeviceProfile:
    """Change some of CHANGEABLE, for instances to come. Raises InvalidFields, NotFound; Conflict for a name that is
    taken, and for a new name while flavors ask for the old one.
    """
    refuse_if(
        {key: [_("There is no such field, or it cannot be changed.")] for key in changes if key not in CHANGEABLE}
    )
    try:
        with transaction.atomic():
            profile = DeviceProfile.objects.select_for_update().filter(pk=profile_id).first()
            if profile is None:
                raise NotFound(_("Device profile {profile_id} does not exist.", profile_id=profile_id))
            as_it_will_be = {key: changes.get(key, getattr(profile, key)) for key in CHANGEABLE}
            refuse_if(device_profile_problems(**as_it_will_be))
            if as_it_will_be["name"] != profile.name:
                _unused_require(profile)
            DeviceProfile.objects.filter(pk=profile_id).update(**changes, updated_at=Now())
    except IntegrityError as error:
        raise _taken(str(changes.get("name", ""))) from error
    return DeviceProfile.objects.get(pk=profile_id)


@audited("device_profile.delete", DeviceProfile, by="profile_id")
def device_profile_delete(*, profile_id: uuid.UUID) -> None:
    """Remove it. What runs has its devices. Raises NotFound, and Conflict while flavors ask for it."""
    with transaction.atomic():
        profile = DeviceProfile.objects.select_for_update().filter(pk=profile_id).first()
        if profile is None:
            raise NotFound(_("Device profile {profile_id} does not exist.", profile_id=profile_id))
        _unused_require(profile)
        profile.delete()


def _unused_require(profile: DeviceProfile) -> None:
    asking = Flavor.objects.filter(**{f"extra_specs__{PROFILE_KEY}": profile.name}).order_by("name")
    names = list(asking.values_list("name", flat=True)[:5])
    if names:
        raise Conflict(
            _("Flavors ask for {profile}: {names}.", profile=profile.name, names=", ".join(names)), field="name"
        )


def _taken(name: str) -> Conflict:
    return Conflict(_("A device profile named {name} exists already.", name=name), field="name")
