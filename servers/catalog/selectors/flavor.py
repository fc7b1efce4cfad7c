"""Reading flavors. One that is not public is for admins."""

import uuid
from typing import Any

from django.db.models import Q, QuerySet

from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Invalid, NotFound
from controlplane.kernel.ids import parse_uuid
from servers.models import Flavor


def flavors_visible(*, caller: Caller) -> QuerySet[Flavor]:
    """All for an admin; the public ones that take new instances for everybody else."""
    rows = Flavor.objects.all()
    return rows if caller.is_admin else rows.filter(is_public=True, disabled=False)


def flavor_get(*, caller: Caller, flavor_id: uuid.UUID) -> Flavor:
    """Raises NotFound, also for one that the caller may not know of."""
    flavor = flavors_visible(caller=caller).filter(pk=flavor_id).first()
    if flavor is None:
        raise NotFound(f"Flavor {flavor_id} does not exist.")
    return flavor


def flavor_for_instance(*, caller: Caller, reference: str) -> Flavor:
    """The flavor with this id or name, if it takes new instances. Raises Invalid for the field `flavor`."""
    by_name = Q(name=reference)
    pk = parse_uuid(reference)
    rows = flavors_visible(caller=caller).filter(by_name | Q(pk=pk) if pk else by_name)
    flavor = next((row for row in rows if row.pk == pk), None) or rows.first()
    if flavor is None:
        raise Invalid(f"Flavor {reference:.80} does not exist.", field="flavor")
    if flavor.disabled:
        raise Invalid(f"Flavor {flavor.name} is disabled: it takes no new instances.", field="flavor")
    return flavor


def flavor_snapshot(flavor: Flavor) -> dict[str, Any]:
    """What is stored of its flavor with an instance: the arguments of `scheduling.domain.FlavorSnapshot`."""
    return {
        "id": str(flavor.pk),
        "name": flavor.name,
        "vcpus": flavor.vcpus,
        "memory_mib": flavor.memory_mib,
        "root_gib": flavor.root_gib,
        "ephemeral_gib": flavor.ephemeral_gib,
        "swap_mib": flavor.swap_mib,
        "extra_specs": dict(flavor.extra_specs),
    }
