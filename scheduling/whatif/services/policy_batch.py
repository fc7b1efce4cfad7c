"""A batch of requests under a version of the policy, and under the one that counts now. Nothing is written."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from scheduling.decisions.ledger.content import OtherVersion
from scheduling.decisions.selectors.store import decision_record_of
from scheduling.decisions.services.record import now_us
from scheduling.domain.policy import Policy
from scheduling.domain.request.schedule_request import ScheduleRequest, request_from_dict, request_to_dict
from scheduling.domain.snapshots import FlavorSnapshot
from scheduling.fleet.facts import FleetFacts
from scheduling.models import SchedulingDecision
from scheduling.policies.selectors.policies import policy_active
from scheduling.topology.selectors.pci_aliases import pci_requests_of
from scheduling.whatif.domain.policy_batch import BatchOutcome, batch_run
from scheduling.whatif.selectors.fleet_world import fleet_world

MAX_DECISIONS = 200
MAX_INSTANCES = 500
MAX_KINDS = 20
"""Kinds of requests, by flavor, image, zone and the rest, of which a batch is made."""
MAX_WATCHED = 6
SEED = 1


@dataclass(frozen=True, slots=True)
class PolicyBatch:
    """The same batch under two policies, on the fleet of now. `left_out` instances were more than a batch takes."""

    live: BatchOutcome
    draft: BatchOutcome
    host_count: int
    kinds: int
    left_out: int
    duration_us: int


@dataclass(frozen=True, slots=True)
class RecentRequests:
    """What was asked for lately, equal requests as one. `left_out`: instances of requests that could not be taken."""

    requests: tuple[ScheduleRequest, ...]
    left_out: int


def policy_batch(
    *,
    policy: Policy,
    requests: Sequence[ScheduleRequest],
    offers: Sequence[FlavorSnapshot],
    fleet_facts: FleetFacts,
    left_out: int = 0,
) -> PolicyBatch:
    """Run the batch twice. The room is told of the batch's own flavors, and of some of `offers`.

    Raises Invalid for an empty batch and for one that is too large, PluginFailed naming the plug-in.
    """
    started = now_us()
    count = sum(len(one.instance_uuids) for one in requests)
    if not 1 <= count <= MAX_INSTANCES or len(requests) > MAX_KINDS:
        raise Invalid(
            _(
                "A batch has 1 to {max_instances} instances, of at most {max_kinds} kinds.",
                max_instances=MAX_INSTANCES,
                max_kinds=MAX_KINDS,
            ),
            field="count",
        )
    world = fleet_world(facts=fleet_facts)
    watched = list(_watched(requests, offers))
    live, draft = (batch_run(world, requests, one, watched, seed=SEED) for one in (policy_active(), policy))
    return PolicyBatch(live, draft, len(world.rows), len(requests), left_out, now_us() - started)


def requests_of_last_decisions(last: int) -> RecentRequests:
    """The requests of the last decisions for new instances, in their order, equal ones together. Two queries.

    Moves and rebuilds are left out, and what is beyond the bounds of a batch. Raises Invalid for `last`.
    """
    if not 1 <= last <= MAX_DECISIONS:
        raise Invalid(_("last is a whole number from 1 to {max_decisions}.", max_decisions=MAX_DECISIONS), field="last")
    counts: dict[str, int] = {}
    kinds: dict[str, ScheduleRequest] = {}
    left_out = placed = 0
    for request in reversed(list(_requests(last))):
        key = _kind(request)
        count = len(request.instance_uuids)
        if (key not in kinds and len(kinds) == MAX_KINDS) or placed + count > MAX_INSTANCES:
            left_out += count
            continue
        kinds.setdefault(key, request)
        counts[key] = counts.get(key, 0) + count
        placed += count
    batch = tuple(batch_of(kinds[key], count, at) for at, (key, count) in enumerate(counts.items()))
    return RecentRequests(batch, left_out)


def batch_of(request: ScheduleRequest, count: int, number: int = 0) -> ScheduleRequest:
    """The request for so many instances that exist nowhere."""
    uuids = tuple(f"batch-{number}-{at}" for at in range(count))
    return replace(request, instance_uuids=uuids, min_count=1, num_alternates=0, retry=())


def _requests(last: int) -> Iterator[ScheduleRequest]:
    """The newest first; what this version cannot read is left out."""
    for decision in SchedulingDecision.objects.all()[:last]:
        try:
            request = request_from_dict(decision_record_of(decision=decision).request)
        except (OtherVersion, ValueError, TypeError, KeyError):
            continue
        if not request.is_rebuild and request.requested_destination is None:
            yield request


def _kind(request: ScheduleRequest) -> str:
    """Equal for requests that ask for the same."""
    bare = replace(request, request_id="", user_id="", instance_uuids=(), min_count=None, num_alternates=0, retry=())
    return json.dumps(request_to_dict(bare), sort_keys=True, default=str)


def _watched(requests: Sequence[ScheduleRequest], offers: Sequence[FlavorSnapshot]) -> Iterator[ScheduleRequest]:
    """The batch's flavors, and others from the smallest to the largest, each once."""
    own = {one.flavor.name: one.flavor for one in requests}
    others = [one for one in sorted(offers, key=lambda one: (one.memory_mib, one.vcpus)) if one.name not in own]
    wanted = max(0, MAX_WATCHED - len(own))
    step = max(1, len(others) // wanted) if wanted else 1
    for flavor in [*list(own.values())[:MAX_WATCHED], *others[::step][:wanted]]:
        request = ScheduleRequest("batch", "", "", ("one",), flavor)
        try:
            yield replace(request, pci_requests=pci_requests_of(flavor, request.image))
        except Invalid:
            yield request
