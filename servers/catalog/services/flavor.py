"""Changing flavors: for admins, which the policy of the door decides."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from controlplane.kernel.errors import Conflict, NotFound
from servers.catalog.domain.flavor_rules import flavor_problems
from servers.fields import refuse_if
from servers.models import Flavor

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
    flavor_id: uuid.UUID | None = None,
) -> Flavor:
    """A new flavor. Raises InvalidFields, and Conflict when its name or id is taken."""
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
    if flavor_id is not None:
        fields["id"] = flavor_id
    try:
        with transaction.atomic():
            return Flavor.objects.create(**fields)
    except IntegrityError as error:
        raise _taken(name) from error


def flavor_update(*, flavor_id: uuid.UUID, changes: Mapping[str, Any]) -> Flavor:
    """Change some of CHANGEABLE. Instances keep their snapshot. Raises as `flavor_create`, and NotFound.

    The whole flavor is judged as it will be, so its row is locked: two edits that are fine each may not be together.
    """
    refuse_if(
        {field: ["There is no such field, or it cannot be changed."] for field in changes if field not in CHANGEABLE}
    )
    try:
        with transaction.atomic():
            flavor = Flavor.objects.select_for_update().filter(pk=flavor_id).first()
            if flavor is None:
                raise NotFound(f"Flavor {flavor_id} does not exist.")
            refuse_if(flavor_problems(changes, stored=flavor_fields(flavor)))
            Flavor.objects.filter(pk=flavor_id).update(**changes, updated_at=Now())
    except IntegrityError as error:
        raise _taken(str(changes.get("name", ""))) from error
    return Flavor.objects.get(pk=flavor_id)


def flavor_fields(flavor: Flavor) -> dict[str, Any]:
    """The fields of CHANGEABLE as they are, for the rules that judge an edit."""
    return {field: getattr(flavor, field) for field in CHANGEABLE}


def flavor_delete(*, flavor_id: uuid.UUID) -> None:
    """Take it off the offer. What runs keeps its snapshot. Raises NotFound."""
    deleted, _ = Flavor.objects.filter(pk=flavor_id).delete()
    if not deleted:
        raise NotFound(f"Flavor {flavor_id} does not exist.")


def _taken(name: str) -> Conflict:
    return Conflict(f"A flavor named {name} exists already.", field="name")
