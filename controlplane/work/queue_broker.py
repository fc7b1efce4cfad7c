"""The broker that django-q2 sees: wake-ups in, packages made and signed inside this process tree only."""

import logging
import math
import time
from collections.abc import Sequence
from typing import Any

from django.utils import timezone
from django_q.brokers import Broker
from django_q.conf import Conf
from django_q.humanhash import uuid as task_tag
from django_q.signing import SignedPackage

from controlplane.kernel.errors import Unavailable
from controlplane.work.jobs import ANSWER, CANARY, CANARY_EVERY_S
from controlplane.work.wakeups import ReceivedWakeup, WakeupWaiter, waiter_open

log = logging.getLogger(__name__)
SLICE_S = 0.5  # the pusher looks at its stop event between two calls of dequeue
BACK_OFF_S = 0.5
MAX_TOGETHER = 16


class WakeupBroker(Broker):  # type: ignore[misc]  # django-q2 has no types
    """Turns rings of this queue into calls of `jobs.answer_all`; unknown codes are dropped there.

    What came while the workers were busy is handed out in one package for each of them, so that the cost of a package
    (pickled, signed, sent, its end told) and of work that can be done together is paid once. A ring by itself is handed
    out at once.
    """

    _waiter: WakeupWaiter | None = None
    _canary_at = float("-inf")

    def dequeue(self) -> list[tuple[str, str]] | None:
        """Wait a moment for rings. Never raises for a broker that is away: that would cost ten seconds' sleep."""
        if self._waiter is None:
            self._waiter = waiter_open(self.list_key)
        try:
            wakeups = self._waiter.wait(SLICE_S)
        except Unavailable as error:
            log.warning("no wake-ups for now: %s", error)
            time.sleep(BACK_OFF_S)
            return None
        return [_package(share) for share in [*self._canary(), *_shares(wakeups, Conf.WORKERS)]] or None

    def _canary(self) -> list[Sequence[ReceivedWakeup]]:
        """Now and then a ring of our own: it takes the way of all others through the tree, and somebody must answer."""
        if time.monotonic() - self._canary_at < CANARY_EVERY_S:
            return []
        self._canary_at = time.monotonic()
        return [[ReceivedWakeup(CANARY, "conductor")]]

    def enqueue(self, task: str) -> str:
        """Not a way in: work is a row, and its wake-up is sent by `wakeup_send`."""
        raise NotImplementedError("write a work row and ring its wake-up")

    def acknowledge(self, task_id: str) -> None:
        """Nothing to do: the wake-up was answered when it was taken."""

    delete = fail = acknowledge

    def queue_size(self) -> int:
        """Unknown here; the work rows are what counts."""
        return 0

    def lock_size(self) -> int:
        """No wake-up is ever locked."""
        return 0

    def ping(self) -> bool:
        """Whether the broker answers is found out by `dequeue`."""
        return True

    def info(self) -> str:
        """For django-q2's own pages."""
        return "wakeups"

    @staticmethod
    def get_connection(list_key: str = Conf.PREFIX) -> Any:
        """None is shared: a waiter is opened by the process that waits on it."""
        return None


def _shares(wakeups: Sequence[ReceivedWakeup], workers: int) -> list[Sequence[ReceivedWakeup]]:
    """Evenly for the workers, none of more than MAX_TOGETHER."""
    size = min(MAX_TOGETHER, math.ceil(len(wakeups) / max(1, workers))) or 1
    return [wakeups[at : at + size] for at in range(0, len(wakeups), size)]


def _package(wakeups: Sequence[ReceivedWakeup]) -> tuple[str, str]:
    name, identifier = task_tag()
    task = {
        "id": identifier,
        "name": f"{wakeups[0].code}:{name}",
        "func": ANSWER,
        "args": ([(wakeup.code, wakeup.ref) for wakeup in wakeups],),
        "kwargs": {},
        "started": timezone.now(),
        "ack_failure": True,
        "save": False,
    }
    return f"{wakeups[0].code}:{wakeups[0].ref}", SignedPackage.dumps(task)
