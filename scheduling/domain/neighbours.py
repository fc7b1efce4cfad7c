"""Rules about who else is on a host, asked again by the claim: the filters saw only instances that had a row there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.request.schedule_request import ScheduleRequest

MAX_INSTANCES, MAX_IO_OPS = "max_instances_per_host", "max_io_ops_per_host"
"""Names of limits that filters give the hosts which they pass (`Selection.limits`)."""
TYPE_AFFINITY, DIFFERENT_HOST = "TypeAffinityFilter", "DifferentHostFilter"


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An instance that is on a host or has a claim there. `flavor_id` None: nobody knows it, as with a stray claim.

    `is_busy`: it is being built, or what is done with it keeps disks busy. `host` is empty while it has only a claim.
    """

    uuid: str
    host: str = ""
    flavor_id: str | None = None
    is_busy: bool = False


@dataclass(frozen=True, slots=True)
class NeighbourRules:
    """What one host must keep, the instances of the claim included. None and empty: no such rule."""

    max_instances: int | None = None
    max_io_ops: int | None = None
    flavor_id: str | None = None
    apart_from: frozenset[str] = frozenset()


NO_RULES = NeighbourRules()


def neighbour_terms(request: ScheduleRequest, filters: Sequence[str]) -> dict[str, Any]:
    """What the rules of all hosts have in common, as plain values; empty for most requests, and where no filter ran."""
    if request.is_forced:
        return {}
    terms: dict[str, Any] = {}
    if TYPE_AFFINITY in filters:
        terms["flavor_id"] = request.flavor.id
    if DIFFERENT_HOST in filters and request.hints.get("different_host"):
        terms["apart_from"] = list(request.hints["different_host"])
    return terms


def neighbour_rules(limits: Mapping[str, Any], terms: Mapping[str, Any]) -> NeighbourRules:
    """The rules of one host: its own limits, and what it has in common with the others."""
    return NeighbourRules(
        max_instances=int(limits[MAX_INSTANCES]) if MAX_INSTANCES in limits else None,
        max_io_ops=int(limits[MAX_IO_OPS]) if MAX_IO_OPS in limits else None,
        flavor_id=terms.get("flavor_id"),
        apart_from=frozenset(terms.get("apart_from", ())),
    )


def neighbour_refusal(rules: NeighbourRules, there: Sequence[Neighbour], own: frozenset[str]) -> Refusal | None:
    """The first rule that `there`, everybody on the host and so also who claims (`own`), breaks; as its filter says it.

    Of numbers `available` is how many were there before.
    """
    others = [one for one in there if one.uuid not in own]
    busy = sum(one.is_busy for one in others)
    if rules.max_instances is not None and len(others) + len(own) > rules.max_instances:
        return Refusal(RefusalReason.NUM_INSTANCES, wanted=rules.max_instances, available=len(others))
    if rules.max_io_ops is not None and busy + len(own) > rules.max_io_ops:
        return Refusal(RefusalReason.IO_OPS, wanted=rules.max_io_ops, available=busy)
    flavors = sorted({one.flavor_id for one in others if one.flavor_id is not None} - {rules.flavor_id})
    if rules.flavor_id is not None and flavors:
        return Refusal(RefusalReason.OTHER_FLAVOR_ON_HOST, wanted=rules.flavor_id, available=", ".join(flavors))
    unwanted = sorted(one.uuid for one in others if one.uuid in rules.apart_from)
    if unwanted:
        return Refusal(RefusalReason.NOT_DIFFERENT_HOST, available=unwanted[0])
    return None
