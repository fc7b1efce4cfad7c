"""How many instances each flavor has."""

import uuid
from collections.abc import Mapping, Sequence

from django.db.models import Count

from servers.models import Instance


def instances_by_flavor(flavor_ids: Sequence[uuid.UUID]) -> Mapping[uuid.UUID, int]:
    """Living instances of all projects that were made of these; those of none are left out. One query. For admins."""
    rows = Instance.objects.filter(flavor_id__in=flavor_ids, deleted_at__isnull=True).order_by()
    counts = rows.values("flavor_id").annotate(many=Count("pk")).values_list("flavor_id", "many")
    return {flavor_id: many for flavor_id, many in counts if flavor_id is not None}
