"""Rows of the pages of drift and heals: by kind, with evidence as people read it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any

from django.http import QueryDict

from controlplane.dashboard.instances.journey.labels import heal_label
from controlplane.work.filtersets import HealFilterSet
from controlplane.work.heal_records import heal_kinds, heals
from servers.instances.selectors.work_subjects import subject_names
from servers.repair.domain.drift import AUTOMATIC, KIND_LABELS, Drift, DriftKind
from servers.repair.selectors.drift import drift_checks, grace_s
from servers.repair.services.drift import ALLOCATIONS, GUESTS

HEAL_FILTERS = ("kind", "subject", "request_id")


@dataclass(frozen=True, slots=True)
class DriftGroup:
    """Drift of one kind. `grace_s`: how long it lasts before it is put right by itself; None: never by itself."""

    kind: DriftKind
    title: str
    grace_s: float | None
    rows: Sequence[Drift]


@dataclass(frozen=True, slots=True)
class LastDriftCheck:
    """When guests and allocations were checked last; None: not yet. `is_cut`: there is more than is listed."""

    guests: datetime | None
    allocations: datetime | None
    is_cut: bool

    @property
    def is_whole(self) -> bool:
        """Whether both were checked, so that an empty list says something."""
        return self.guests is not None and self.allocations is not None


def drift_groups(found: Iterable[Drift]) -> list[DriftGroup]:
    """By kind, in the order of the kinds; within one, the longest lasting first, as it came."""
    order = {kind: number for number, kind in enumerate(DriftKind)}
    rows = sorted(found, key=lambda one: order[one.kind])
    return [
        DriftGroup(kind, KIND_LABELS[kind], grace_s(kind) if kind in AUTOMATIC else None, list(group))
        for kind, group in groupby(rows, key=lambda one: one.kind)
    ]


def drift_kinds_on_offer() -> list[tuple[str, str]]:
    """(name, in words) for the filter."""
    return sorted(((kind.value, words) for kind, words in KIND_LABELS.items()), key=lambda one: one[1])


def last_drift_check() -> LastDriftCheck:
    """When the drift checks last finished, and whether one of them was cut short."""
    checks = drift_checks()
    guests, allocations = (checks[name].finished_at if name in checks else None for name in (GUESTS, ALLOCATIONS))
    return LastDriftCheck(guests, allocations, any(check.is_cut for check in checks.values()))


@dataclass(frozen=True, slots=True)
class HealQuery:
    """What was asked for of the record of heals, and what is wrong with it by field."""

    rows: Any
    values: Mapping[str, str]
    errors: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_any(self) -> bool:
        """Whether nothing was asked for."""
        return not any(self.values.values())


def heal_query(data: QueryDict) -> HealQuery:
    """Filtered as the API filters them."""
    found = HealFilterSet(data=data, queryset=heals())
    values = {name: str(data.get(name, "")).strip() for name in HEAL_FILTERS}
    if found.is_valid():
        return HealQuery(found.qs, values)
    errors = {name.replace("_", " ").capitalize(): " ".join(map(str, texts)) for name, texts in found.errors.items()}
    return HealQuery(heals().none(), values, errors)


@dataclass(frozen=True, slots=True)
class HealRow:
    """One heal; `name` is that of the instance it was about, empty where it was about something else."""

    heal: Any
    title: str
    evidence: str
    name: str
    is_there: bool


def heal_rows(page: Sequence[Any]) -> list[HealRow]:
    """Of a page of heals, in one query."""
    names = subject_names(ids=[one.subject for one in page if one.subject])
    rows = []
    for heal in page:
        name, is_there = names.get(heal.subject, ("", False))
        rows.append(HealRow(heal, heal_label(heal.kind), evidence_text(heal.evidence), name, is_there))
    return rows


def heal_kinds_on_offer() -> list[tuple[str, str]]:
    """(name, in words) of the kinds there are. One query."""
    return [(kind, heal_label(kind)) for kind in heal_kinds()]


def evidence_text(evidence: Mapping[str, Any]) -> str:
    """Indented JSON; times and ids as text."""
    return json.dumps(evidence, indent=2, sort_keys=True, default=str) if evidence else ""
