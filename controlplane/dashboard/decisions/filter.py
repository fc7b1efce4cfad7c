"""The filters of the list of decisions as the page shows them. What they do is the API's filterset's business."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import QuerySet
from django.http import QueryDict

from controlplane.identity.domain import Caller
from controlplane.kernel.reasons import RefusalReason
from scheduling.decisions.selectors.decisions import decision_list
from scheduling.filters.registry import BUILT_IN
from scheduling.filtersets_decision import DecisionFilterSet, OperatorDecisionFilterSet

OUTCOMES = {"selected": "Host chosen", "no_valid_host": "No valid host", "error": "Error"}
EARLY_STAGES = ("request_filters", "placement", "target")
# What a browser's field for date and time takes.
MINUTES = "%Y-%m-%dT%H:%M"
OPERATORS = ("host", "refused_host", "project_id")
NAMES = ("instance", "outcome", "reason", "stage", "policy_version", "request_id", "subject")
TIMES = ("created_after", "created_before")


@dataclass(frozen=True, slots=True)
class DecisionQuery:
    """What was asked for, as the fields show it, and what is wrong with it by field.

    `rows` are the decisions found; none when something is wrong, so that nobody takes all of them for the answer.
    """

    rows: QuerySet[Any]
    values: Mapping[str, str]
    errors: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_any(self) -> bool:
        """Whether nothing is asked for."""
        return not any(self.values.values())

    @property
    def shows_more(self) -> bool:
        """Whether one of the filters that are folded away is used."""
        return any(self.values.get(name) for name in ("policy_version", "request_id", "subject", "project_id", *TIMES))


def decision_query(caller: Caller, data: QueryDict) -> DecisionQuery:
    """The decisions that the caller may see and asks for. Only admins may ask by host."""
    filters: type[DecisionFilterSet] = OperatorDecisionFilterSet if caller.is_admin else DecisionFilterSet
    rows = decision_list(caller=caller)
    found = filters(data=data, queryset=rows)
    names = (*NAMES, *TIMES, *(OPERATORS if caller.is_admin else ()))
    values = {name: str(data.get(name, "")).strip() for name in names}
    if not found.is_valid():
        errors = {name: " ".join(str(text) for text in texts) for name, texts in found.errors.items()}
        return DecisionQuery(rows.none(), values, errors)
    times = {name: found.form.cleaned_data.get(name) for name in TIMES}
    return DecisionQuery(found.qs, values | {name: at.strftime(MINUTES) if at else "" for name, at in times.items()})


def reasons_on_offer() -> list[tuple[str, str]]:
    """Codes with their words, in the order in which people search: by words."""
    return sorted(((one.value, one.label.capitalize()) for one in RefusalReason), key=lambda one: one[1])


def stages_on_offer() -> list[str]:
    """Stages that can refuse; a plug-in's name may be typed."""
    return [*EARLY_STAGES, *sorted(BUILT_IN)]
