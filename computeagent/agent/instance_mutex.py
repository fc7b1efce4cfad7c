"""Whose turn it is with an instance, inside this process. Between processes the file lock decides."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from computeagent.agent.held_leases import HeldLease
from computeagent.protocol.guests import GuestFacts
from computeagent.protocol.work import WorkKind

REPLACED_BY_REBOOT = frozenset(
    {
        WorkKind.REBOOT_SOFT,
        WorkKind.REBOOT,
        WorkKind.PAUSE,
        WorkKind.UNPAUSE,
        WorkKind.SUSPEND,
        WorkKind.RESUME,
    }
)


def _takes_place(held: HeldLease, other: HeldLease) -> bool:
    is_other_work = held.lease.work_id != other.lease.work_id
    return is_other_work and held.order.kind is WorkKind.REBOOT and other.order.kind in REPLACED_BY_REBOOT


class InstanceMutex:
    """At most one at a time works on an instance; work that finds it busy is parked, its lease kept alive."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parked: dict[str, deque[HeldLease]] = {}
        self._holders: dict[str, HeldLease] = {}
        self._entered: dict[str, int] = {}
        self._reported: dict[str, GuestFacts] = {}
        self._sequence = 0

    def enter_or_park(self, held: HeldLease) -> bool:
        """True when it is this work's turn now; otherwise the hold comes back from somebody's `leave`.

        A hard reboot is given out only once what it takes the place of is cancelled, so that has to wait for nothing.
        """
        with self._lock:
            if (queue := self._parked.get(held.guest.uuid)) is not None:
                for other in (self._holders.get(held.guest.uuid), *queue):
                    if other is not None and _takes_place(held, other):
                        other.fence()
                queue.append(held)
                return False
            self._begin(held.guest.uuid)
            self._holders[held.guest.uuid] = held
            return True

    def try_enter(self, instance_uuid: str) -> bool:
        """True when nobody works on the instance, and now the caller does."""
        with self._lock:
            if instance_uuid in self._parked:
                return False
            self._begin(instance_uuid)
            return True

    def leave(self, instance_uuid: str) -> list[HeldLease]:
        """End a turn. The holds that were parked meanwhile: they want to be served now."""
        with self._lock:
            self._holders.pop(instance_uuid, None)
            return list(self._parked.pop(instance_uuid))

    def waiting(self, instance_uuid: str) -> list[HeldLease]:
        """The work that is parked until whoever works on the instance now leaves it, without what was cancelled."""
        with self._lock:
            return [held for held in self._parked.get(instance_uuid, ()) if not held.is_fenced]

    def is_busy(self, instance_uuid: str) -> bool:
        """Whether somebody works on the instance."""
        with self._lock:
            return instance_uuid in self._parked

    def checkpoint(self) -> int:
        """A point in time to compare with later."""
        with self._lock:
            return self._sequence

    def undisturbed_since(self, checkpoint: int, instance_uuid: str) -> bool:
        """Whether nobody worked on the instance since `checkpoint`: what was read of it then still holds."""
        with self._lock:
            return instance_uuid not in self._parked and self._entered.get(instance_uuid, 0) <= checkpoint

    def reported(self, instance_uuid: str, facts: GuestFacts) -> None:
        """Whoever works on the instance has told these facts at its end. The next turn makes them void."""
        with self._lock:
            self._reported[instance_uuid] = facts

    def take_reported(self, instance_uuids: Iterable[str]) -> dict[str, GuestFacts]:
        """What was told last of those instances of these on which nobody worked since; each once."""
        with self._lock:
            return {uuid: self._reported.pop(uuid) for uuid in instance_uuids if uuid in self._reported}

    def forget_until(self, checkpoint: int) -> None:
        """Nobody will ask about marks before this one."""
        with self._lock:
            self._entered = {uuid: entered for uuid, entered in self._entered.items() if entered > checkpoint}

    def _begin(self, instance_uuid: str) -> None:
        self._sequence += 1
        self._parked[instance_uuid] = deque()
        self._entered[instance_uuid] = self._sequence
        self._reported.pop(instance_uuid, None)


@contextmanager
def instance_mutex_try(
    instance_mutex: InstanceMutex, instance_uuid: str, *, resume: Callable[[HeldLease], None]
) -> Iterator[bool]:
    """A turn for the agent's own housekeeping; yields False when the instance is busy, and then nothing is held."""
    entered = instance_mutex.try_enter(instance_uuid)
    try:
        yield entered
    finally:
        if entered:
            for held in instance_mutex.leave(instance_uuid):
                resume(held)
