"""Changing flavors: for admins, which the policy of the door decides."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Now

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.selectors import project_get
from controlplane.kernel.errors import Conflict, NotFound
from controlplane.kernel.texts import phrase as _
from servers.catalog.domain.flavor_rules import flavor_problems
from servers.fields import refuse_if
from servers.models import Flavor, FlavorAccess

CHANGEABLE = frozenset(
    {
        "name",
        "description",
        "vcpus",
        "memory_mib",
        "root_gib",
        "ephemeral_gib",
        "swap_mib",
        "is_public",
        "disabled",
        "extra_specs",
    }
)


@audited("flavor.create", Flavor)
def flavor_create(
    *,
    name: str,
    vcpus: int,
    memory_mib: int,
    root_gib: int = 0,
    ephemeral_gib: int = 0,
    swap_mib: int = 0,
    is_public: bool = True,
    disabled: bool = False,
    description: str = "",
    extra_specs: Mapping[str, str] | None = None,
    flavor_id: uuid.UUID | str | None = None,
    rxtx_factor: float = 1.0,
) -> Flavor:
    """A new flavor. An id that is no uuid is what OpenStack's clients call it; it has one of ours beside it.

    Raises InvalidFields, and Conflict when its name or id is taken.
    """
    fields: dict[str, Any] = {
        "name": name,
        "vcpus": vcpus,
        "memory_mib": memory_mib,
        "root_gib": root_gib,
        "ephemeral_gib": ephemeral_gib,
        "swap_mib": swap_mib,
        "is_public": is_public,
        "disabled": disabled,
        "description": description,
        "extra_specs": dict(extra_specs or {}),
    }
    refuse_if(flavor_problems(fields))
    fields["rxtx_factor"] = rxtx_factor
    if flavor_id is not None:
        fields["given_id" if isinstance(flavor_id, str) else "id"] = flavor_id
    try:
        with transaction.atomic():
            return Flavor.objects.create(**fields)
    except IntegrityError as error:
        same_id = Q(given_id=flavor_id) if isinstance(flavor_id, str) else Q(pk=flavor_id)
        if flavor_id is not None and Flavor.objects.filter(same_id).exists():
            raise Conflict(
                _("A flavor with the id {flavor_id} exists already.", flavor_id=flavor_id), field="id"
            ) from error
        raise _taken(name) from error


@audited("flavor.update", Flavor, by="flavor_id")
def flavor_update(*, flavor_id: uuid.UUID, changes: Mapping[str, Any]) -> Flavor:
    """Change some of CHANGEABLE. Instances keep their snapshot. Raises as `flavor_create`, and NotFound.

    The whole flavor is judged as it will be, so its row is locked: two edits that are fine each may not be together.
    """
    refuse_if(
        {field: [_("There is no such field, or it cannot be changed.")] for field in changes if field not in CHANGEABLE}
    )
    try:
        with transaction.atomic():
            flavor = Flavor.objects.select_for_update().filter(pk=flavor_id).first()
            if flavor is None:
                raise NotFound(_("Flavor {flavor_id} does not exist.", flavor_id=flavor_id))
            refuse_if(flavor_problems(changes, stored=flavor_fields(flavor)))
            Flavor.objects.filter(pk=flavor_id).update(**changes, updated_at=Now())
    except IntegrityError as error:
        raise _taken(str(changes.get("name", ""))) from error
    return Flavor.objects.get(pk=flavor_id)


@audited("flavor.update", Flavor, by="flavor_id", also=("changes",))
def flavor_specs_change(*, flavor_id: uuid.UUID, changes: Mapping[str, str | None]) -> Flavor:
    """Write some of its extra specs, and take away those that are None; the others stay. Raises as `flavor_update`, and
    NotFound for one to be taken away that is not there.
    """
    with transaction.atomic():
        flavor = Flavor.objects.select_for_update().filter(pk=flavor_id).first()
        if flavor is None:
            raise NotFound(_("Flavor {flavor_id} does not exist.", flavor_id=flavor_id))
        missing = [key for key, value in changes.items() if value is None and key not in flavor.extra_specs]
        if missing:
            raise NotFound(
                _("Flavor {flavor} has no extra spec {missing:.80}.", flavor=flavor.name, missing=missing[0])
            )
        merged = {**flavor.extra_specs, **changes}
        left = {key: value for key, value in merged.items() if value is not None}
        return flavor_update(flavor_id=flavor_id, changes={"extra_specs": left})


def flavor_fields(flavor: Flavor) -> dict[str, Any]:
    """The fields of CHANGEABLE as they are, for the rules that judge an edit."""
    return {field: getattr(flavor, field) for field in CHANGEABLE}


@audited("flavor.delete", Flavor, by="flavor_id")
def flavor_delete(*, flavor_id: uuid.UUID) -> None:
    """Take it off the offer. What runs keeps its snapshot. Raises NotFound."""
    deleted, _rest = Flavor.objects.filter(pk=flavor_id).delete()
    if not deleted:
        raise NotFound(_("Flavor {flavor_id} does not exist.", flavor_id=flavor_id))


@audited("flavor.access_add", Flavor, by="flavor_id", also=("project_id",))
def flavor_access_add(*, flavor_id: uuid.UUID, project_id: uuid.UUID) -> None:
    """Let a project use a flavor that is not public; twice is once. Raises NotFound for either, Conflict for a public
    one.
    """
    with transaction.atomic():
        flavor = _private(flavor_id)
        FlavorAccess.objects.get_or_create(flavor=flavor, project=project_get(project_id=project_id))


@audited("flavor.access_remove", Flavor, by="flavor_id", also=("project_id",))
def flavor_access_remove(*, flavor_id: uuid.UUID, project_id: uuid.UUID) -> None:
    """Take it back; what the project made of it runs on. Raises NotFound, also where it was not given, and Conflict."""
    with transaction.atomic():
        removed, _rest = FlavorAccess.objects.filter(flavor=_private(flavor_id), project_id=project_id).delete()
        if not removed:
            raise NotFound(_("Project {project_id} was not given it.", project_id=project_id), field="project")


def _private(flavor_id: uuid.UUID) -> Flavor:
    flavor = Flavor.objects.select_for_update().filter(pk=flavor_id).first()
    if flavor is None:
        raise NotFound(_("Flavor {flavor_id} does not exist.", flavor_id=flavor_id))
    if flavor.is_public:
        raise Conflict(_("Flavor {flavor} is public: every project may use it.", flavor=flavor.name), field="is_public")
    return flavor


def _taken(name: str) -> Conflict:
    return Conflict(_("A flavor named {name} exists already.", name=name), field="name")
