"""The list of scheduling decisions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from controlplane.dashboard.lists.declaration import Asked, Column, ListDeclaration, ListFilter
from controlplane.identity.domain import Caller
from controlplane.identity.selectors.people import project_names
from controlplane.kernel.reasons import RefusalReason
from controlplane.kernel.texts import gettext_noop
from scheduling.decisions.selectors.decisions import decision_list
from scheduling.filters.registry import BUILT_IN
from scheduling.filtersets_decision import decision_filters
from servers.instances.selectors.work_subjects import subject_names

OUTCOMES = {
    "selected": gettext_noop("Host chosen"),
    "no_valid_host": gettext_noop("No valid host"),
    "error": gettext_noop("Error"),
}
EARLY_STAGES = ("request_filters", "placement", "target")
INSTANCES_NAMED = 3
"""Of a batch."""


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """A decision with the names of the first instances that it was about, and its project's."""

    decision: Any
    instances: tuple[tuple[Any, str], ...]
    more: int
    hosts: tuple[str, ...]
    project: str
    verdict: str


def _prepared(caller: Caller, decisions: Sequence[Any], _asked: Asked) -> list[DecisionRow]:
    firsts = {one.pk: list(one.instances.all())[:INSTANCES_NAMED] for one in decisions}
    names = subject_names(ids=[each.instance_uuid for some in firsts.values() for each in some])
    projects = project_names({one.project_id for one in decisions}) if caller.is_admin else {}
    return [
        DecisionRow(
            decision=one,
            instances=tuple(
                (each.instance_uuid, names.get(each.instance_uuid, ("", False))[0]) for each in firsts[one.pk]
            ),
            more=max(0, one.instance_count - INSTANCES_NAMED),
            hosts=tuple(sorted({each.host for each in firsts[one.pk] if each.host})) if caller.is_admin else (),
            project=projects.get(one.project_id, ""),
            verdict=one.verdict if caller.is_admin else one.verdict_redacted,
        )
        for one in decisions
    ]


def reasons_on_offer(_caller: Caller) -> list[tuple[str, str]]:
    """Codes with their words, in the order in which people search: by the English words."""
    reasons = sorted(RefusalReason, key=lambda one: one.label.capitalize())
    return [(one.value, _capital(one.label)) for one in reasons]


def _capital(label: str) -> str:
    said = gettext(label)
    return label.capitalize() if said == label else said


def outcomes_on_offer(_caller: Caller) -> list[tuple[str, str]]:
    """Outcomes with their words."""
    return [(code, gettext(words)) for code, words in OUTCOMES.items()]


def stages_on_offer(_caller: Caller) -> list[str]:
    """Stages that can refuse; a plug-in's name may be typed."""
    return [*EARLY_STAGES, *sorted(BUILT_IN)]


DECISIONS = ListDeclaration(
    name="decisions",
    thing="decision",
    section="decisions",
    cells="dashboard/decisions/decision_cells.html",
    columns=(
        Column(
            "created",
            gettext_noop("When"),
            lambda row: row.decision.created_at,
            ("created_at",),
            css="nowrap",
            hides_small=True,
        ),
        Column("outcome", gettext_noop("Outcome"), lambda row: row.decision.outcome, ("outcome",)),
        Column("verdict", gettext_noop("Verdict"), lambda row: row.verdict, is_fixed=True, css="name"),
        Column(
            "subject",
            gettext_noop("Instance"),
            lambda row: [name or str(pk) for pk, name in row.instances],
            hides_small=True,
        ),
        Column("hosts", gettext_noop("Host"), lambda row: row.hosts, is_for_admins=True, hides_small=True),
        Column("project", gettext_noop("Project"), lambda row: row.project, ("project_id",), False, is_for_admins=True),
        Column(
            "instances",
            gettext_noop("Instances"),
            lambda row: row.decision.instance_count,
            ("instance_count",),
            is_number=True,
            hides_small=True,
        ),
        Column(
            "looked_at",
            gettext_noop("Hosts looked at"),
            lambda row: row.decision.host_count,
            ("host_count",),
            False,
            is_number=True,
        ),
        Column(
            "claims_lost",
            gettext_noop("Claims lost"),
            lambda row: row.decision.claims_lost,
            ("claims_lost",),
            False,
            is_number=True,
        ),
        Column("policy", gettext_noop("Policy"), lambda row: row.decision.policy_version, ("policy_version",), False),
        Column(
            "took",
            gettext_noop("Took"),
            lambda row: row.decision.duration_us,
            ("duration_us",),
            is_number=True,
            hides_small=True,
        ),
        Column(
            "request", gettext_noop("Request"), lambda row: row.decision.request_id, ("request_id",), False, css="mono"
        ),
        Column("id", gettext_noop("ID"), lambda row: row.decision.pk, ("pk",), False, css="mono"),
    ),
    rows=lambda caller, _asked: decision_list(caller=caller),
    prepare=_prepared,
    filterset=lambda caller: decision_filters(is_admin=caller.is_admin),
    filters=(
        ListFilter("outcome", gettext_noop("Outcome"), is_first=True, choices=outcomes_on_offer),
        ListFilter("reason", gettext_noop("Refused hosts for"), is_first=True, choices=reasons_on_offer),
        ListFilter(
            "stage",
            gettext_noop("Refused by"),
            placeholder=gettext_noop("A filter or stage"),
            suggestions=stages_on_offer,
        ),
        ListFilter("instance", gettext_noop("Instance"), placeholder=gettext_noop("Instance ID")),
        ListFilter("host", gettext_noop("Chosen host"), is_for_admins=True, placeholder=gettext_noop("Exact name")),
        ListFilter(
            "refused_host", gettext_noop("Refused host"), is_for_admins=True, placeholder=gettext_noop("Exact name")
        ),
        ListFilter("created_after", gettext_noop("From")),
        ListFilter("created_before", gettext_noop("Until")),
        ListFilter("policy_version", gettext_noop("Policy version"), placeholder="default-v3"),
        ListFilter("request_id", gettext_noop("Request"), placeholder="req-…"),
        ListFilter("subject", gettext_noop("Reservation"), placeholder=gettext_noop("Id of a batch")),
        ListFilter("project_id", gettext_noop("Project"), is_for_admins=True, placeholder=gettext_noop("Project ID")),
    ),
    sort="-created",
    search_hint=gettext_noop("Words of the verdict, policy, request, id …"),
    empty="dashboard/decisions/decision_list_empty.html",
)
