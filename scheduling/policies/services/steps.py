"""What can be done with a version of a policy, in which states, and how: one table for the pages and the admin."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

from controlplane.kernel.errors import Invalid, InvalidFields
from scheduling.models import SchedulerPolicy
from scheduling.policies.domain.states import PolicyState
from scheduling.policies.services.policies import (
    ANYONE,
    Anyone,
    policy_activate,
    policy_delete,
    policy_retire,
    policy_rollback,
    policy_shadow_end,
    policy_shadow_start,
    policy_validate,
)


@dataclass(frozen=True, slots=True)
class StepInput:
    """What a person gives along. `replaces`: the version that was active when the page was made, for compare-and-set;
    `share`: the part of the requests that a shadow sees.
    """

    replaces: UUID | Anyone | None = ANYONE
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class PolicyStep:
    """One thing that can be done with a version in one of `states`; where `is_shadow` is given, only while it is one.

    `act` does it and says what it did, to be read after the version's label. `is_harmless`: nobody need be asked first.
    """

    title: str
    question: str
    act: Callable[[UUID, StepInput], str]
    states: frozenset[PolicyState]
    tone: str = ""
    is_shadow: bool | None = None
    is_harmless: bool = False
    wants_replaces: bool = False
    wants_share: bool = False


def _validate(policy_id: UUID, given: StepInput) -> str:
    verdict = policy_validate(policy_id=policy_id)
    if verdict.valid:
        return f"has no problem and is {verdict.state}."
    errors: dict[str, list[str]] = {}
    for one in verdict.problems:
        errors.setdefault(one.field, []).append(one.message)
    raise InvalidFields(errors)


def _activate(policy_id: UUID, given: StepInput) -> str:
    policy_activate(policy_id=policy_id, replaces=given.replaces)
    return "counts from the next decision on."


def _roll_back(policy_id: UUID, given: StepInput) -> str:
    policy_rollback(policy_id=policy_id, replaces=given.replaces)
    return "counts again from the next decision on."


def _shadow(policy_id: UUID, given: StepInput) -> str:
    policy_shadow_start(policy_id=policy_id, share=given.share)
    return f"runs beside the active version on {given.share * 100:.4g} % of the requests."


def _shadow_end(policy_id: UUID, given: StepInput) -> str:
    policy_shadow_end(policy_id=policy_id)
    return "is no shadow any more."


def _retire(policy_id: UUID, given: StepInput) -> str:
    policy_retire(policy_id=policy_id)
    return "is retired."


def _delete(policy_id: UUID, given: StepInput) -> str:
    policy_delete(policy_id=policy_id)
    return "is deleted."


DRAFT, VALIDATED, ACTIVE, RETIRED = (frozenset({state}) for state in PolicyState)
DELETE = "delete"
POLICY_STEPS: Mapping[str, PolicyStep] = {
    "activate": PolicyStep(
        "Activate",
        "From the next decision on every request follows this version, and it never changes again.",
        _activate,
        VALIDATED,
        tone="primary",
        wants_replaces=True,
    ),
    "validate": PolicyStep(
        "Validate",
        "Do all plug-ins load, and are all settings in range?",
        _validate,
        DRAFT | VALIDATED,
        is_harmless=True,
    ),
    "rollback": PolicyStep(
        "Roll back to this version",
        "From the next decision on every request follows this older version again.",
        _roll_back,
        RETIRED,
        tone="primary",
        wants_replaces=True,
    ),
    "shadow": PolicyStep(
        "Run as shadow",
        "It runs beside the active version, claims nothing, and never changes again. Another shadow ends.",
        _shadow,
        VALIDATED | RETIRED,
        is_shadow=False,
        wants_share=True,
    ),
    "shadow-end": PolicyStep(
        "End the shadow",
        "It runs beside no further request. What it found stays.",
        _shadow_end,
        VALIDATED | RETIRED,
        is_shadow=True,
    ),
    "retire": PolicyStep(
        "Retire",
        "It is not wanted any more. If it is the active one, the defaults count.",
        _retire,
        VALIDATED | ACTIVE,
        tone="danger",
    ),
    DELETE: PolicyStep("Delete", "It is gone for good.", _delete, frozenset(PolicyState), tone="danger"),
}


def policy_steps_for(row: SchedulerPolicy) -> dict[str, PolicyStep]:
    """What can be done with this version now. One that was ever active or a shadow stays, for its decisions."""
    state = PolicyState(row.state)
    return {
        verb: step
        for verb, step in POLICY_STEPS.items()
        if state in step.states and step.is_shadow in (None, row.shadow) and not (verb == DELETE and row.immutable)
    }


def policy_step_take(*, verb: str, policy_id: UUID, given: StepInput) -> str:
    """Do it, and say what was done. Raises what the services raise, and Invalid for no such step."""
    if verb not in POLICY_STEPS:
        raise Invalid("There is no such step.", field="step")
    return POLICY_STEPS[verb].act(policy_id, given)
