"""Why not this host, and what would make it fit. Every change in the answer was run; nothing is written."""

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.kernel.errors import Invalid
from controlplane.kernel.reasons import Refusal
from controlplane.kernel.texts import phrase as _
from scheduling.decisions.services.record import now_us
from scheduling.domain.hosts.host_rows import HostRow
from scheduling.domain.policy import Policy
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.snapshots import FlavorSnapshot
from scheduling.domain.trace.explanation import Explanation, HostResult, why_not
from scheduling.domain.trace.trace import Trace
from scheduling.fleet.facts import FleetFacts
from scheduling.policies.selectors.policies import policy_active
from scheduling.whatif.domain.edits import NO_EDITS, FleetEdits, world_edited
from scheduling.whatif.domain.nearest_fit.change import Trial
from scheduling.whatif.domain.nearest_fit.rules import rules_refusing
from scheduling.whatif.domain.nearest_fit.search import Fit, fits_anywhere, fits_on_host
from scheduling.whatif.domain.nearest_fit.weights import multipliers_to_win
from scheduling.whatif.domain.world import World, world_run
from scheduling.whatif.selectors.fleet_world import fleet_world
from scheduling.whatif.services.simulate import MAX_INSTANCES

SEED = 1


@dataclass(frozen=True, slots=True)
class HostAnswer:
    """Why not this host. `rules` are all that would refuse it, not the first alone (asked for with `every_rule`).

    `fits` are changes after which it would take one instance; for a host that takes one but is not chosen, the
    multipliers with which it would win.
    """

    explanation: Explanation
    rules: tuple[Refusal, ...]
    fits: tuple[Fit, ...]


@dataclass(frozen=True, slots=True)
class ExplainAnswer:
    """The run as it is, the answer for one host where one was named, and what would place the whole batch."""

    trial: Trial
    trace: Trace
    host: HostAnswer | None
    fits: tuple[Fit, ...]
    duration_us: int


def schedule_explain(
    *,
    request: ScheduleRequest,
    fleet_facts: FleetFacts,
    offers: Sequence[FlavorSnapshot] = (),
    host: str | None = None,
    every_rule: bool = False,
    policy: Policy | None = None,
    edits: FleetEdits = NO_EDITS,
) -> ExplainAnswer:
    """One run, and the smallest changes that would make it fit. `offers`: flavors that could be asked for instead.

    Raises Invalid naming the field, also for a host that is not there; PluginFailed naming the plug-in.
    """
    started = now_us()
    if not 1 <= len(request.instance_uuids) <= MAX_INSTANCES:
        raise Invalid(
            _("count is a whole number from 1 to {max_instances}.", max_instances=MAX_INSTANCES), field="count"
        )
    world = world_edited(fleet_world(facts=fleet_facts), edits)
    trial = Trial(request, policy or policy_active())
    trace = world_run(world, request, trial.policy, seed=SEED)
    answer = None if host is None else _on_host(world, trial, trace, _row(world, host), offers, every_rule=every_rule)
    fits = tuple(fits_anywhere(world, trial, offers))
    return ExplainAnswer(trial, trace, answer, fits, now_us() - started)


def _row(world: World, host: str) -> HostRow:
    row = world.row_named(host)
    if row is None:
        raise Invalid(_("There is no host {host:.80}.", host=host), field="host")
    return row


def _on_host(
    world: World, trial: Trial, trace: Trace, row: HostRow, offers: Sequence[FlavorSnapshot], *, every_rule: bool
) -> HostAnswer:
    explanation = why_not(trace, row.host)
    rules = rules_refusing(world, trial, row) if every_rule else ()
    fits = fits_on_host(world, trial, row, offers)
    if explanation.result in (HostResult.RANKED, HostResult.ALTERNATE):
        fits = multipliers_to_win(world, trial, row)
    return HostAnswer(explanation, tuple(rules), tuple(fits))
