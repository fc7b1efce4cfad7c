"""The fleet in memory, for candidate searches: it refreshes itself from what changed and never trusts itself."""

import threading
from collections.abc import Collection
from uuid import UUID

from placement.candidates import (
    CandidateQuery,
    CandidateResult,
    FleetColumns,
    ProviderFacts,
    candidates_find,
    columns_of,
)
from placement.selectors.changes import ChangeMark, change_mark, changes_since
from placement.selectors.providers import provider_aggregates_by_uuid, provider_traits_by_uuid, provider_views
from placement.selectors.usage import fleet_usage


class FleetSnapshot:
    """One per process (`fleet_snapshot`); safe to share between threads. What it says may be old: the claim decides."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._mark: ChangeMark | None = None
        self._facts: dict[UUID, ProviderFacts] = {}
        self._columns = columns_of([])

    def columns(self) -> FleetColumns:
        """The fleet as of now. An unchanged fleet costs a look; changed providers alone are loaded again."""
        with self._lock:
            if self._mark is None:
                self._load_all()
            else:
                self._load_changed(self._mark)
            return self._columns

    def _load_all(self) -> None:
        mark = change_mark()
        self._facts = _load(None)
        self._columns = columns_of(self._facts.values())
        self._mark = mark

    def _load_changed(self, mark: ChangeMark) -> None:
        changes = changes_since(mark)
        if changes.mark.since < mark.since:
            self._load_all()  # the counter went backwards: another database stands where ours was
            return
        if not changes.is_empty:
            for uuid in changes.removed:
                self._facts.pop(uuid, None)
            self._facts |= _load(changes.changed)
            self._columns = columns_of(self._facts.values())
        self._mark = changes.mark


def _load(provider_uuids: Collection[UUID] | None) -> dict[UUID, ProviderFacts]:
    """A change between two of these queries has a stamp beyond the mark, so the next look loads it again."""
    usage = fleet_usage(provider_uuids)
    traits = provider_traits_by_uuid(provider_uuids)
    aggregates = provider_aggregates_by_uuid(provider_uuids)
    none: frozenset[UUID] = frozenset()
    return {
        view.uuid: ProviderFacts(
            uuid=view.uuid,
            root_uuid=view.root_uuid,
            inventories=usage.get(view.uuid, {}),
            traits=traits.get(view.uuid, frozenset()),
            aggregates=aggregates.get(view.uuid, none),
        )
        for view in provider_views(provider_uuids)
    }


_FLEET = FleetSnapshot()


def fleet_snapshot() -> FleetSnapshot:
    """This process's snapshot."""
    return _FLEET


def candidate_search(query: CandidateQuery, *, snapshot: FleetSnapshot | None = None) -> CandidateResult:
    """The providers that can give what `query` asks, as of now."""
    return candidates_find((snapshot or _FLEET).columns(), query)
