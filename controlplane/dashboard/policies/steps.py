"""What a form of the page of a policy gives along with a step. The steps themselves are the scheduler's."""

from uuid import UUID

from django.http import QueryDict
from django.utils.translation import gettext

from controlplane.kernel.errors import Invalid
from controlplane.kernel.ids import parse_uuid
from scheduling.policies.services.policies import ANYONE, Anyone
from scheduling.policies.services.steps import POLICY_STEPS, StepInput


def step_input(verb: str, given: QueryDict) -> StepInput:
    """Raises Invalid, naming the field."""
    step = POLICY_STEPS.get(verb)
    share = _share(given.get("percent", "")) if step is not None and step.wants_share else 0.0
    return StepInput(replaces=_replaces(given), share=share)


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
        raise Invalid(gettext("“%(text)s” is not a number.") % {"text": text[:40]}, field="percent") from None
    if not 0 <= wanted <= 100:
        raise Invalid(gettext("A share is from 0 to 100 percent."), field="percent")
    return wanted / 100
