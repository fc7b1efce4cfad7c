"""Ships the ends of serial logs that changed since they were last sent.

Each shipment rewrites a row. A guest that prints without end would have it rewritten every second for ever, so the
rest between two shipments of one log doubles for as long as it changes each time it is read.
"""

import hashlib
import itertools

from computeagent.agent.context import AgentContext
from computeagent.drivers.base import DriverError

BATCH = 16
LIST_EVERY_S = 10.0


def console_text(raw: bytes) -> str:
    """What a database and a page can hold: UTF-8 with replacement characters, without NULs."""
    return raw.decode("utf-8", errors="replace").replace("\x00", "")


class ConsoleShipper:
    """Looks at the guests' logs each tick; the list of guests is read seldom, and new ones are named at once."""

    def __init__(self, context: AgentContext) -> None:
        self._context = context
        self._watched: set[str] = set()
        self._sent: dict[str, bytes] = {}
        self._listed_at: float | None = None
        # By guest: how often in a row its log had changed, and when it is read again.
        self._backoff: dict[str, tuple[int, float]] = {}

    def tick(self) -> None:
        """Send what changed. A log that could not be sent counts as unsent and comes with the next tick."""
        self._refresh()
        due = [uuid for uuid in sorted(self._watched) if self._is_due(uuid)]
        changed = {uuid: raw for uuid in due if (raw := self._changed_tail(uuid)) is not None}
        self._backoff = {uuid: entry for uuid, entry in self._backoff.items() if uuid not in due or uuid in changed}
        items = iter(changed.items())
        while batch := dict(itertools.islice(items, BATCH)):
            texts = {uuid: console_text(raw) for uuid, raw in batch.items()}
            self._context.conductor.console_outputs(host=self._context.host, outputs=texts)
            self._sent.update({uuid: _digest(raw) for uuid, raw in batch.items()})
            for uuid in batch:
                self._rest(uuid)

    def _is_due(self, uuid: str) -> bool:
        return uuid not in self._backoff or self._context.clock() >= self._backoff[uuid][1]

    def _rest(self, uuid: str) -> None:
        """The first change in a row rests for no more than a tick, each further one twice as long as the one before."""
        options = self._context.options
        in_a_row = self._backoff.get(uuid, (0, 0.0))[0] + 1
        doubled = options.console_interval_s * 2.0 ** min(in_a_row - 1, 16) if in_a_row > 1 else 0.0
        self._backoff[uuid] = (in_a_row, self._context.clock() + min(doubled, options.console_max_interval_s))

    def _refresh(self) -> None:
        now = self._context.clock()
        if self._listed_at is None or now - self._listed_at >= LIST_EVERY_S:
            self._watched = {guest.uuid for guest in self._context.driver.guests()}
            self._sent = {uuid: digest for uuid, digest in self._sent.items() if uuid in self._watched}
            self._backoff = {uuid: entry for uuid, entry in self._backoff.items() if uuid in self._watched}
            self._listed_at = now
        fresh = self._context.changes.take_fresh()
        self._watched |= fresh
        for uuid in fresh:
            self._backoff.pop(uuid, None)

    def _changed_tail(self, uuid: str) -> bytes | None:
        try:
            raw = self._context.driver.console_log(uuid, max_bytes=self._context.options.console_max_bytes)
        except DriverError:
            # Gone since the list was made, or unreadable: the other guests' logs still go.
            self._context.counts.add("console_unreadable")
            return None
        unchanged = _digest(raw) == self._sent.get(uuid) if uuid in self._sent else not raw
        return None if unchanged else raw


def _digest(raw: bytes) -> bytes:
    return hashlib.blake2b(raw, digest_size=16).digest()
