"""Volume types are made, changed and removed here: for admins, which the policy of the door decides."""

import uuid
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Now

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.selectors import project_get
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import InvalidFields
from controlplane.kernel.texts import phrase as _
from servers.fields import refuse_if
from servers.models import Volume, VolumeType, VolumeTypeAccess
from servers.volumes.domain.errors import (
    VolumeTypeAccessPublic,
    VolumeTypeDefault,
    VolumeTypeExists,
    VolumeTypeInUse,
    VolumeTypeNotFound,
)
from servers.volumes.domain.volume_types import OF_VOLUMES, VolumeTypeRequest, volume_type_problems
from servers.volumes.services.limits import volumes_limits_set

CHANGEABLE = frozenset(each.name for each in fields(VolumeTypeRequest)) - {"id"}


@audited("volume_type.create", VolumeType)
def volume_type_create(*, request: VolumeTypeRequest) -> VolumeType:
    """A new type; as default it takes the place of the one before. Raises InvalidFields, VolumeTypeExists."""
    refuse_if(volume_type_problems(request))
    return in_transaction(lambda: _insert(request))


def _insert(request: VolumeTypeRequest) -> VolumeType:
    row = VolumeType(id=request.id, **_columns(request))
    return _saved(row, force_insert=True)


@audited("volume_type.update", VolumeType, by="type_id")
def volume_type_update(*, type_id: uuid.UUID, changes: Mapping[str, Any]) -> VolumeType:
    """Change some of CHANGEABLE. Volumes stay where they are; limits count for those that there are, and for the guests
    that have them, from now on.

    Raises VolumeTypeNotFound, InvalidFields, VolumeTypeExists; VolumeTypeInUse for what its volumes are by it, and
    VolumeTypeDefault where the default would be none any more.
    """
    if unknown := {name: [_("Cannot be changed.")] for name in changes if name not in CHANGEABLE}:
        raise InvalidFields(unknown)
    return in_transaction(lambda: _update(type_id, changes))


def _update(type_id: uuid.UUID, changes: Mapping[str, Any]) -> VolumeType:
    row = _locked(type_id)
    before = _request_of(row)
    after = replace(before, **{name: _typed(value) for name, value in changes.items()})
    refuse_if(volume_type_problems(after))
    if before.is_default and not after.is_default:
        raise VolumeTypeDefault(
            _("Volume type {row} is the default: make another one the default instead.", row=row), field="is_default"
        )
    changed = [name for name in OF_VOLUMES if getattr(before, name) != getattr(after, name)]
    if changed and (count := Volume.objects.filter(Q(volume_type=row) | Q(wanted_type=row)).count()):
        raise VolumeTypeInUse(
            _("{count} volumes are of type {row}: {changed} cannot change.", count=count, row=row, changed=changed[0]),
            field=changed[0],
            volumes=count,
        )
    for name, value in _columns(after).items():
        setattr(row, name, value)
    saved = _saved(row, force_insert=False)
    if (before.qos, before.qos_per_gib) != (after.qos, after.qos_per_gib):
        volumes_limits_set(saved)
    return saved


def _saved(row: VolumeType, *, force_insert: bool) -> VolumeType:
    if row.is_default:
        others = VolumeType.objects.filter(is_default=True).exclude(pk=row.pk)
        others.update(is_default=False, updated_at=Now())
    try:
        with transaction.atomic():
            row.save(force_insert=force_insert)
    except IntegrityError as error:
        raise VolumeTypeExists(_("A volume type named {name} exists already.", name=row.name), field="name") from error
    return row


@audited("volume_type.delete", VolumeType, by="type_id")
def volume_type_delete(*, type_id: uuid.UUID) -> None:
    """Delete a type that no volume is of. Raises VolumeTypeNotFound, VolumeTypeDefault, VolumeTypeInUse."""
    in_transaction(lambda: _delete(type_id))


def _delete(type_id: uuid.UUID) -> None:
    row = _locked(type_id)
    if row.is_default:
        raise VolumeTypeDefault(_("Volume type {row} is the default: make another one the default first.", row=row))
    if count := Volume.objects.filter(Q(volume_type=row) | Q(wanted_type=row)).count():
        raise VolumeTypeInUse(_("{count} volumes are of type {row}.", count=count, row=row), volumes=count)
    row.delete()


@audited("volume_type.access_add", VolumeType, by="type_id", also=("project_id",))
def volume_type_access_add(*, type_id: uuid.UUID, project_id: uuid.UUID) -> None:
    """Let a project use a type that is not public; twice is once. Raises VolumeTypeNotFound, NotFound for the project,
    VolumeTypeAccessPublic.
    """

    def work() -> None:
        row = _private(type_id)
        project = project_get(project_id=project_id)
        VolumeTypeAccess.objects.get_or_create(volume_type=row, project=project)

    in_transaction(work)


@audited("volume_type.access_remove", VolumeType, by="type_id", also=("project_id",))
def volume_type_access_remove(*, type_id: uuid.UUID, project_id: uuid.UUID) -> None:
    """Take it back; what volumes the project has of it stay. Raises VolumeTypeNotFound, VolumeTypeAccessPublic."""

    def work() -> None:
        VolumeTypeAccess.objects.filter(volume_type=_private(type_id), project_id=project_id).delete()

    in_transaction(work)


def _private(type_id: uuid.UUID) -> VolumeType:
    row = _locked(type_id)
    if row.is_public:
        raise VolumeTypeAccessPublic(
            _("Volume type {row} is public: every project may use it.", row=row), field="is_public"
        )
    return row


def _locked(type_id: uuid.UUID) -> VolumeType:
    row = VolumeType.objects.select_for_update().filter(pk=type_id).first()
    if row is None:
        raise VolumeTypeNotFound(_("Volume type {type_id} does not exist.", type_id=type_id))
    return row


def _request_of(row: VolumeType) -> VolumeTypeRequest:
    return VolumeTypeRequest(id=row.pk, **{name: _typed(getattr(row, name)) for name in CHANGEABLE})


def _typed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _columns(request: VolumeTypeRequest) -> dict[str, Any]:
    values = {name: getattr(request, name) for name in CHANGEABLE}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
