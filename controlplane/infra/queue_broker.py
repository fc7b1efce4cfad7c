"""The broker that django-q2 sees: doorbells in, packages made and signed inside this process tree only."""

import logging
import time
from typing import Any

from django.utils import timezone
from django_q.brokers import Broker
from django_q.conf import Conf
from django_q.humanhash import uuid as task_tag
from django_q.signing import SignedPackage

from controlplane.infra.doorbells import Bell, Ring, bell_open
from controlplane.infra.jobs import ANSWER
from controlplane.kernel.errors import Unavailable

log = logging.getLogger(__name__)
SLICE_S = 0.5  # the pusher looks at its stop event between two calls of dequeue
BACK_OFF_S = 0.5


class DoorbellBroker(Broker):  # type: ignore[misc]  # django-q2 has no types
    """Turns (code, ref) of this queue into calls of `jobs.answer`; unknown codes are dropped there."""

    _bell: Bell | None = None

    def dequeue(self) -> list[tuple[str, str]] | None:
        """Wait a moment for rings. Never raises for a broker that is away: that would cost ten seconds' sleep."""
        if self._bell is None:
            self._bell = bell_open(self.list_key)
        try:
            rings = self._bell.wait(SLICE_S)
        except Unavailable as error:
            log.warning("no doorbells for now: %s", error)
            time.sleep(BACK_OFF_S)
            return None
        return [_package(ring) for ring in rings] or None

    def enqueue(self, task: str) -> str:
        """Not a way in: work is a row, and its doorbell is rung by `doorbell_ring`."""
        raise NotImplementedError("write a work row and ring its doorbell")

    def acknowledge(self, task_id: str) -> None:
        """Nothing to do: the doorbell was answered when it was taken."""

    delete = fail = acknowledge

    def queue_size(self) -> int:
        """Unknown here; the work rows are what counts."""
        return 0

    def lock_size(self) -> int:
        """No doorbell is ever locked."""
        return 0

    def ping(self) -> bool:
        """Whether the broker answers is found out by `dequeue`."""
        return True

    def info(self) -> str:
        """For django-q2's own pages."""
        return "doorbells"

    @staticmethod
    def get_connection(list_key: str = Conf.PREFIX) -> Any:
        """None is shared: a bell is opened by the process that waits on it."""
        return None


def _package(ring: Ring) -> tuple[str, str]:
    name, identifier = task_tag()
    task = {
        "id": identifier,
        "name": f"{ring.code}:{name}",
        "func": ANSWER,
        "args": (ring.code, ring.ref),
        "kwargs": {},
        "started": timezone.now(),
        "ack_failure": True,
        "save": False,
    }
    return f"{ring.code}:{ring.ref}", SignedPackage.dumps(task)
