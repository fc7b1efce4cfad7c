"""Rows of the pages of drift and heals: by kind, with evidence as people read it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from controlplane.dashboard.instances.journey.labels import heal_label
from controlplane.dashboard.texts import translated
from controlplane.work.heal_records import heal_kinds
from servers.instances.selectors.work_subjects import subject_names
from servers.repair.domain.drift import KIND_LABELS
from servers.repair.selectors.drift import drift_checks
from servers.repair.services.drift import ALLOCATIONS, GUESTS


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


def drift_kinds_on_offer() -> list[tuple[str, str]]:
    """(name, in the reader's words) for the filter."""
    ordered = sorted(KIND_LABELS.items(), key=lambda one: one[1])
    return [(kind.value, translated(words)) for kind, words in ordered]


def last_drift_check() -> LastDriftCheck:
    """When the drift checks last finished, and whether one of them was cut short."""
    checks = drift_checks()
    guests, allocations = (checks[name].finished_at if name in checks else None for name in (GUESTS, ALLOCATIONS))
    return LastDriftCheck(guests, allocations, any(check.is_cut for check in checks.values()))


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
    return [(kind, translated(heal_label(kind))) for kind in heal_kinds()]


def evidence_text(evidence: Mapping[str, Any]) -> str:
    """Indented JSON; times and ids as text."""
    return json.dumps(evidence, indent=2, sort_keys=True, default=str) if evidence else ""
