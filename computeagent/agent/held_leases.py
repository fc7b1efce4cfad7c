"""The pieces of work that this agent holds a lease on, and whether it still does."""

import threading

from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.work import AgentLease, WorkOrder
from controlplane.kernel.errors import Fenced


class HeldLease:
    """One taken piece of work. Any thread may fence it; the thread that works on it looks before each effect."""

    def __init__(self, order: WorkOrder) -> None:
        self.order = order
        self._fenced = threading.Event()

    @property
    def lease(self) -> AgentLease:
        """The lease that every write must carry."""
        return self.order.lease

    @property
    def guest(self) -> GuestSpec:
        """Whom the work is about."""
        return self.order.guest

    @property
    def is_fenced(self) -> bool:
        """Whether the lease is known to be over."""
        return self._fenced.is_set()

    def fence(self) -> None:
        """The control plane refused this lease: the next look stops the work."""
        self._fenced.set()

    def check(self) -> None:
        """Raises Fenced when the lease is over."""
        if self.is_fenced:
            raise Fenced(f"the lease on work {self.lease.work_id} (attempt {self.lease.attempt}) is over")


class HeldLeases:
    """All holds of this agent; the renewer walks over them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_work: dict[str, HeldLease] = {}

    def add(self, order: WorkOrder) -> HeldLease:
        """Begin to hold; its lease is renewed from now on."""
        held = HeldLease(order)
        with self._lock:
            self._by_work[order.lease.work_id] = held
        return held

    def drop(self, held: HeldLease) -> None:
        """Renew no more: the work ended, or is left to whoever takes it after the lease."""
        with self._lock:
            if self._by_work.get(held.lease.work_id) is held:
                del self._by_work[held.lease.work_id]

    def all(self) -> list[HeldLease]:
        """The holds at this moment."""
        with self._lock:
            return list(self._by_work.values())
