"""What a change of an aggregate would do, before anybody makes it. Nothing is written."""

from uuid import UUID

from scheduling.fleet.selectors.aggregates import aggregate_get, hosts_of_aggregate, zones_elsewhere
from scheduling.fleet.services.aggregates import aggregate_draft_check
from scheduling.policies.selectors.policies import policy_active
from scheduling.whatif.domain.aggregate_effect import AggregateDraft, AggregateEffect, AggregateNow, effect_of


def aggregate_effect(*, aggregate_id: UUID | None, draft: AggregateDraft) -> AggregateEffect:
    """The effect of this draft; without an id, of a new aggregate. Five queries at most, whatever its size.

    Raises NotFound, and InvalidFields and Conflict for what a save would refuse, except hosts of two zones, which are
    in the answer.
    """
    aggregate_draft_check(
        name=draft.name,
        metadata=draft.metadata,
        hosts_added=draft.hosts_added,
        hosts_removed=draft.hosts_removed,
        aggregate_id=aggregate_id,
    )
    if aggregate_id is None:
        now = AggregateNow({}, frozenset(), zones_elsewhere(hosts=draft.hosts_added))
    else:
        row, members = aggregate_get(aggregate_id=aggregate_id), hosts_of_aggregate(aggregate_id=aggregate_id)
        around = zones_elsewhere(hosts={*members, *draft.hosts_added}, aggregate_id=aggregate_id)
        now = AggregateNow(row.metadata, members, around)
    return effect_of(now, draft, policy_active())
