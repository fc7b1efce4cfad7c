"""This process's cache of the fleet, for candidate searches. Each read first brings it up to the latest changes.

What a search finds may be old by the time it is claimed; only the claim decides. So the cache may lag, but a read that
begins after a commit must see it, and what was rolled back must never stay.
"""

import threading
from collections.abc import Callable, Iterable
from typing import TypeVar
from uuid import UUID

from controlplane.infra.change_feed import Cursor, is_unchanged, is_uncommitted_possible
from placement.candidates import FleetColumns, ProviderFacts, columns_of
from placement.selectors.changes import FleetDelta, fleet_delta
from placement.selectors.fleet_rows import FleetRows, LoadedProvider

T = TypeVar("T")

_UNKNOWN_STAMP = -1
_UNKNOWN: tuple[int, UUID | None] = (_UNKNOWN_STAMP, None)
# When so many are to be loaded again, or so many rows are empty, starting anew is cheaper.
_MANY = 64
_MANY_SHARE = 4


class ProviderSnapshot:
    """The providers as columns. There is one per process (`provider_snapshot`), safe to share between threads.

    A reader sees what its own open transaction wrote; such rows are doubtful, and are loaded at each read until that
    transaction has ended one way or the other. What another transaction has not committed yet does not make the
    snapshot load the same rows again and again.
    """

    def __init__(self) -> None:
        # One lock for all below: columns change in place, so nobody may read them while another refreshes them.
        self._lock = threading.Lock()
        # Every change before the cursor is in the columns. None: nothing is loaded, or what is loaded was not certain.
        self._cursor: Cursor | None = None
        self._columns = FleetColumns()
        self._rows = FleetRows()
        # {id: (stamp that was loaded, uuid)} of each provider in the columns. A provider whose stamp reads otherwise
        # is loaded again; `_UNKNOWN_STAMP` is no stamp of any row, so such a provider is loaded at its next change.
        self._held: dict[int, tuple[int, UUID | None]] = {}
        # The first and the last id of `_held`: by them an emptied or exchanged table is found out (`_is_unlike`).
        self._lowest = self._highest = 0
        # Ids of providers that the reader's own open transaction wrote or removed (on SQLite: may have): what is in the
        # columns about them may be rolled back, and then no stamp says so. They are loaded at every read until then.
        self._doubtful: set[int] = set()

    def read(self, reader: Callable[[FleetColumns], T]) -> T:
        """Return what `reader` makes of the fleet as of now. It must not store the columns: they change afterwards."""
        with self._lock:
            self._refresh()
            return reader(self._columns)

    def facts(self) -> dict[UUID, ProviderFacts]:
        """Return {provider: all that is known of it} as of now."""
        return self.read(lambda columns: {uuid: columns.fact(row) for uuid, row in columns.row_of.items()})

    def _refresh(self) -> None:
        """Load what changed since the cursor. An unchanged fleet costs one small query, a change only its providers."""
        if self._cursor is None:
            self._load_all(fleet_delta())
            return
        if not self._doubtful and is_unchanged(self._cursor):
            return
        delta = fleet_delta(self._cursor)
        if delta.delta_cursor.ended < self._cursor.ended:
            self._load_all(delta)  # the counter went backwards: this is another database than before
            return
        self._apply(delta)
        if self._is_unlike(delta):
            self._load_all(delta)

    def _load_all(self, delta: FleetDelta) -> None:
        self._held, self._doubtful, self._rows = {}, set(), FleetRows()
        loaded = self._rows.every()
        self._columns = columns_of(one.facts for one in loaded)
        self._hold(loaded, delta)
        self._find_ends()
        # Where the reader's own transaction may be part of this, the next read starts anew.
        self._cursor = None if _is_uncertain(delta) else delta.delta_cursor

    def _apply(self, delta: FleetDelta) -> None:
        for uuid in delta.removed.keys() & self._columns.row_of.keys():
            self._drop(uuid, delta)
        stale = {pk for pk, stamp in delta.changed.items() if self._held.get(pk, _UNKNOWN)[0] != stamp}
        stale |= self._doubtful
        if len(stale) > _MANY + len(self._held) // _MANY_SHARE:
            self._load_all(delta)
        elif stale:
            self._load(sorted(stale), delta)
        # On SQLite a stamp of the reader's own transaction may be given again after a rollback: the cursor stays.
        if self._cursor is not None and not is_uncommitted_possible():
            self._cursor = delta.delta_cursor

    def _load(self, provider_ids: list[int], delta: FleetDelta) -> None:
        loaded = list(self._rows.some(provider_ids))
        gone = self._doubtful.difference(one.id for one in loaded)
        self._doubtful = gone if _is_uncertain(delta) else set()
        for pk in set(provider_ids).difference(one.id for one in loaded):
            self._forget(pk)
        is_in_order = True
        for one in loaded:
            is_in_order &= self._put(one)
        self._hold(loaded, delta)
        self._find_ends()
        empty = len(self._columns) - self._columns.count
        if not is_in_order or empty > _MANY + self._columns.count // _MANY_SHARE:
            # Candidates come in the order of the ids, and searches must not pass ever more empty rows: new columns.
            self._held = dict(sorted(self._held.items()))
            uuids = [uuid for _, uuid in self._held.values() if uuid is not None]
            old = self._columns
            self._columns = columns_of(old.fact(old.row_of[uuid]) for uuid in uuids)

    def _put(self, one: LoadedProvider) -> bool:
        """Put one provider into the columns. Returns whether the rows are still in the order of the ids."""
        uuid = one.facts.uuid
        if self._held.get(one.id, _UNKNOWN)[1] != uuid:
            self._forget(one.id)
            self._columns.drop(uuid)
        is_new = uuid not in self._columns.row_of
        self._columns.put(one.facts)
        return not is_new or one.id > self._highest

    def _hold(self, loaded: Iterable[LoadedProvider], delta: FleetDelta) -> None:
        for one in loaded:
            is_doubtful = is_uncommitted_possible() or one.stamp == delta.own
            self._held[one.id] = (_UNKNOWN_STAMP if is_doubtful else one.stamp, one.facts.uuid)
            if is_doubtful:
                self._doubtful.add(one.id)

    def _drop(self, uuid: UUID, delta: FleetDelta) -> None:
        pk = next((pk for pk, (_, held) in self._held.items() if held == uuid), None)
        self._columns.drop(uuid)
        if pk is not None:
            self._forget(pk)
            self._find_ends()
            if is_uncommitted_possible() or delta.removed[uuid] == delta.own:
                self._doubtful.add(pk)

    def _forget(self, pk: int) -> None:
        _, uuid = self._held.pop(pk, _UNKNOWN)
        if uuid is not None:
            self._columns.drop(uuid)

    def _find_ends(self) -> None:
        self._lowest, self._highest = min(self._held, default=0), max(self._held, default=0)

    def _is_unlike(self, delta: FleetDelta) -> bool:
        """Whether providers are gone without a recorded removal: the tables were emptied, or are others."""
        if not self._held:
            return False
        return (
            delta.highest is None
            or delta.lowest is None
            or delta.highest < self._highest
            or delta.lowest > self._lowest
        )


def _is_uncertain(delta: FleetDelta) -> bool:
    """Whether the reader's own open transaction has, or may have, written."""
    return delta.own != 0 or is_uncommitted_possible()


_FLEET = ProviderSnapshot()


def provider_snapshot() -> ProviderSnapshot:
    """The one snapshot of this process."""
    return _FLEET
