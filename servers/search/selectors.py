"""The search itself: one bounded query for each kind that the term can be of, whatever the installation's size."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Case, F, IntegerField, Q, Value, When

from controlplane.identity.domain import Caller
from controlplane.identity.policy import allows
from controlplane.identity.selectors.people import project_names
from controlplane.infra.reader_time import time_text
from servers.search.kinds import KINDS, SearchKind
from servers.search.terms import SearchTerm, search_term

MAX_OF_A_KIND = 8


@dataclass(frozen=True, slots=True)
class Found:
    """One thing. `key` is what its page is addressed by; `project` is named to admins alone, who see those of all."""

    kind: str
    key: str
    name: str
    note: str
    project: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What was found, kind after kind; of those in `cut` there is more."""

    term: SearchTerm
    found: tuple[Found, ...]
    cut: frozenset[str]


def search(*, caller: Caller, text: str) -> SearchResult:
    """At most MAX_OF_A_KIND of each kind, the best fitting first: those called exactly so, then those that begin so.

    Everybody finds what the lists show him, and no more. Raises Invalid.
    """
    term = search_term(text)
    rows: list[tuple[str, tuple[Any, ...]]] = []
    cut = set()
    for kind in KINDS:
        condition = kind.condition(term) if allows(caller, kind.action) else None
        if condition is None:
            continue
        of_kind = _rows(kind, caller, condition, term.text)
        rows += [(kind.kind, row) for row in of_kind[:MAX_OF_A_KIND]]
        if len(of_kind) > MAX_OF_A_KIND:
            cut.add(kind.kind)
    projects = project_names({row[3] for _, row in rows if row[3]}) if caller.sees_all else {}
    found = tuple(_found(kind, row, projects) for kind, row in rows)
    return SearchResult(term, tuple(dict.fromkeys(found)), frozenset(cut))


def _rows(kind: SearchKind, caller: Caller, condition: Q, text: str) -> list[tuple[Any, ...]]:
    """(key, title, note, project) of one more than are shown."""
    fit = [
        When(**{f"{name}__{how}": text}, then=Value(rank))
        for rank, how in enumerate(("iexact", "istartswith"))
        for name in kind.names
    ]
    columns = {"of_note": kind.note, "of_project": kind.project}
    rows = kind.rows(caller).filter(condition)
    order: list[Any] = [Case(*fit, default=Value(9), output_field=IntegerField())] if fit else []
    asked = [F(name) if name else Value(None, output_field=IntegerField()) for name in columns.values()]
    picked = rows.order_by(*order, kind.title, "pk").values_list(kind.key, kind.title, *asked)
    return list(picked[: MAX_OF_A_KIND + 1])


def _found(kind: str, row: tuple[Any, ...], projects: dict[UUID, str]) -> Found:
    key, title, note, project = row
    said = time_text(note, "minute") if isinstance(note, datetime) else str(note or "")
    return Found(kind, str(key), str(title or key), said, projects.get(project, ""))
