"""Ships the ends of serial logs that changed since they were last sent."""

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
    """Looks at every guest's log each tick; the list of guests is read seldom, and new ones are named at once."""

    def __init__(self, context: AgentContext) -> None:
        self._context = context
        self._watched: set[str] = set()
        self._sent: dict[str, bytes] = {}
        self._listed_at: float | None = None

    def tick(self) -> None:
        """Send what changed. A log that could not be sent counts as unsent and comes with the next tick."""
        self._refresh()
        changed = {uuid: raw for uuid in sorted(self._watched) if (raw := self._changed_tail(uuid)) is not None}
        items = iter(changed.items())
        while batch := dict(itertools.islice(items, BATCH)):
            texts = {uuid: console_text(raw) for uuid, raw in batch.items()}
            self._context.conductor.console_outputs(host=self._context.host, outputs=texts)
            self._sent.update({uuid: _digest(raw) for uuid, raw in batch.items()})

    def _refresh(self) -> None:
        now = self._context.clock()
        if self._listed_at is None or now - self._listed_at >= LIST_EVERY_S:
            self._watched = {guest.uuid for guest in self._context.driver.guests()}
            self._sent = {uuid: digest for uuid, digest in self._sent.items() if uuid in self._watched}
            self._listed_at = now
        self._watched |= self._context.changes.take_fresh()

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
