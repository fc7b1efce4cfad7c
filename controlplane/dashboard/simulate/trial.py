"""What a request would do, tried before it is made: for the create form and for the page that simulates."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from controlplane.identity.domain import Caller
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import QuotaExceeded
from scheduling.whatif.domain.edits import NO_EDITS
from servers.instances.domain.instance_create import InstanceCreate
from servers.instances.domain.nics import NONE
from servers.instances.services.create import instances_create_check
from servers.trials.create_answer import trial_wanted
from servers.trials.schedule_trial import TrialWanted, trial_explain, trial_simulate

SELECTED = "selected"


@dataclass(frozen=True, slots=True)
class PlacedCount:
    """So many of the batch on one host. Only admins see hosts."""

    host: str
    zone: str
    count: int


@dataclass(frozen=True, slots=True)
class TrialAnswer:
    """The report of a dry run. `quota` says what a create would be refused for before it gets here.

    `changes` would make a refused request fit; `no_changes` says why none takes a reason away; `before` is the run on
    the fleet and policy as they are, where others were imagined; `host` is the answer about one host, where one was
    asked about.
    """

    run: Mapping[str, Any]
    placed: tuple[PlacedCount, ...]
    quota: str = ""
    changes: Sequence[Mapping[str, Any]] = ()
    no_changes: Sequence[Mapping[str, str]] = ()
    before: Mapping[str, Any] | None = None
    host: Mapping[str, Any] | None = None

    @property
    def fits(self) -> bool:
        """Whether a host was found for each instance."""
        return bool(self.run["outcome"] == SELECTED)

    @property
    def refusal_stages(self) -> list[Mapping[str, Any]]:
        """The stages that took hosts away from the first instance."""
        return [stage for stage in self.run["funnel"] if stage["hosts_out"] < stage["hosts_in"]]

    @property
    def duration_us(self) -> int:
        """Of the dry run alone."""
        return int(self.run["duration_us"])


def create_try(*, caller: Caller, wanted: InstanceCreate) -> TrialAnswer:
    """What a create of this would do now. Nothing is written. Raises what the create would, but for quota."""
    quota = ""
    try:
        instances_create_check(caller=caller, wanted=wanted)
    except QuotaExceeded as error:
        quota = refusal_text(error)
    return replace(trial_answer(caller=caller, wanted=trial_wanted(wanted)), quota=quota)


def trial_answer(*, caller: Caller, wanted: TrialWanted, host: str = "") -> TrialAnswer:
    """The dry run; what would help where it is refused; the answer about `host` where one is named (admins)."""
    run = trial_simulate(caller=caller, wanted=wanted)
    explained: Mapping[str, Any] = {}
    if run["outcome"] != SELECTED or host:
        explained = trial_explain(caller=caller, wanted=wanted, host=host or None, every_rule=True)
    is_refused = run["outcome"] != SELECTED
    return TrialAnswer(
        run=run,
        placed=_placed(run),
        changes=explained.get("changes", ()) if is_refused else (),
        no_changes=explained.get("no_changes", ()) if is_refused else (),
        before=_before(caller, wanted, run),
        host=explained.get("host"),
    )


def simulate_query(wanted: InstanceCreate) -> str:
    """The address part with which the page that simulates shows the same request."""
    cards = wanted.networks if isinstance(wanted.networks, list) else []
    fields = {
        "flavor": wanted.flavor,
        "image": wanted.image,
        "count": wanted.min_count,
        "availability_zone": wanted.availability_zone,
        "group": wanted.hints.get("group", ""),
        "networks": [one["network"] for one in cards if "network" in one],
        "ports": " ".join(one["port"] for one in cards if "port" in one),
        "no_network": "on" if wanted.networks == NONE else "",
    }
    return urlencode({name: value for name, value in fields.items() if value}, doseq=True)


def _before(caller: Caller, wanted: TrialWanted, run: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The same request with nothing imagined, under the same seed."""
    if not wanted.edits and not wanted.policy:
        return None
    return trial_simulate(caller=caller, wanted=replace(wanted, policy=None, edits=NO_EDITS, seed=run["seed"]))


def _placed(run: Mapping[str, Any]) -> tuple[PlacedCount, ...]:
    counts = Counter(
        (one["selected"]["host"], one["selected"]["availability_zone"]) for one in run.get("selections", ())
    )
    return tuple(PlacedCount(host, zone, count) for (host, zone), count in counts.items())
