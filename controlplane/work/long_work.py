"""Work that takes minutes or hours, such as fetching an image, done in threads beside the conductor's workers.

A worker of the conductor has a time limit, and there are few of them: a download in each would keep every build
waiting. So long work has a queue of its own. Its rows are taken like all others (attempt, lease, deadline), but a
thread of the conductor's main process does them, so many at a time and so many for one group (a project), which is
what `arguments["group"]` of the row says: what one group asks for never keeps the others from their turn.

The threads end with their process. What they were doing is given back on a stop, and taken again after a crash once
its lease has run out.
"""

import logging
import threading
from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from django.db import close_old_connections, connections
from django.db.models import F, Q
from django.db.models.functions import Now

from controlplane.infra.database_errors import is_unforeseen
from controlplane.kernel.errors import Unavailable
from controlplane.kernel.texts import phrase as _
from controlplane.work.conf import work_options
from controlplane.work.jobs import KINDS, answer, worker_name
from controlplane.work.models import Work, WorkState
from controlplane.work.models.work import OPEN_STATES
from controlplane.work.wakeups import waiter_open
from controlplane.work.work import WorkLease, works_give_back

log = logging.getLogger(__name__)
LONG_QUEUE = "conductor.long"
WAIT_S = 2.0
LOOKED_AT = 500
STOPPED = _("The conductor that did it was stopped.")


def long_work_next(*, free_threads: int, each: int) -> list[tuple[str, UUID]]:
    """(kind, id) of what should be begun now, oldest first: at most `free_threads`, and of no group more than `each`
    together with what runs. Two queries.
    """
    ours = Work.objects.filter(queue=LONG_QUEUE, deadline_at__gt=Now())
    held = ours.filter(state=WorkState.RUNNING, lease_until__gte=Now())
    running = Counter(_group(arguments) for arguments in held.values_list("arguments", flat=True))
    free = Q(state=WorkState.WAITING) | Q(state=WorkState.RUNNING, lease_until__lt=Now())
    rows = ours.filter(free, attempt__lt=F("max_attempts")).order_by("created_at", "pk")
    chosen: list[tuple[str, UUID]] = []
    for kind, pk, arguments in rows.values_list("kind", "pk", "arguments")[:LOOKED_AT]:
        group = _group(arguments)
        if len(chosen) < free_threads and running[group] < each:
            running[group] += 1
            chosen.append((kind, pk))
    return chosen


def _group(arguments: dict[str, object]) -> str:
    return str(arguments.get("group", ""))


class LongWorkThreads:
    """The threads of one process. `run` looks for work until `stopping` is set, and is called in a thread itself."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping
        self._running: dict[UUID, threading.Thread] = {}

    def run(self) -> None:
        """Begin what waits as threads get free. Whatever fails here is logged and tried again."""
        waiter = waiter_open(LONG_QUEUE)
        while not self._stopping.is_set():
            try:
                waiter.wait(WAIT_S)
                self._begin()
            except Unavailable as error:
                log.warning("no wake-ups of long work for now: %s", error)
                self._stopping.wait(WAIT_S)
            except Exception as error:
                is_traced = is_unforeseen(error)
                log.error("long work could not be looked for; again in %s s: %s", WAIT_S, error, exc_info=is_traced)
                close_old_connections()
                self._stopping.wait(WAIT_S)
        waiter.close()
        self._give_back()

    def _begin(self) -> None:
        options = work_options()
        self._running = {pk: thread for pk, thread in self._running.items() if thread.is_alive()}
        free = options.long_work_threads - len(self._running)
        for kind, pk in long_work_next(free_threads=free, each=options.long_work_each) if free > 0 else ():
            if pk not in self._running:
                # Daemons: a stop does not wait for what is given back anyway.
                self._running[pk] = threading.Thread(target=_do, args=(kind, pk), name=f"long-{pk}", daemon=True)
                self._running[pk].start()

    def _give_back(self) -> None:
        """So that another conductor, or the next start, need not wait for the leases to run out. Its thread is fenced
        off.
        """
        mine = Work.objects.filter(pk__in=list(self._running), lease_owner=worker_name(), state__in=OPEN_STATES)
        works_give_back(leases=[_lease(work) for work in mine], reason=STOPPED)


def _lease(work: Work) -> WorkLease:
    return WorkLease(work.pk, work.attempt, work.kind, work.subject)


def _do(kind: str, pk: UUID) -> None:
    try:
        answer(kind, str(pk))
    finally:
        connections.close_all()  # each thread has its own


def long_work_do_all(*, limit: int = 100) -> Sequence[tuple[str, UUID]]:
    """Do what waits now in this thread, one after the other, on its own connection: for commands and tests. Returns
    what was begun.
    """
    begun: list[tuple[str, UUID]] = []
    while len(begun) < limit and (chosen := long_work_next(free_threads=1, each=1)):
        begun += chosen
        for kind, pk in chosen:
            handler = KINDS[kind].handler if kind in KINDS else None
            if handler is not None:
                handler([str(pk)])
    return begun
