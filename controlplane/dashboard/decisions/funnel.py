"""A decision step by step: the funnel, where the time went, claims, who got which host."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.kernel.texts import gettext_noop
from scheduling.domain.trace.trace import InstanceSelection, Round, Stage, Trace

# The drawing of one stage, in its own units: width, height, and the least that a host can be seen at.
WIDTH, HEIGHT, MINIMUM = 100.0, 20.0, 0.6
STEPS = {
    "free": gettext_noop("Free earlier claims"),
    "load": gettext_noop("Read the fleet"),
    "candidates": gettext_noop("Ask Placement"),
    "schedule": gettext_noop("Filter and weigh"),
    "claim": gettext_noop("Claim"),
}


@dataclass(frozen=True, slots=True)
class FunnelStage:
    """One stage of the funnel. `points` is its outline for the drawing, from the hosts in to the hosts left."""

    name: str
    hosts_in: int
    hosts_out: int
    micros: int
    reasons: tuple[tuple[str, int], ...]
    points: str

    @property
    def refused(self) -> int:
        """How many hosts it took away."""
        return self.hosts_in - self.hosts_out


@dataclass(frozen=True, slots=True)
class TimeStep:
    """What one step of the whole took, and its share (0 to 100) of the total."""

    title: str
    micros: int
    share: int


@dataclass(frozen=True, slots=True)
class PlacedInstance:
    """One instance of the batch with its host (empty when it got none), its score, and hosts to try after it."""

    instance_uuid: str
    host: str = ""
    rank: int = 0
    score: float = 0.0
    zone: str = ""
    alternates: tuple[str, ...] = ()
    claimed: tuple[tuple[str, int], ...] = ()


def funnel(each: Round, host_count: int) -> list[FunnelStage]:
    """The stages of one round, and the weighing as the last of them."""
    last = each.stages[-1].hosts_out if each.stages else host_count
    stages = [*each.stages, Stage("weigh", last, last, each.weigh_micros)]
    return [
        FunnelStage(
            name=stage.name,
            hosts_in=stage.hosts_in,
            hosts_out=stage.hosts_out,
            micros=stage.micros,
            reasons=_reasons(each, stage.name),
            points=_outline(stage, host_count),
        )
        for stage in (stages if last else stages[:-1])
    ]


def _reasons(each: Round, stage: str) -> tuple[tuple[str, int], ...]:
    counts: dict[str, int] = {}
    for group in each.refusals:
        if group.refusal.stage == stage:
            counts[group.refusal.reason.label] = counts.get(group.refusal.reason.label, 0) + len(group)
    return tuple(sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def _outline(stage: Stage, host_count: int) -> str:
    """Four corners, as an SVG polygon has them; a stage begins as wide as the one before it ended."""
    above, below = (_half(count, host_count) for count in (stage.hosts_in, stage.hosts_out))
    middle = WIDTH / 2
    corners = ((middle - above, 0.0), (middle + above, 0.0), (middle + below, HEIGHT), (middle - below, HEIGHT))
    return " ".join(f"{x:.2f},{y:g}" for x, y in corners)


def _half(count: int, of: int) -> float:
    return max(MINIMUM, WIDTH * count / of) / 2 if count and of else 0.0


def time_steps(timings: Mapping[str, int], duration_us: int) -> list[TimeStep]:
    """Where the time went, the record of the decision and everything else that has no name last."""
    known = [(title, timings[name]) for name, title in STEPS.items() if timings.get(name)]
    rest = duration_us - sum(micros for _, micros in known)
    steps = [*known, (gettext_noop("Everything else"), rest)] if known and rest > 0 else known
    total = max(duration_us, 1)
    return [TimeStep(title, micros, min(100, round(100 * micros / total))) for title, micros in steps]


def placed_instances(uuids: Sequence[str], trace: Trace | None, hosts: Mapping[str, str]) -> list[PlacedInstance]:
    """Every instance of the batch in its order. `hosts`: those that were given, by instance."""
    selections = {} if trace is None else {one.instance_uuid: one for one in trace.selections}
    resources = {} if trace is None else trace.resources
    return [
        _placed(uuid, selections.get(uuid) if hosts.get(uuid) else None, hosts.get(uuid, ""), resources)
        for uuid in uuids
    ]


def _placed(uuid: str, one: InstanceSelection | None, host: str, resources: Mapping[str, int]) -> PlacedInstance:
    if one is None:
        return PlacedInstance(uuid, host)
    amounts: dict[str, int] = {}
    for classes in one.selected.allocations.values() or (resources,):
        for name, amount in classes.items():
            amounts[name] = amounts.get(name, 0) + amount
    return PlacedInstance(
        instance_uuid=uuid,
        host=host,
        rank=one.selected.rank,
        score=one.selected.score,
        zone=one.selected.availability_zone,
        alternates=tuple(each.host for each in one.alternates),
        claimed=tuple(sorted(amounts.items())),
    )


def asked_for(request: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What else of the request narrowed the choice, in words. Names hosts: for operators only."""
    target = request.get("requested_destination") or {}
    group = request.get("group") or {}
    sentence_of = {
        gettext_noop("Hints"): ", ".join(
            f"{name}: {', '.join(values)}" for name, values in (request.get("hints") or {}).items()
        ),
        gettext_noop("Server group"): f"{group.get('name') or group.get('uuid')} ({group.get('policy')})"
        if group
        else "",
        gettext_noop("Only on"): ", ".join([*request.get("force_hosts", ()), *request.get("force_nodes", ())])
        or str(target.get("host") or ""),
        gettext_noop("Not on"): ", ".join(request.get("ignore_hosts") or ()),
        gettext_noop("Image"): str((request.get("image") or {}).get("name") or ""),
    }
    return [(name, text) for name, text in sentence_of.items() if text]
