"""What can be done with a version of a policy, in which states, and how: one table for the pages and the admin."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

from controlplane.kernel.errors import Invalid, InvalidFields
from controlplane.kernel.texts import Phrase, gettext_noop
from controlplane.kernel.texts import phrase as _
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
        return Phrase(gettext_noop("has no problem and is {state}."), state=Phrase(verdict.state))
    errors: dict[str, list[str]] = {}
    for one in verdict.problems:
        errors.setdefault(one.field, []).append(one.message)
    raise InvalidFields(errors)


def _activate(policy_id: UUID, given: StepInput) -> str:
    policy_activate(policy_id=policy_id, replaces=given.replaces)
    return Phrase(gettext_noop("counts from the next decision on."))


def _roll_back(policy_id: UUID, given: StepInput) -> str:
    policy_rollback(policy_id=policy_id, replaces=given.replaces)
    return Phrase(gettext_noop("counts again from the next decision on."))


def _shadow(policy_id: UUID, given: StepInput) -> str:
    policy_shadow_start(policy_id=policy_id, share=given.share)
    template = gettext_noop("runs beside the active version on {share} of the requests.")
    return Phrase(template, share=f"{given.share * 100:.4g} %")


def _shadow_end(policy_id: UUID, given: StepInput) -> str:
    policy_shadow_end(policy_id=policy_id)
    return Phrase(gettext_noop("is no shadow any more."))


def _retire(policy_id: UUID, given: StepInput) -> str:
    policy_retire(policy_id=policy_id)
    return Phrase(gettext_noop("is retired."))


def _delete(policy_id: UUID, given: StepInput) -> str:
    policy_delete(policy_id=policy_id)
    return Phrase(gettext_noop("is deleted."))


DRAFT, VALIDATED, ACTIVE, RETIRED = (frozenset({state}) for state in PolicyState)
DELETE = "delete"
POLICY_STEPS: Mapping[str, PolicyStep] = {
    "activate": PolicyStep(
        gettext_noop("Activate"),
        gettext_noop("From the next decision on every request follows this version, and it never changes again."),
        _activate,
        VALIDATED,
        tone="primary",
        wants_replaces=True,
    ),
    "validate": PolicyStep(
        gettext_noop("Validate"),
        gettext_noop("Do all plug-ins load, and are all settings in range?"),
        _validate,
        DRAFT | VALIDATED,
        is_harmless=True,
    ),
    "rollback": PolicyStep(
        gettext_noop("Roll back to this version"),
        gettext_noop("From the next decision on every request follows this older version again."),
        _roll_back,
        RETIRED,
        tone="primary",
        wants_replaces=True,
    ),
    "shadow": PolicyStep(
        gettext_noop("Run as shadow"),
        gettext_noop(
            "It runs beside the active version, claims nothing, and never changes again. Another shadow ends."
        ),
        _shadow,
        VALIDATED | RETIRED,
        is_shadow=False,
        wants_share=True,
    ),
    "shadow-end": PolicyStep(
        gettext_noop("End the shadow"),
        gettext_noop("It runs beside no further request. What it found stays."),
        _shadow_end,
        VALIDATED | RETIRED,
        is_shadow=True,
    ),
    "retire": PolicyStep(
        gettext_noop("Retire"),
        gettext_noop("It is not wanted any more. If it is the active one, the defaults count."),
        _retire,
        VALIDATED | ACTIVE,
        tone="danger",
    ),
    DELETE: PolicyStep(
        gettext_noop("Delete"), gettext_noop("It is gone for good."), _delete, frozenset(PolicyState), tone="danger"
    ),
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
        raise Invalid(_("There is no such step."), field="step")
    return POLICY_STEPS[verb].act(policy_id, given)
