"""Claims whose instance is gone: what is left when a process dies between a claim and its use."""

import logging
from collections.abc import Sequence
from uuid import UUID

from controlplane.infra.db import in_transaction
from controlplane.infra.heals import ORPHAN_CLAIMS, heal_record
from placement.domain import AllocationView
from placement.selectors import allocations_by_consumer, consumers_older_than
from scheduling.selectors.topology_claims import topology_owners_older_than
from scheduling.services import claims_free
from servers.selectors.consumers import consumers_without_owner

log = logging.getLogger(__name__)
GRACE_S = 20.0
"""A claim in use always has an owner: the build request is there before its claim, the instance before that goes."""


def orphan_claims_free() -> int:
    """Free what is held by nobody: no instance and no build request, once GRACE_S seconds old.

    Allocations, and cells and devices, which are left alone where a client of Placement took the allocations away.
    """
    topologies = topology_owners_older_than(seconds=GRACE_S)
    consumers = [*consumers_older_than(seconds=GRACE_S), *topologies]
    ownerless = consumers_without_owner(consumers)
    orphans = [consumer for consumer in dict.fromkeys(consumers) if consumer in ownerless]
    if orphans:
        log.warning("freeing %d claims without an instance: %s", len(orphans), orphans[:10])
        held = allocations_by_consumer(orphans)
        in_transaction(lambda: _free(orphans, held, set(topologies)))
    return len(orphans)


def _free(orphans: Sequence[UUID], held: dict[UUID, list[AllocationView]], topologies: set[UUID]) -> None:
    claims_free(orphans)
    for orphan in orphans:
        amounts = {f"{one.resource_class} of {one.provider_name}": one.used for one in held.get(orphan, [])}
        heal_record(
            kind=ORPHAN_CLAIMS,
            subject=orphan,
            found=f"Consumer {orphan} held claims for more than {GRACE_S:.0f} s without instance or build request.",
            done="Its allocations, cells and devices were given back.",
            evidence={"held": amounts, "had_topology": orphan in topologies, "grace_s": GRACE_S},
        )
