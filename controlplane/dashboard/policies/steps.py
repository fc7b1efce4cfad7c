"""What can be done with a version of a policy, in which state, and how it is asked for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import QueryDict

from controlplane.dashboard.templatetags.pages import percent
from controlplane.kernel.errors import Invalid, InvalidFields
from controlplane.kernel.ids import parse_uuid
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

DRAFT, VALIDATED, ACTIVE, RETIRED = PolicyState


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that can be done. `question` empty: it is done at once; `wants_share`: a shadow is told how much."""

    verb: str
    title: str
    question: str = ""
    tone: str = ""
    wants_share: bool = False


VALIDATE = Step("validate", "Validate")
ACTIVATE = Step(
    "activate", "Activate", "From the next decision on every request follows it, and it never changes again.", "primary"
)
ROLL_BACK = Step(
    "rollback",
    "Roll back to it",
    "From the next decision on every request follows this older one again.",
    "primary",
)
SHADOW = Step(
    "shadow",
    "Run as shadow",
    "It runs beside the version that counts, claims nothing, and never changes again. Another shadow ends.",
    wants_share=True,
)
SHADOW_END = Step("shadow-end", "End the shadow", "It runs beside no further request. What it found stays.")
RETIRE = Step("retire", "Retire", "It is not wanted any more. If it is the active one, the defaults count.", "danger")
DELETE = Step("delete", "Delete", "It is gone for good.", "danger")


def steps_for(row: Any) -> list[Step]:
    """What can be done with this version now."""
    state = PolicyState(row.state)
    by_state: Mapping[PolicyState, list[Step]] = {
        DRAFT: [VALIDATE],
        VALIDATED: [ACTIVATE, VALIDATE],
        ACTIVE: [],
        RETIRED: [ROLL_BACK],
    }
    steps = list(by_state[state])
    if state in (VALIDATED, RETIRED):
        steps.append(SHADOW_END if row.shadow else SHADOW)
    if state in (VALIDATED, ACTIVE):
        steps.append(RETIRE)
    return steps if row.sealed else [*steps, DELETE]


def step_take(verb: str, policy_id: UUID, given: QueryDict) -> str:
    """Do it; what it did, to be said after its label. Raises what the services raise, and Invalid for no such step."""
    if verb not in _TAKERS:
        raise Invalid("There is no such step.", field="step")
    return _TAKERS[verb](policy_id, given)


def _validate(policy_id: UUID, given: QueryDict) -> str:
    verdict = policy_validate(policy_id=policy_id)
    if verdict.valid:
        return f"has no problem and is {verdict.state}."
    errors: dict[str, list[str]] = {}
    for one in verdict.problems:
        errors.setdefault(one.field, []).append(one.message)
    raise InvalidFields(errors)


def _activate(policy_id: UUID, given: QueryDict) -> str:
    policy_activate(policy_id=policy_id, replaces=_replaces(given))
    return "counts from the next decision on."


def _roll_back(policy_id: UUID, given: QueryDict) -> str:
    policy_rollback(policy_id=policy_id, replaces=_replaces(given))
    return "counts again from the next decision on."


def _shadow(policy_id: UUID, given: QueryDict) -> str:
    share = _share(given.get("percent", ""))
    policy_shadow_start(policy_id=policy_id, share=share)
    return f"runs beside the version that counts on {percent(share)} of the requests."


def _shadow_end(policy_id: UUID, given: QueryDict) -> str:
    policy_shadow_end(policy_id=policy_id)
    return "is no shadow any more."


def _retire(policy_id: UUID, given: QueryDict) -> str:
    policy_retire(policy_id=policy_id)
    return "is retired."


def _delete(policy_id: UUID, given: QueryDict) -> str:
    policy_delete(policy_id=policy_id)
    return "is deleted."


_TAKERS: Mapping[str, Callable[[UUID, QueryDict], str]] = {
    "validate": _validate,
    "activate": _activate,
    "rollback": _roll_back,
    "shadow": _shadow,
    "shadow-end": _shadow_end,
    "retire": _retire,
    "delete": _delete,
}


def _replaces(given: QueryDict) -> UUID | Anyone | None:
    """Compare and set: the version that was active when the page was shown; without the field, whichever is."""
    wanted = given.get("replaces")
    if wanted is None:
        return ANYONE
    return parse_uuid(wanted) if wanted else None


def _share(text: str) -> float:
    try:
        wanted = float(text)
    except ValueError:
        raise Invalid(f"“{text:.40}” is not a number.", field="percent") from None
    if not 0 <= wanted <= 100:
        raise Invalid("A share is from 0 to 100 percent.", field="percent")
    return wanted / 100
