"""The lists of drift and of heals, for admins."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.dashboard.drift.rows import HealRow, drift_kinds_on_offer, heal_kinds_on_offer, heal_rows
from controlplane.dashboard.lists.declaration import Asked, Column, ListDeclaration, ListFilter
from controlplane.identity.domain import Caller
from controlplane.infra.natural_order import natural_order
from controlplane.kernel.texts import gettext_noop
from controlplane.work.filtersets import HealFilterSet
from controlplane.work.heal_records import heals
from servers.filtersets_drift import DriftFilterSet
from servers.repair.domain.drift import AUTOMATIC, KIND_LABELS, Drift, DriftKind
from servers.repair.selectors.drift import drift_of, drift_rows, grace_s


@dataclass(frozen=True, slots=True)
class DriftRow:
    """One finding. `grace_s`: how long it lasts before it is put right by itself; None: never by itself."""

    drift: Drift
    grace_s: float | None

    @property
    def kind(self) -> str:
        """In words."""
        return KIND_LABELS[self.drift.kind]

    @property
    def destroys(self) -> bool:
        """Whether putting it right loses disks."""
        return self.drift.kind is DriftKind.ORPHAN_GUEST

    @property
    def ends_with_its_task(self) -> bool:
        """Whether the deadline of a task says when it is put right."""
        return self.drift.kind is DriftKind.LOST_TASK


def _drifts(_caller: Caller, rows: Sequence[Any], _asked: Asked) -> list[DriftRow]:
    found = map(drift_of, rows)
    return [DriftRow(one, grace_s(one.kind) if one.kind in AUTOMATIC else None) for one in found]


def _heals(_caller: Caller, rows: Sequence[Any], _asked: Asked) -> list[HealRow]:
    return heal_rows(rows)


DRIFT = ListDeclaration(
    name="drift",
    thing="finding",
    section="drift",
    cells="dashboard/drift/drift_cells.html",
    table_css="worklist",
    columns=(
        Column(
            "what",
            gettext_noop("What"),
            lambda row: row.drift.subject,
            natural_order("subject"),
            is_fixed=True,
            css="name what",
        ),
        Column("kind", gettext_noop("Kind"), lambda row: row.kind, ("kind",)),
        Column("found", gettext_noop("Found"), lambda row: row.drift.found, is_default=False, css="wrap"),
        Column("host", gettext_noop("Host"), lambda row: row.drift.host, natural_order("host")),
        Column("since", gettext_noop("First seen"), lambda row: row.drift.since, ("first_seen_at",), css="nowrap"),
        Column("heals_at", gettext_noop("Put right by itself"), lambda row: row.drift.heals_at, ("heals_at",)),
        Column("heal", gettext_noop("What would be done"), lambda row: row.drift.heal, is_default=False, css="wrap"),
        Column("obstacle", gettext_noop("Not from here"), lambda row: row.drift.obstacle, is_default=False, css="wrap"),
        Column(
            "evidence", gettext_noop("Evidence"), lambda row: dict(row.drift.evidence), is_default=False, css="wrap"
        ),
        Column(
            "instance",
            gettext_noop("Instance's id"),
            lambda row: row.drift.instance_id,
            ("instance_id",),
            False,
            css="mono",
        ),
        Column.tools(),
    ),
    rows=lambda _caller, _asked: drift_rows(),
    prepare=_drifts,
    filterset=lambda _caller: DriftFilterSet,
    filters=(
        ListFilter("kind", gettext_noop("Kind"), is_first=True, choices=lambda _caller: drift_kinds_on_offer()),
        ListFilter("host", gettext_noop("Host"), is_first=True, placeholder=gettext_noop("Exact name")),
        ListFilter("instance", gettext_noop("Instance"), placeholder=gettext_noop("Its id")),
    ),
    sort="since",
    search_hint=gettext_noop("Instance, guest, host, what was found …"),
    is_live=lambda _rows: True,
    live_s=15,
    head="dashboard/drift/drift_list_head.html",
    before="dashboard/drift/drift_list_before.html",
    top="dashboard/drift/drift_list_top.html",
    empty="dashboard/drift/drift_list_empty.html",
    notes="dashboard/drift/drift_list_notes.html",
)

HEALS = ListDeclaration(
    name="heals",
    thing="repair",
    section="drift",
    cells="dashboard/drift/heal_cells.html",
    table_css="worklist",
    columns=(
        Column("what", gettext_noop("What"), lambda row: row.title, ("kind",), is_fixed=True, css="name what"),
        Column("subject", gettext_noop("Of"), lambda row: row.name or str(row.heal.subject or ""), ("subject",)),
        Column("found", gettext_noop("Found"), lambda row: row.heal.found, css="wrap"),
        Column("done", gettext_noop("Done"), lambda row: row.heal.done, css="wrap"),
        Column("evidence", gettext_noop("Evidence"), lambda row: row.heal.evidence, css="wrap"),
        Column("when", gettext_noop("When"), lambda row: row.heal.created_at, ("created_at",), css="nowrap"),
        Column("request", gettext_noop("Request"), lambda row: row.heal.request_id, ("request_id",), False, css="mono"),
        Column("id", gettext_noop("ID"), lambda row: row.heal.pk, ("pk",), False, css="mono"),
    ),
    rows=lambda _caller, _asked: heals(),
    prepare=_heals,
    filterset=lambda _caller: HealFilterSet,
    filters=(
        ListFilter("kind", gettext_noop("Kind"), is_first=True, choices=lambda _caller: heal_kinds_on_offer()),
        ListFilter(
            "subject", gettext_noop("Subject"), placeholder=gettext_noop("Id of an instance, batch or consumer")
        ),
        ListFilter("request_id", gettext_noop("Request"), placeholder="req-…"),
        ListFilter("created_after", gettext_noop("From")),
        ListFilter("created_before", gettext_noop("Until")),
    ),
    sort="-when",
    search_hint=gettext_noop("Kind, what was found or done, id …"),
    head="dashboard/drift/heal_list_head.html",
    empty="dashboard/drift/heal_list_empty.html",
)
