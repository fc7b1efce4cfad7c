"""A chosen host with all that is needed to claim it, now or later as an alternate."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from scheduling.domain.trace.trace import Trace, TraceSelection


@dataclass(frozen=True, slots=True)
class Selection:
    """A host for one instance. `resources` is all that is claimed, by class.

    `allocations` is {provider: {class: amount}}: the same by provider, which are the compute node's own and those
    below it or shared with it. `count_limits` is {key: most}: how many instances with that key the host may have,
    this one included. `topology` is what is claimed of the host's cells and devices besides, in the form of
    `scheduling.domain.hosts.topology_needs`; empty where nothing is. `neighbours` say who else may be there, as
    `scheduling.domain.neighbours.neighbour_terms`; the numbers of that are in `limits`.
    """

    host: str
    node: str
    compute_node_uuid: UUID
    cell_uuid: UUID
    availability_zone: str
    resources: Mapping[str, int]
    limits: Mapping[str, Any] = field(default_factory=dict)
    score: float = 0.0
    rank: int = 1
    count_limits: Mapping[str, int] = field(default_factory=dict)
    allocations: Mapping[UUID, Mapping[str, int]] = field(default_factory=dict)
    topology: Mapping[str, Any] = field(default_factory=dict)
    neighbours: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InstanceDestination:
    """One instance: the host it has a claim on, and unclaimed hosts to try when that one refuses."""

    instance_uuid: UUID
    selected: Selection
    alternates: tuple[Selection, ...] = ()


@dataclass(frozen=True, slots=True)
class _Terms:
    """What all selections of a run have in common, named as there."""

    count_limits: Mapping[str, int]
    topology: Mapping[str, Any]
    neighbours: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Destinations:
    """A whole batch, claimed, in the order it was asked for, and the decision that tells why."""

    decision_id: UUID
    instances: tuple[InstanceDestination, ...]


def destinations_of(
    trace: Trace,
    *,
    decision_id: UUID,
    count_limits: Mapping[str, int] | None = None,
    topology: Mapping[str, Any] | None = None,
    neighbours: Mapping[str, Any] | None = None,
) -> Destinations:
    """The selections of a trace, with what each claims."""
    terms = _Terms(count_limits or {}, topology or {}, neighbours or {})
    # Instances of a batch have the very same alternates: each of those is made once.
    alternates: dict[tuple[int, ...], tuple[Selection, ...]] = {}
    for each in trace.selections:
        key = tuple(map(id, each.alternates))
        if key not in alternates:
            alternates[key] = tuple(_selection(one, trace.resources, terms) for one in each.alternates)
    return Destinations(
        decision_id=decision_id,
        instances=tuple(
            InstanceDestination(
                instance_uuid=UUID(each.instance_uuid),
                selected=_selection(each.selected, trace.resources, terms),
                alternates=alternates[tuple(map(id, each.alternates))],
            )
            for each in trace.selections
        ),
    )


def allocations_of(chosen: TraceSelection, resources: Mapping[str, int]) -> dict[UUID, dict[str, int]]:
    """What an instance on this host claims, by provider; `resources` are the trace's."""
    if not chosen.allocations:
        return {UUID(chosen.compute_node_uuid): dict(resources)}
    return {UUID(provider): dict(classes) for provider, classes in chosen.allocations.items()}


def _selection(chosen: TraceSelection, resources: Mapping[str, int], terms: _Terms) -> Selection:
    allocations = allocations_of(chosen, resources)
    return Selection(
        host=chosen.host,
        node=chosen.nodename,
        compute_node_uuid=UUID(chosen.compute_node_uuid),
        cell_uuid=UUID(chosen.cell_uuid),
        availability_zone=chosen.availability_zone,
        resources=_sums(allocations),
        limits=dict(chosen.limits),
        score=chosen.score,
        rank=chosen.rank,
        count_limits=dict(terms.count_limits),
        allocations=allocations,
        topology=dict(terms.topology),
        neighbours=dict(terms.neighbours),
    )


def _sums(allocations: Mapping[UUID, Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for classes in allocations.values():
        for name, amount in classes.items():
            total[name] = total.get(name, 0) + amount
    return total


def selection_to_json(selection: Selection) -> dict[str, Any]:
    """Plain values, to be kept with an instance."""
    return {
        "host": selection.host,
        "node": selection.node,
        "compute_node_uuid": str(selection.compute_node_uuid),
        "cell_uuid": str(selection.cell_uuid),
        "availability_zone": selection.availability_zone,
        "resources": dict(selection.resources),
        "limits": dict(selection.limits),
        "score": selection.score,
        "rank": selection.rank,
        "count_limits": dict(selection.count_limits),
        "allocations": {str(provider): dict(classes) for provider, classes in selection.allocations.items()},
        "topology": dict(selection.topology),
        "neighbours": dict(selection.neighbours),
    }


def selection_from_json(data: Mapping[str, Any]) -> Selection:
    """The inverse of `selection_to_json`.

    What was kept before there were count limits, or terms about neighbours, has none; before there were allocations,
    all is of the compute node.
    """
    uuids = {name: UUID(data[name]) for name in ("compute_node_uuid", "cell_uuid")}
    stored = data.get("allocations") or {data["compute_node_uuid"]: data["resources"]}
    allocations = {UUID(provider): dict(classes) for provider, classes in stored.items()}
    return Selection(**{**data, **uuids, "allocations": allocations})
