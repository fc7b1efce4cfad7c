"""The instances of a server group."""

import uuid
from collections.abc import Sequence

from servers.instances.selectors.pending import pending_instance
from servers.models import BuildRequest, Instance


def group_members(instance_ids: Sequence[uuid.UUID]) -> list[Instance]:
    """These instances by name, and the requests among them that have no row yet as unsaved rows. Two queries."""
    rows = {one.pk: one for one in Instance.objects.filter(pk__in=instance_ids, deleted_at__isnull=True)}
    for request in BuildRequest.objects.filter(instance_uuid__in=instance_ids):
        rows.setdefault(request.instance_uuid, pending_instance(request))
    return sorted(rows.values(), key=lambda one: (one.name, str(one.pk)))
