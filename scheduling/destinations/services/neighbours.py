"""A claim that keeps the rules about neighbours too: made, looked at behind its own locks, undone if it breaks one."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import NoCapacity
from controlplane.kernel.texts import phrase as _
from placement.domain import Claim
from scheduling.domain.neighbours import NO_RULES, NeighbourRules, neighbour_refusal, neighbour_rules
from scheduling.fleet.selectors.neighbours import neighbours_now
from scheduling.topology.domain.loss import NEIGHBOURS, loss_of
from scheduling.topology.services.claims import TopologyRequest, claims_make


@dataclass(frozen=True, slots=True)
class Place:
    """The compute node that a claim is on, by its uuid and service host, and what it must keep of neighbours there."""

    consumer: str
    node: UUID
    host: str
    rules: NeighbourRules

    @classmethod
    def of(cls, claim: Claim, node: UUID, host: str, limits: Mapping[str, Any], terms: Mapping[str, Any]) -> "Place":
        """`limits` are the host's own, `terms` what all hosts have in common."""
        return cls(str(claim.consumer_uuid), node, host, neighbour_rules(limits, terms))


def claims_make_among(
    claims: Sequence[Claim], topology_requests: Sequence[TopologyRequest], places: Sequence[Place]
) -> None:
    """As `claims_make`. Raises NoCapacity also for a rule about neighbours that breaks; most requests have none.

    The claim has the lock of each node's provider, so whoever else claims there came before and is seen, or comes
    later and sees this one.
    """
    asked = [place for place in places if place.rules != NO_RULES]
    if not asked:
        claims_make(claims, topology_requests)
        return

    def work() -> None:
        claims_make(claims, topology_requests)
        _check(asked)

    in_transaction(work)


def _check(places: Sequence[Place]) -> None:
    there = neighbours_now({place.node: place.host for place in places})
    by_node: dict[UUID, list[Place]] = defaultdict(list)
    for place in places:
        by_node[place.node].append(place)
    losses = []
    for node in sorted(by_node):
        own = frozenset(place.consumer for place in by_node[node])
        refusal = neighbour_refusal(by_node[node][0].rules, there[node], own)
        if refusal is not None:
            losses.append(loss_of(node, refusal, rule=NEIGHBOURS))
    if losses:
        sentences = "; ".join(loss["sentence"] for loss in losses)
        raise NoCapacity(_("No room: {sentences}", sentences=sentences), shortages=losses)
