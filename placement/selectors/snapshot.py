"""The fleet in memory, for candidate searches: it refreshes itself from what changed and never trusts itself."""

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
    """One per process (`provider_snapshot`); safe to share between threads. What it says may be old: the claim decides.

    What its own open transaction wrote is seen, and looked at again until that transaction has ended one way or the
    other. What another transaction holds open does not make it load the same rows again and again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cursor: Cursor | None = None
        self._columns = FleetColumns()
        self._rows = FleetRows()
        self._held: dict[int, tuple[int, UUID | None]] = {}
        self._lowest = self._highest = 0
        self._doubtful: set[int] = set()

    def read(self, reader: Callable[[FleetColumns], T]) -> T:
        """What `reader` makes of the fleet as of now. It must not keep the columns: they change afterwards."""
        with self._lock:
            self._refresh()
            return reader(self._columns)

    def facts(self) -> dict[UUID, ProviderFacts]:
        """{provider: all that is known of it} as of now."""
        return self.read(lambda columns: {uuid: columns.fact(row) for uuid, row in columns.row_of.items()})

    def _refresh(self) -> None:
        """An unchanged fleet costs a look; changed providers alone are loaded again."""
        if self._cursor is None:
            self._load_all(fleet_delta())
            return
        if not self._doubtful and is_unchanged(self._cursor):
            return
        delta = fleet_delta(self._cursor)
        if delta.delta_cursor.ended < self._cursor.ended:
            self._load_all(delta)  # the counter went backwards: another database stands where ours was
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
        # Where the reader's own transaction may be part of this, the next look starts anew.
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
        """Take in one provider; whether the rows are still in the order of the ids."""
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
        """Providers that are held are gone without a trace: the tables were emptied, or are others."""
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
