"""Guests that the hypervisor spoke of, and when each is looked at: at once, but none more than once a second for long.

An event is only a reason to look. What is told to the control plane is what was read after it, so events may be lost,
doubled or late without harm.
"""

import math
import threading
from collections.abc import Callable, Iterable

SPACING_S = 1.0
"""A guest is looked at this often at most, whatever is heard of it: one that flaps costs no more than that."""
BURST = 3
"""So many looks at one guest come at once, as for one that starts and powers itself off."""
AFTER_WORK_S = 5.0
"""When a guest is looked at again that was being worked on: the work itself tells how it ended."""
MAX_NAMED = 256
"""Where more guests than this wait to be looked at, all guests are."""


class GuestEvents:
    """Written by the driver's threads, read by one. `clock` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.happened = threading.Event()
        self._clock = clock
        self._lock = threading.Lock()
        # By guest, None for all of them: when it is to be looked at, and until when its looks so far are paid for by
        # waiting (the generic cell rate algorithm).
        self._due: dict[str | None, float] = {}
        self._paid_at: dict[str | None, float] = {}

    def note(self, guest_uuid: str | None) -> None:
        """This guest may have changed; None: any may have. Neither blocks nor raises."""
        with self._lock:
            due = max(self._clock(), self._paid_at.get(guest_uuid, -math.inf) - (BURST - 1) * SPACING_S)
            if self._due.get(guest_uuid, math.inf) <= due:
                return
            self._wait_for(guest_uuid, due)
        self.happened.set()

    def look_after_work(self, guest_uuids: Iterable[str]) -> None:
        """These were being worked on when they were looked at."""
        with self._lock:
            due = self._clock() + AFTER_WORK_S
            for guest_uuid in guest_uuids:
                if guest_uuid not in self._due:
                    self._wait_for(guest_uuid, due)

    def take(self) -> set[str | None]:
        """Those whose time has come, who count as looked at from now on."""
        with self._lock:
            now = self._clock()
            taken = {guest_uuid for guest_uuid, due in self._due.items() if due <= now}
            self._due = {guest_uuid: due for guest_uuid, due in self._due.items() if due > now}
            self._paid_at = {guest_uuid: at for guest_uuid, at in self._paid_at.items() if at > now}
            self._paid_at |= {guest_uuid: self._paid_at.get(guest_uuid, now) + SPACING_S for guest_uuid in taken}
            return taken

    def seconds_to_next(self) -> float:
        """Until a guest is to be looked at; infinite when none is."""
        with self._lock:
            return max(0.0, min(self._due.values(), default=math.inf) - self._clock())

    def _wait_for(self, guest_uuid: str | None, due: float) -> None:
        if len(self._due) >= MAX_NAMED and guest_uuid not in self._due:
            self._due = {None: min(due, *self._due.values())}
        else:
            self._due[guest_uuid] = due
