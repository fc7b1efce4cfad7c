"""What a version of the policy would make of a batch: recent requests, or so many of one flavor. For admins."""

from dataclasses import asdict
from typing import Any
from uuid import UUID

from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.kernel.texts import Phrase, gettext_noop
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.policies.selectors.policies import policy_get
from scheduling.whatif.domain.policy_batch import BatchOutcome
from scheduling.whatif.services.policy_batch import PolicyBatch, batch_of, policy_batch, requests_of_last_decisions
from scheduling.whatif.services.simulate import policy_wanted
from servers.instances.selectors.scheduling_facts import fleet_facts
from servers.trials.schedule_trial import TrialWanted, flavors_offered, trial_request


def policy_batch_trial(
    *, caller: Caller, policy_id: UUID, last: int = 50, wanted: TrialWanted | None = None, count: int = 0
) -> dict[str, Any]:
    """The sums of the active policy and of this version; `wanted` with `count` in place of the last decisions.

    Raises NotFound, InvalidFields and Invalid naming the field.
    """
    require(caller, "policies:read")
    policy = policy_wanted(str(policy_get(policy_id=policy_id).pk))
    assert policy is not None  # noqa: S101 - it has an id
    requests: tuple[ScheduleRequest, ...]
    left_out = 0
    if wanted is not None:
        asked, request = trial_request(caller, wanted)
        requests, facts = (batch_of(request, count),), fleet_facts(asked, scheduling_inputs())
    else:
        recent = requests_of_last_decisions(last)
        requests, left_out = recent.requests, recent.left_out
        facts = fleet_facts(None, scheduling_inputs())
        if not requests:
            return {"batch": None, "note": Phrase(gettext_noop("There are no decisions about new instances yet."))}
    offers = flavors_offered(caller)
    found = policy_batch(policy=policy, requests=requests, offers=offers, fleet_facts=facts, left_out=left_out)
    return {"batch": _report(found), "note": _note(found)}


def _report(found: PolicyBatch) -> dict[str, Any]:
    return {
        "live": _outcome(found.live),
        "draft": _outcome(found.draft),
        "host_count": found.host_count,
        "kinds": found.kinds,
        "left_out": found.left_out,
        "duration_us": found.duration_us,
    }


def _outcome(one: BatchOutcome) -> dict[str, Any]:
    plain = asdict(one)
    plain["busiest"] = None if one.busiest is None else {"host": one.busiest[0], "instances": one.busiest[1]}
    return {**plain, "failed": one.failed, "room": [asdict(room) for room in one.room]}


def _note(found: PolicyBatch) -> str:
    one = gettext_noop(
        "{count} instances of {kinds} kind, one after another on the fleet as it is now, as if asked for at once: each "
        "finds what the former left, and counts as being built."
    )
    more = gettext_noop(
        "{count} instances of {kinds} kinds, one after another on the fleet as it is now, as if asked for at once: "
        "each finds what the former left, and counts as being built."
    )
    text = Phrase(one if found.kinds == 1 else more, count=found.live.asked, kinds=found.kinds)
    if not found.left_out:
        return text
    left_out = gettext_noop("{sentence} {count} more are left out: a batch has its bounds.")
    return Phrase(left_out, sentence=text, count=found.left_out)
