"""One change of request, policy or fleet, and how to write it down."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from controlplane.kernel.reasons import Refusal
from controlplane.kernel.texts import Phrase, gettext_noop
from scheduling.domain.hosts.host_rows import HostRow
from scheduling.domain.policy import Policy
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.whatif.domain.edits import NO_EDITS, AggregateEdit, FleetEdits
from scheduling.whatif.domain.world import World


class ChangeKind(StrEnum):
    """Who would have to change something: whoever asks, whoever sets the rules, whoever runs the hosts."""

    REQUEST = "request"
    POLICY = "policy"
    FLEET = "fleet"


@dataclass(frozen=True, slots=True)
class Trial:
    """A request under a policy on an edited fleet."""

    request: ScheduleRequest
    policy: Policy
    edits: FleetEdits = NO_EDITS


@dataclass(frozen=True, slots=True)
class ChangeStep:
    """One change. `size` is the share of one whole thing that is given up: 0.5 for half the vCPUs, 1 for a zone, a
    hint, a filter, a host to be enabled; for ratios and limits the relative rise. `names_host`: not for tenants.
    """

    kind: ChangeKind
    what: str
    sentence: str
    size: float
    trial: Trial
    names_host: bool = False


Proposer = Callable[[Refusal, Trial, World, HostRow], Iterator[ChangeStep]]


def edited(trial: Trial, edits: FleetEdits) -> Trial:
    """The trial on a fleet with these edits on top."""
    return replace(trial, edits=trial.edits.plus(edits))


def with_specs(trial: Trial, changes: Mapping[str, str | None]) -> Trial:
    """The trial with other extra specs of the flavor; None takes one away."""
    flavor = trial.request.flavor
    merged = {**flavor.extra_specs, **changes}
    specs = {key: value for key, value in merged.items() if value is not None}
    return replace(trial, request=replace(trial.request, flavor=replace(flavor, extra_specs=specs)))


def without_properties(trial: Trial, names: frozenset[str]) -> Trial:
    """The trial with an image that does not set these properties."""
    image = trial.request.image
    remaining = {name: value for name, value in image.properties.items() if name not in names}
    return replace(trial, request=replace(trial.request, image=replace(image, properties=remaining)))


def with_options(trial: Trial, **options: Any) -> Trial:
    """The trial under a policy with other options."""
    changed = replace(trial.policy.options, **options)
    return replace(trial, policy=replace(trial.policy, options=changed))


def spec_step(
    trial: Trial, changes: Mapping[str, str | None], sentence: str, size: float = 1.0
) -> Iterator[ChangeStep]:
    """A flavor with other extra specs, unless it has them already."""
    changed = with_specs(trial, changes)
    if changed.request.flavor.extra_specs != trial.request.flavor.extra_specs:
        yield ChangeStep(ChangeKind.REQUEST, "extra_spec", sentence, size, changed)


def option_step(
    trial: Trial, what: str, sentence: str, *, names_host: bool = False, **options: Any
) -> Iterator[ChangeStep]:
    """A policy with other options, a whole thing given up."""
    yield ChangeStep(ChangeKind.POLICY, what, sentence, 1.0, with_options(trial, **options), names_host)


def metadata_step(trial: Trial, aggregate: str, key: str, value: str) -> Iterator[ChangeStep]:
    """An aggregate with other metadata."""
    edits = FleetEdits(aggregates=(AggregateEdit(aggregate, metadata={key: value}),))
    sentence = Phrase(
        gettext_noop("set {key} of aggregate {aggregate} to {value}"), key=key, aggregate=aggregate, value=value
    )
    yield ChangeStep(ChangeKind.FLEET, "aggregate_metadata", sentence, 1.0, edited(trial, edits), names_host=True)
