"""Which kill comes next: every point in turn, the least struck first, and some at any moment."""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

RANDOM_EVERY = 4
MAX_MISSES, MAX_MISSES_OF_CHOSEN = 2, 6
"""After so many a point is given up; the second where somebody chose which ones are struck."""

FETCH = ("computeagent.transport.image_chunks", "servers.agent_api.connection.DatabaseConductor._image_of")
REAL_GUESTS = (
    *FETCH,
    "computeagent.drivers.libvirt.",
    "computeagent.drivers.instance_files",
    "computeagent.drivers.image_cache",
)
COMPARES = ("computeagent.volumes.backup:compared",)
MAKES_ANEW = "computeagent.build_volumes:emptied"
FETCHES = (*FETCH, "computeagent.drivers.image_cache", "computeagent.driver.prepare_image")


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill -9: at `point`, or where it hits when that is empty.

    `with_restart`: a process is killed as well and all clean-ups are made due, because nobody passed the point
    without that.
    """

    point: str = ""
    with_restart: bool = False

    @property
    def needs_real_guest(self) -> bool:
        """Whether only a real hypervisor passes the point."""
        return self.point.startswith(REAL_GUESTS)

    @property
    def needs_login(self) -> bool:
        """Whether only somebody who logs in passes it."""
        return self.point.startswith("controlplane.identity.")

    @property
    def needs_fresh_image(self) -> bool:
        """Whether only the first build from an image passes it."""
        return self.point.startswith(FETCHES)

    @property
    def needs_comparing_backup(self) -> bool:
        """Whether only an increment passes it for which no snapshot is left that could tell what changed."""
        return self.point.startswith(COMPARES)

    @property
    def needs_rebuilt_volume(self) -> bool:
        """Whether only the rebuild of an instance passes it that boots from a volume."""
        return self.point.startswith(MAKES_ANEW)


class Schedule:
    """Hands out kills. The same seed and the same course of events give the same kills.

    `injected`: points that were struck elsewhere before, each as often; the others come first.
    """

    def __init__(self, seed: int, *, only: Sequence[str] = (), injected: Iterable[str] = ()) -> None:
        self._rng = random.Random(seed)
        self._only = tuple(only)
        self._max_misses = MAX_MISSES_OF_CHOSEN if only else MAX_MISSES
        self._count = 0
        self._injected = Counter(injected)
        self._missed: Counter[str] = Counter()

    def next(self, points: Iterable[str]) -> Kill:
        """The next one, of the points known by now. At random when no point is left that anybody may pass."""
        self._count += 1
        left = [one for one in points if self._missed[one] < self._max_misses and self._is_wanted(one)]
        if not left or (self._count % RANDOM_EVERY == 0 and not self._only):
            return Kill()
        fewest = min(self._tries(one) for one in left)
        point = self._rng.choice(sorted(one for one in left if self._tries(one) == fewest))
        return Kill(point, with_restart=self._missed[point] > 0)

    def injected(self, kill: Kill) -> None:
        """It was passed, and somebody died there."""
        self._injected[kill.point] += 1

    def missed(self, kill: Kill) -> None:
        """Nobody came by."""
        self._missed[kill.point] += 1

    def _is_wanted(self, point: str) -> bool:
        return not self._only or any(word in point for word in self._only)

    def _tries(self, point: str) -> tuple[int, int]:
        """Of those that somebody chose, each is struck before any is struck again, however often it is missed."""
        injected, missed = self._injected[point], self._missed[point]
        return (injected, missed) if self._only else (injected + missed, 0)
