"""Reading volume types: public ones and those that the caller's project was given; all for admins."""

import uuid

from django.db.models import Exists, OuterRef, Q, QuerySet

from controlplane.identity.domain import Caller
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _
from servers.models import VolumeType, VolumeTypeAccess
from servers.volumes.domain.errors import VolumeTypeNotFound
from servers.volumes.domain.volumes import TypeRules


def volume_types_visible(caller: Caller | None) -> QuerySet[VolumeType]:
    """The types that the caller may use; all without a caller."""
    if caller is None or caller.sees_all:
        return VolumeType.objects.all()
    given = VolumeTypeAccess.objects.filter(volume_type=OuterRef("pk"), project_id=caller.project_id)
    return VolumeType.objects.filter(Q(is_public=True) | Exists(given))


def volume_type_get(*, caller: Caller | None, type_id: uuid.UUID) -> VolumeType:
    """The type with this id. Raises VolumeTypeNotFound, also for one that the caller may not use."""
    found = volume_types_visible(caller).filter(pk=type_id).first()
    if found is None:
        raise VolumeTypeNotFound(_("Volume type {type_id} does not exist.", type_id=type_id))
    return found


def volume_type_named(*, caller: Caller | None, reference: str) -> VolumeType:
    """The type with this id or name. Raises VolumeTypeNotFound for the field `volume_type`."""
    pk = parse_uuid(reference)
    named = Q(name=reference) if pk is None else Q(name=reference) | Q(pk=pk)
    found = volume_types_visible(caller).filter(named).first()
    if found is None:
        raise VolumeTypeNotFound(
            _("Volume type {reference:.80} does not exist.", reference=reference), field="volume_type"
        )
    return found


def volume_type_default() -> VolumeType | None:
    """The type of volumes that ask for none; None where the installation has no default."""
    return VolumeType.objects.filter(is_default=True).first()


def type_rules(volume_type: VolumeType | None) -> TypeRules:
    """What the type says of sizes and limits; nothing for none."""
    if volume_type is None:
        return TypeRules()
    return TypeRules(
        name=volume_type.name,
        min_gib=volume_type.min_gib,
        max_gib=volume_type.max_gib,
        qos=volume_type.qos,
        qos_per_gib=volume_type.qos_per_gib,
    )


def volume_type_projects(*, type_id: uuid.UUID) -> list[uuid.UUID]:
    """Ids of the projects that were given a type; a public one is given to nobody. Raises VolumeTypeNotFound."""
    row = volume_type_get(caller=None, type_id=type_id)
    return list(VolumeTypeAccess.objects.filter(volume_type=row).order_by("project").values_list("project", flat=True))
