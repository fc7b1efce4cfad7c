"""Claims whose instance is gone: what is left when a process dies between a claim and its use."""

import logging

from placement.selectors import consumers_older_than
from placement.services import allocations_free
from servers.models import BuildRequest, Instance

log = logging.getLogger(__name__)
GRACE_S = 60.0


def orphan_claims_free() -> int:
    """Free the allocations of consumers that are no instance and no build request, once GRACE_S seconds old."""
    consumers = consumers_older_than(seconds=GRACE_S)
    owned = set(Instance.objects.filter(pk__in=consumers, deleted_at__isnull=True).values_list("pk", flat=True))
    owned |= set(BuildRequest.objects.filter(instance_uuid__in=consumers).values_list("instance_uuid", flat=True))
    orphans = [consumer for consumer in consumers if consumer not in owned]
    if orphans:
        log.warning("freeing %d claims without an instance: %s", len(orphans), orphans[:10])
        allocations_free(orphans)
    return len(orphans)
