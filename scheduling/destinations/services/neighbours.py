"""A claim that keeps the rules about neighbours and the zone too: made, looked at behind its own locks, undone if it
breaks one.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import NoCapacity
from controlplane.kernel.reasons import Refusal, RefusalReason
from controlplane.kernel.texts import phrase as _
from placement.domain import Claim
from scheduling.domain.neighbours import NO_RULES, NeighbourRules, neighbour_refusal
from scheduling.fleet.selectors.neighbours import neighbours_now
from scheduling.fleet.selectors.zones import zones_by_host
from scheduling.topology.domain.loss import NEIGHBOURS, ZONE, loss_of
from scheduling.topology.services.claims import TopologyRequest, claims_free, claims_make


@dataclass(frozen=True, slots=True)
class Place:
    """The compute node that a claim is on, by its uuid and service host, the availability zone that it was chosen in,
    and what it must keep of neighbours there. `default_zone` is that of hosts which no aggregate puts into one.
    """

    consumer: str
    node: UUID
    host: str
    zone: str
    default_zone: str
    rules: NeighbourRules


def claims_make_among(
    claims: Sequence[Claim], topology_requests: Sequence[TopologyRequest], places: Sequence[Place]
) -> None:
    """As `claims_make`. Raises NoCapacity also where a host has left its zone, or a rule about neighbours breaks.

    The claim has the lock of each node's provider, so whoever else claims there, or changes the zone, came before and
    is seen, or comes later and sees this claim.
    """
    asked = [place for place in places if place.rules != NO_RULES]
    if asked:
        in_transaction(lambda: _make(claims, topology_requests, places, asked))
        return
    # Most requests have no rules: their claim stays the one short call that it is outside a transaction.
    claims_make(claims, topology_requests)
    try:
        _zones_check(places)
    except NoCapacity:
        claims_free([claim.consumer_uuid for claim in claims])
        raise


def _make(
    claims: Sequence[Claim],
    topology_requests: Sequence[TopologyRequest],
    places: Sequence[Place],
    asked: Sequence[Place],
) -> None:
    claims_make(claims, topology_requests)
    _zones_check(places)
    _check(asked)


def _zones_check(places: Sequence[Place]) -> None:
    """Every host is still in the zone that its instances are to be of: they keep it."""
    zones = zones_by_host(hosts={place.host for place in places})
    losses = {
        place.node: loss_of(place.node, Refusal(RefusalReason.WRONG_ZONE, wanted=place.zone, available=now), rule=ZONE)
        for place in places
        if (now := zones.get(place.host, place.default_zone)) != place.zone
    }
    _refuse([losses[node] for node in sorted(losses)])


def _check(places: Sequence[Place]) -> None:
    """Claims with equal rules on a node count together; to those with other rules they are neighbours like any."""
    there = neighbours_now({place.node: place.host for place in places})
    alike: dict[tuple[UUID, NeighbourRules], set[str]] = defaultdict(set)
    for place in places:
        alike[place.node, place.rules].add(place.consumer)
    losses: dict[UUID, dict[str, Any]] = {}
    for (node, rules), own in alike.items():
        refusal = neighbour_refusal(rules, there[node], frozenset(own))
        if refusal is not None:
            losses.setdefault(node, loss_of(node, refusal, rule=NEIGHBOURS))
    _refuse([losses[node] for node in sorted(losses)])


def _refuse(losses: Sequence[Mapping[str, Any]]) -> None:
    if losses:
        sentences = "; ".join(loss["sentence"] for loss in losses)
        raise NoCapacity(_("No room: {sentences}", sentences=sentences), shortages=losses)
