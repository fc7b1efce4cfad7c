"""This module frees claims whose instance is gone: what is left when a process dies between a claim and its use."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from controlplane.infra.db import in_transaction
from controlplane.kernel.texts import phrase as _
from controlplane.work.heals import ORPHAN_CLAIMS, heal_record
from placement.domain import AllocationView
from placement.selectors import allocations_by_consumer, consumer_generations, consumers_older_than
from placement.services.heal import consumer_free_if
from scheduling.topology.selectors.claims import topology_owners_older_than
from scheduling.topology.services.claims import topologies_free
from servers.repair.selectors.consumers import consumers_without_owner

log = logging.getLogger(__name__)
GRACE_S = 20.0
"""A claim in use always has an owner: the build request is there before its claim, the instance before that goes."""


def orphan_claims_free() -> int:
    """Free claims of consumers that are no instance and no build request, once they are GRACE_S seconds old.

    Returns how many were freed. Cells and devices go with the allocations; they are left alone where a client of
    Placement took the allocations away.
    """
    topologies = topology_owners_older_than(seconds=GRACE_S)
    consumers = [*consumers_older_than(seconds=GRACE_S), *topologies]
    ownerless = consumers_without_owner(consumers)
    orphans = [consumer for consumer in dict.fromkeys(consumers) if consumer in ownerless]
    if not orphans:
        return 0
    held, generations = allocations_by_consumer(orphans), consumer_generations(orphans)
    freed = []
    for orphan in orphans:
        freeing = _Freeing(orphan, generations.get(orphan), held.get(orphan, []), orphan in topologies)
        if in_transaction(freeing.run):
            freed.append(orphan)
    if freed:
        log.warning("freed %d claims without an instance: %s", len(freed), freed[:10])
    return len(freed)


@dataclass(frozen=True, slots=True)
class _Freeing:
    """The freeing of one orphan, as it was seen. `generation` None: it has no allocations."""

    orphan: UUID
    generation: int | None
    held: Sequence[AllocationView]
    had_topology: bool

    def run(self) -> bool:
        """Free the orphan; False if it has an owner by now.

        Invariant: with its consumer locked nobody can claim for it, so the owner is read again there. An instance that
        was scheduled again since has a build request and a new claim by now.
        """
        if self.generation is None:
            is_freed = self._is_ownerless()
        else:
            is_freed = consumer_free_if(self.orphan, generation=self.generation, still=self._is_ownerless)
        if not is_freed:
            return False
        if self.had_topology:
            topologies_free([self.orphan])
        heal_record(
            kind=ORPHAN_CLAIMS,
            subject=self.orphan,
            found=_(
                "Consumer {orphan} held claims for more than {grace_s:.0f} s without instance or build request.",
                orphan=self.orphan,
                grace_s=GRACE_S,
            ),
            done=_("Its allocations, cells and devices were given back."),
            evidence={
                "held": {f"{one.resource_class} of {one.provider_name}": one.used for one in self.held},
                "had_topology": self.had_topology,
                "grace_s": GRACE_S,
            },
        )
        return True

    def _is_ownerless(self) -> bool:
        return bool(consumers_without_owner([self.orphan]))
