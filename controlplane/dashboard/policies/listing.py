"""The list of the versions of the scheduler's policy, for admins."""

from typing import Any

from django.utils.translation import gettext

from controlplane.dashboard.lists.declaration import Column, ListDeclaration, ListFilter
from controlplane.dashboard.lists.query import YES_NO
from controlplane.identity.domain import Caller
from controlplane.infra.natural_order import natural_order
from controlplane.kernel.texts import gettext_noop
from scheduling.filtersets import PolicyFilterSet
from scheduling.policies.domain.states import PolicyState
from scheduling.policies.selectors.policies import policy_list

STATES = {
    PolicyState.DRAFT: gettext_noop("draft"),
    PolicyState.VALIDATED: gettext_noop("validated"),
    PolicyState.ACTIVE: gettext_noop("active"),
    PolicyState.RETIRED: gettext_noop("retired"),
}


def _states(_caller: Caller) -> list[tuple[str, str]]:
    return [(state.value, gettext(words).capitalize()) for state, words in STATES.items()]


def _share(row: Any) -> float | None:
    return row.shadow_share if row.shadow else None


POLICIES = ListDeclaration(
    name="policies",
    thing="version",
    section="policies",
    cells="dashboard/policies/policy_cells.html",
    columns=(
        Column(
            "version",
            gettext_noop("Version"),
            lambda row: row.label,
            (*natural_order("name"), "version"),
            is_fixed=True,
            css="name",
        ),
        Column("state", gettext_noop("State"), lambda row: row.state, ("state",)),
        Column("shadow", gettext_noop("Shadow share"), _share, ("shadow", "shadow_share"), False, is_number=True),
        Column("comment", gettext_noop("For"), lambda row: row.comment, ("comment",), css="wrap", hides_small=True),
        Column("author", gettext_noop("By"), lambda row: row.author, ("author",), css="nowrap", hides_small=True),
        Column(
            "created", gettext_noop("Made"), lambda row: row.created_at, ("created_at",), css="nowrap", hides_small=True
        ),
        Column("activated", gettext_noop("Counted"), lambda row: row.activated_at, ("activated_at",), css="nowrap"),
        Column("retired", gettext_noop("Retired"), lambda row: row.retired_at, ("retired_at",), False, css="nowrap"),
        Column("revision", gettext_noop("Revision"), lambda row: row.revision, ("revision",), False, is_number=True),
        Column("id", gettext_noop("ID"), lambda row: row.pk, ("pk",), False, css="mono"),
    ),
    rows=lambda _caller, _asked: policy_list(),
    filterset=lambda _caller: PolicyFilterSet,
    filters=(
        ListFilter("state", gettext_noop("State"), is_first=True, choices=_states),
        ListFilter("shadow", gettext_noop("Runs as shadow"), choices=lambda _caller: YES_NO),
        ListFilter("name", gettext_noop("Name"), placeholder=gettext_noop("Exact name")),
        ListFilter("version", gettext_noop("Number")),
    ),
    sort="version",
    # The newest version of each name first.
    order=lambda _asked: (*natural_order("name"), "-version"),
    search_hint=gettext_noop("Version, comment, author, id …"),
    head="dashboard/policies/policy_list_head.html",
    before="dashboard/policies/policy_list_before.html",
    empty="dashboard/policies/policy_list_empty.html",
)
