"""How many instances each host has and how many of them keep its disks busy: counted again only where that changed.

The app above owns instances: it tells which table to watch (`models.change_triggers.source_register`, kind LOAD, the
key being the host) and how to count.
"""

import threading
from collections.abc import Callable, Collection, Mapping

from scheduling.fleet.cache.changes import ChangeFeed, change_feed
from scheduling.fleet.facts import HostInstances
from scheduling.models.change_triggers import ChangeSource, source_register

LOAD = "load"
_MANY = 500

Count = Callable[[Collection[str] | None], Mapping[str, HostInstances]]
"""Facts of these hosts, or of all; a host without instances is left out."""


class HostLoads:
    """One per process (`host_loads`); safe to share between threads."""

    def __init__(self, feed: ChangeFeed) -> None:
        self._feed = feed
        self._lock = threading.Lock()
        self._hosts: Mapping[str, HostInstances] = {}

    def read(self, count: Count) -> Mapping[str, HostInstances]:
        """{host: facts} as of the last poll of the change feed; one query where hosts are to be counted, else none.

        What is handed out never changes afterwards, and is the same object while nothing changes.
        """
        with self._lock:
            changes = self._feed.changes_for(LOAD, (LOAD,))
            hosts = changes.of(LOAD)
            if changes.everything or len(hosts) > _MANY:
                self._hosts = dict(count(None))
            elif hosts:
                rest = {host: facts for host, facts in self._hosts.items() if host not in hosts}
                self._hosts = {**rest, **count(hosts)}
            return self._hosts


def load_source_register(*, table: str, key: str, parts: tuple[str, ...]) -> None:
    """Watch the table whose rows are instances; `parts` as those of a ChangeSource."""
    source_register(ChangeSource(LOAD, table, key, parts))


_LOADS = HostLoads(change_feed())


def host_loads() -> HostLoads:
    """Those of this process."""
    return _LOADS
