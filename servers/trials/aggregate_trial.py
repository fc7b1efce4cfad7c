"""What a change of an aggregate would do to hosts, instances and room, before anybody makes it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from uuid import UUID

from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.kernel.texts import Translate, in_english
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.domain.snapshots import FlavorSnapshot
from scheduling.fleet.selectors.aggregates import aggregate_get
from scheduling.whatif.domain.aggregate_effect import AggregateDraft, AggregateEffect, MetadataEffect, ZoneMove
from scheduling.whatif.domain.edits import AggregateEdit, FleetEdits
from scheduling.whatif.services.aggregate_effect import aggregate_effect
from scheduling.whatif.services.capacity import MAX_FLAVORS, CapacityReport, capacity_count
from servers.catalog.selectors.flavor import flavor_snapshots, flavors_visible
from servers.instances.selectors.scheduling_facts import fleet_facts
from servers.instances.selectors.zone_change import instances_on_hosts

HOSTS_NAMED = 50
"""Hosts of one move, or in a clash, that an answer names; the others are counted."""


def aggregate_trial(
    *,
    caller: Caller,
    aggregate_id: UUID | None,
    draft: AggregateDraft,
    with_room: bool = False,
    translate: Translate = in_english,
) -> dict[str, Any]:
    """The effect as plain values for API and pages; without an id, of a new aggregate.

    `with_room` counts the room of each flavor on offer before and after, which takes as long as two looks at the
    capacity; a new aggregate that is not there yet has no room to compare. Effects of metadata are said in the language
    of `translate`. Raises as `aggregate_effect` does.
    """
    require(caller, "aggregates:read")
    effect = aggregate_effect(aggregate_id=aggregate_id, draft=draft)
    return {
        "members": effect.members,
        "added": len(effect.added),
        "removed": len(effect.removed),
        "moves": [_move(one) for one in effect.moves],
        "clashes": [asdict(one) for one in effect.clashes[:HOSTS_NAMED]],
        "clash_count": len(effect.clashes),
        "metadata": [_metadata(one, translate) for one in effect.metadata],
        "room": _room(caller, aggregate_id, draft, effect) if with_room and aggregate_id else None,
    }


def _move(move: ZoneMove) -> dict[str, Any]:
    there = instances_on_hosts(hosts=move.hosts, zone=move.before)
    return {
        "before": move.before,
        "after": move.after,
        "hosts": list(move.hosts[:HOSTS_NAMED]),
        "host_count": len(move.hosts),
        "instances": there.count,
        "instances_that_asked": there.asked_for_zone,
    }


def _metadata(one: MetadataEffect, translate: Translate) -> dict[str, Any]:
    return {
        "key": one.key,
        "before": one.before,
        "after": one.after,
        "change": one.change,
        "readers": [reader.plain(translate) for reader in one.readers],
    }


def _room(
    caller: Caller, aggregate_id: UUID, draft: AggregateDraft, effect: AggregateEffect
) -> list[dict[str, Any]] | None:
    """None where the draft cannot be saved: there is no world with a host in two zones."""
    if effect.clashes:
        return None
    rows = flavors_visible(caller=caller).filter(disabled=False).order_by("vcpus", "memory_mib", "name")[:MAX_FLAVORS]
    flavors = [FlavorSnapshot(**found) for found in flavor_snapshots(rows)]
    stored = aggregate_get(aggregate_id=aggregate_id)
    gone: Mapping[str, None] = dict.fromkeys(set(stored.metadata) - set(draft.metadata))
    edit = AggregateEdit(stored.name, {**draft.metadata, **gone}, effect.added, effect.removed)
    facts = fleet_facts(None, scheduling_inputs())
    before = capacity_count(flavors=flavors, fleet_facts=facts)
    after = capacity_count(flavors=flavors, fleet_facts=facts, edits=FleetEdits(aggregates=(edit,)))
    return [
        {"flavor": flavor.name, "before": _count(before, at), "after": _count(after, at)}
        for at, flavor in enumerate(flavors)
    ]


def _count(report: CapacityReport, at: int) -> int | None:
    """None where it cannot be counted."""
    room = report.rows[at].room
    return None if room is None else room.total.count
