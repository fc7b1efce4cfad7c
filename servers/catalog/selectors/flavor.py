"""Reading flavors. One that is not public is for admins, and for the projects that were given it."""

import uuid
from collections.abc import Iterable
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from controlplane.identity.domain import Caller
from controlplane.infra.db import uuid_value
from controlplane.infra.prepared import PreparedQuery
from controlplane.kernel.errors import Invalid, NotFound
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _
from servers.catalog.domain.device_profiles import PROFILE_KEY, device_profile_expanded
from servers.catalog.selectors.device_profile import device_groups
from servers.models import Flavor, FlavorAccess


def flavors_visible(*, caller: Caller) -> QuerySet[Flavor]:
    """All for an admin; of those that take new instances the public ones, and the project's own, for everybody else."""
    return Flavor.objects.all() if caller.sees_all else _visible_in(caller.project_id)


def _visible_in(project_id: uuid.UUID) -> QuerySet[Flavor]:
    given = FlavorAccess.objects.filter(flavor=OuterRef("pk"), project_id=project_id)
    return Flavor.objects.filter(Q(is_public=True) | Exists(given), disabled=False)


def _called(flavors: QuerySet[Flavor], reference: str, pk: uuid.UUID) -> QuerySet[Flavor]:
    return flavors.filter(Q(name=reference) | Q(given_id=reference) | Q(pk=pk))


_NO_ID = uuid.UUID(int=0)
_CALLED = PreparedQuery(
    "flavor_called", lambda text, pk: _called(Flavor.objects.all(), text, pk), types=["text", "uuid"]
)
_CALLED_IN = PreparedQuery(
    "flavor_called_in",
    lambda text, pk, project: _called(_visible_in(project), text, pk),
    types=["text", "uuid", "uuid"],
)


def _flavors_called(caller: Caller, reference: str, pk: uuid.UUID | None) -> list[Flavor]:
    """Those of `flavors_visible` with this name or id, in the order of lists. One query."""
    asked = [reference, uuid_value(pk or _NO_ID)]
    return _CALLED.run(asked) if caller.sees_all else _CALLED_IN.run([*asked, uuid_value(caller.project_id)])


def flavor_projects(*, flavor_id: uuid.UUID) -> list[tuple[uuid.UUID, str]]:
    """The projects that were given it, by name. One query. For admins."""
    rows = FlavorAccess.objects.filter(flavor_id=flavor_id).order_by("project__name")
    return list(rows.values_list("project_id", "project__name"))


def flavor_get(*, caller: Caller, flavor_id: uuid.UUID) -> Flavor:
    """Raises NotFound, also for one that the caller may not know of."""
    flavor = flavors_visible(caller=caller).filter(pk=flavor_id).first()
    if flavor is None:
        raise NotFound(_("Flavor {flavor_id} does not exist.", flavor_id=flavor_id))
    return flavor


def flavor_known_as(*, caller: Caller, wire_id: str) -> Flavor:
    """By the id that OpenStack's clients call it. Raises NotFound as `flavor_get`."""
    pk = parse_uuid(wire_id)
    flavor = flavors_visible(caller=caller).filter(Q(pk=pk) if pk else Q(given_id=wire_id)).first()
    if flavor is None:
        raise NotFound(_("Flavor {wire_id:.255} could not be found.", wire_id=wire_id))
    return flavor


def flavor_ids_known_as(*, wire_id: str) -> list[uuid.UUID]:
    """The id of the flavor that OpenStack's clients call so, also of one that is gone or that the caller may not know
    of: what instances have of it stays. Empty where no flavor is called so.
    """
    pk = parse_uuid(wire_id)
    return [pk] if pk else list(Flavor.objects.filter(given_id=wire_id).values_list("pk", flat=True))


def flavor_for_instance(*, caller: Caller, reference: str) -> Flavor:
    """The flavor with this id or name, if it takes new instances. Raises Invalid for the field `flavor`."""
    pk = parse_uuid(reference)
    rows = _flavors_called(caller, reference, pk)
    flavor = next((row for row in rows if row.pk == pk or row.given_id == reference), next(iter(rows), None))
    if flavor is None:
        raise Invalid(_("Flavor {reference:.80} does not exist.", reference=reference), field="flavor")
    if flavor.disabled:
        raise Invalid(_("Flavor {flavor} is disabled: it takes no new instances.", flavor=flavor.name), field="flavor")
    profile = flavor.extra_specs.get(PROFILE_KEY, "")
    if profile and profile not in device_groups([profile]):
        raise Invalid(
            _(
                "Flavor {flavor} asks for the device profile {profile:.80}, which does not exist.",
                flavor=flavor.name,
                profile=profile,
            ),
            field="flavor",
        )
    return flavor


def flavor_snapshot(flavor: Flavor) -> dict[str, Any]:
    """What is stored of its flavor with an instance: the arguments of `scheduling.domain.FlavorSnapshot`, with what its
    device profile, if it asks for one, says now.
    """
    return flavor_snapshots([flavor])[0]


def flavor_snapshots(flavors: Iterable[Flavor]) -> list[dict[str, Any]]:
    """The same of many. One query where one of them asks for a device profile, else none."""
    rows = list(flavors)
    groups = device_groups({flavor.extra_specs.get(PROFILE_KEY, "") for flavor in rows})
    return [
        {
            "id": str(flavor.pk),
            "given_id": flavor.given_id or "",
            "name": flavor.name,
            "vcpus": flavor.vcpus,
            "memory_mib": flavor.memory_mib,
            "root_gib": flavor.root_gib,
            "ephemeral_gib": flavor.ephemeral_gib,
            "swap_mib": flavor.swap_mib,
            "extra_specs": device_profile_expanded(
                flavor.extra_specs, groups.get(flavor.extra_specs.get(PROFILE_KEY, ""), ())
            ),
        }
        for flavor in rows
    ]
