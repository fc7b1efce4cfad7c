"""Instances whose host was removed and came back: it is a new compute node, and they are on it again."""

from uuid import UUID

from django.db.models import F
from django.db.models.functions import Now

from servers.models import Instance


def instances_adopt(*, host: str, compute_node_uuid: UUID) -> int:
    """Let the living instances of the host name its node. One UPDATE, which writes only where they name another.

    What they hold of the new node is put right with the other drift of allocations. Returns how many.
    """
    living = Instance.objects.filter(host=host, deleted_at__isnull=True)
    others = living.exclude(compute_node_uuid=compute_node_uuid)
    return others.update(compute_node_uuid=compute_node_uuid, generation=F("generation") + 1, updated_at=Now())
