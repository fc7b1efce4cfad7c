"""Which snapshots of the fleet have to be kept: a whole one now and then, and what changed since.

Three levels: a whole fleet, what changed since it (a step), what changed since the step. A level is begun anew when
the one below grows above its bound, so that the cost of one more decision stays small. Snapshots are named by their
content: the same fleet on the same base has the same name, whoever writes it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from scheduling.decisions.ledger.content import compressed, digest_of, uncompressed
from scheduling.decisions.ledger.fleet_codec import (
    changes_from_bytes,
    changes_to_bytes,
    whole_from_bytes,
    whole_to_bytes,
)
from scheduling.decisions.ledger.fleet_columns import Column, Columns
from scheduling.decisions.ledger.providers import ProviderColumns

WHOLE_FOR_S = 6 * 3600.0
"""A process begins anew after this long, so that old snapshots can be pruned without looking who builds on them."""


@dataclass(frozen=True, slots=True)
class SnapshotEntry:
    """One snapshot as it is stored. `base`: the name of the snapshot that it changes; empty for a whole one."""

    digest: str
    base: str
    content: bytes
    host_count: int


@dataclass(frozen=True, slots=True)
class _Base:
    entry: SnapshotEntry
    columns: Columns
    since_s: float


@dataclass(slots=True)
class SnapshotChain:
    """What one process keeps in mind of the snapshots it wrote last. Not safe for several threads: lock around it."""

    clock: Callable[[], float]
    providers: ProviderColumns = field(default_factory=ProviderColumns)
    _whole: _Base | None = None
    _step: _Base | None = None

    def entries(self, columns: Columns, *, host_count: int, bound: int) -> list[SnapshotEntry]:
        """The snapshots that this state stands on, bases first; the last is the state's own.

        `bound`: bytes that changes since the last base may take before a new base is made.
        """
        whole = self._whole
        if whole is None or whole.entry.host_count != host_count or self.clock() - whole.since_s > WHOLE_FOR_S:
            return self._begin(columns, host_count)
        base = self._step or whole
        found = _changed(columns, base, host_count)
        if len(found.content) > bound:
            return self._next_step(columns, whole, host_count)
        below = [whole.entry] if base is whole else [whole.entry, base.entry]
        return below if found.digest == base.entry.digest else [*below, found]

    def _begin(self, columns: Columns, host_count: int) -> list[SnapshotEntry]:
        content = whole_to_bytes(columns)
        entry = SnapshotEntry(digest_of(content), "", compressed(content), host_count)
        self._whole, self._step = _Base(entry, columns, self.clock()), None
        return [entry]

    def _next_step(self, columns: Columns, whole: _Base, host_count: int) -> list[SnapshotEntry]:
        entry = _changed(columns, whole, host_count)
        if len(entry.content) * 2 > len(whole.entry.content):
            return self._begin(columns, host_count)
        self._step = _Base(entry, columns, self.clock())
        return [whole.entry, entry]


def _changed(columns: Columns, base: _Base, host_count: int) -> SnapshotEntry:
    """The change; the base itself where there is none."""
    content = changes_to_bytes(columns, base.columns)
    if content == _NO_CHANGE:
        return base.entry
    digest = digest_of(base.entry.digest.encode() + content)
    return SnapshotEntry(digest, base.entry.digest, compressed(content), host_count)


def columns_of_chain(contents: Sequence[bytes]) -> dict[str, Column]:
    """The columns of a state from the contents of its snapshots, bases first."""
    whole, *changes = (uncompressed(content) for content in contents)
    columns = whole_from_bytes(whole)
    for change in changes:
        columns = changes_from_bytes(change, columns)
    return columns


_NO_CHANGE = changes_to_bytes({}, {})
