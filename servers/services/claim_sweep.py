"""Claims whose instance is gone: what is left when a process dies between a claim and its use."""

import logging

from placement.selectors import consumers_older_than
from scheduling.selectors.topology_claims import topology_owners_older_than
from scheduling.services import claims_free
from servers.selectors.consumers import consumers_without_owner

log = logging.getLogger(__name__)
GRACE_S = 60.0


def orphan_claims_free() -> int:
    """Free what is held by nobody: no instance and no build request, once GRACE_S seconds old.

    Allocations, and cells and devices, which are left alone where a client of Placement took the allocations away.
    """
    consumers = [*consumers_older_than(seconds=GRACE_S), *topology_owners_older_than(seconds=GRACE_S)]
    ownerless = consumers_without_owner(consumers)
    orphans = [consumer for consumer in dict.fromkeys(consumers) if consumer in ownerless]
    if orphans:
        log.warning("freeing %d claims without an instance: %s", len(orphans), orphans[:10])
        claims_free(orphans)
    return len(orphans)
