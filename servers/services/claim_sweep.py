"""Claims whose instance is gone: what is left when a process dies between a claim and its use."""

import logging

from placement.selectors import consumers_older_than
from placement.services import allocations_free
from servers.selectors.consumers import consumers_without_owner

log = logging.getLogger(__name__)
GRACE_S = 60.0


def orphan_claims_free() -> int:
    """Free the allocations of consumers that are no instance and no build request, once GRACE_S seconds old."""
    consumers = consumers_older_than(seconds=GRACE_S)
    ownerless = consumers_without_owner(consumers)
    orphans = [consumer for consumer in consumers if consumer in ownerless]
    if orphans:
        log.warning("freeing %d claims without an instance: %s", len(orphans), orphans[:10])
        allocations_free(orphans)
    return len(orphans)
