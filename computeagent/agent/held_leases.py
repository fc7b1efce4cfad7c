"""The pieces of work that this agent holds a lease on, and whether it still does."""

import threading
from collections.abc import Callable

from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.volume_work import VolumeOrder
from computeagent.protocol.work import AgentLease, WorkOrder
from controlplane.kernel.errors import Fenced


class HeldWork:
    """One lease. Any thread may fence it; the thread that works under it looks before each effect."""

    def __init__(self, lease: AgentLease, about: str) -> None:
        self.lease = lease
        """What every write must carry."""
        self.about = about
        """For people: what is done, and to whom."""
        self._fenced = threading.Event()

    @property
    def is_fenced(self) -> bool:
        """Whether the lease is known to be over."""
        return self._fenced.is_set()

    def fence(self) -> None:
        """The control plane refused this lease: the next look stops the work."""
        self._fenced.set()

    def renewed(self, asked_at: float) -> None:
        """The control plane prolonged it, having been asked at `asked_at` by the agent's clock."""

    def check(self) -> None:
        """Raises Fenced when the lease is over."""
        if self.is_fenced:
            raise Fenced(f"the lease on work {self.lease.work_id} (attempt {self.lease.attempt}) is over")


class HeldLease(HeldWork):
    """One taken piece of work on an instance."""

    def __init__(self, order: WorkOrder) -> None:
        super().__init__(order.lease, f"{order.kind} of {order.guest.uuid}")
        self.order = order

    @property
    def guest(self) -> GuestSpec:
        """Whom the work is about."""
        return self.order.guest


class HeldVolume(HeldWork):
    """One taken piece of work on a volume, asked for at `asked_at` by the agent's `clock`.

    Bytes of a shared pool are within reach of other hosts, which may have the work as soon as its lease is over. So
    one that was not renewed in time counts as over here too, though the control plane could not say so.
    """

    def __init__(self, order: VolumeOrder, clock: Callable[[], float], asked_at: float) -> None:
        super().__init__(order.lease, f"{order.kind} of {order.volume.id}")
        self.order = order
        self._clock = clock
        self._renewed_at = asked_at
        self._moved_at = asked_at

    def renewed(self, asked_at: float) -> None:
        """See HeldWork."""
        self._renewed_at = max(self._renewed_at, asked_at)

    def moved(self) -> None:
        """It got on."""
        self._moved_at = self._clock()

    def silent_s(self) -> float:
        """For how many seconds nothing was heard of it."""
        return self._clock() - self._moved_at

    def check(self) -> None:
        """Raises Fenced when the lease is over."""
        if self._clock() - self._renewed_at >= self.lease.lease_s:
            self.fence()
        super().check()


class HeldLeases:
    """All holds of this agent; the renewer walks over them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_work: dict[str, HeldWork] = {}

    def add(self, order: WorkOrder) -> HeldLease:
        """Begin to hold; its lease is renewed from now on."""
        held = HeldLease(order)
        self.hold(held)
        return held

    def hold(self, held: HeldWork) -> None:
        """The same, of any kind."""
        with self._lock:
            self._by_work[held.lease.work_id] = held

    def drop(self, held: HeldWork) -> None:
        """Renew no more: the work ended, or is left to whoever takes it after the lease."""
        with self._lock:
            if self._by_work.get(held.lease.work_id) is held:
                del self._by_work[held.lease.work_id]

    def all(self) -> list[HeldWork]:
        """The holds at this moment."""
        with self._lock:
            return list(self._by_work.values())
