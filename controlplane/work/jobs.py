"""Kinds of work by name: who does them here, and what happens when one passes its deadline.

Apps register in `ready()`. A wake-up's code is looked up in this table and nowhere else, so nothing that comes
over a queue can name code to run.
"""

import logging
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.db import close_old_connections

from controlplane.infra.request_id import request_id_scope
from controlplane.kernel.errors import Fenced
from controlplane.kernel.log_context import log_scope
from controlplane.work.models import Work
from controlplane.work.named_leases import lease_renew
from controlplane.work.work import Package, WorkLease, work_release, works_give_back, works_take

log = logging.getLogger(__name__)
ANSWER = "controlplane.work.jobs.answer_all"
CANARY = "canary"
CANARY_LEASE = "conductor-canary"
RECONCILE_LEASE = "reconcile"
CANARY_EVERY_S = 5.0
CANARY_FRESH_S = 20.0
NOT_BEGUN = "Its worker was busy with other work that it had taken together with this."

WorkHandler = Callable[[Work, WorkLease], None]
ManyHandler = Callable[[Sequence[tuple[Work, WorkLease]]], Sequence[tuple[Work, WorkLease]]]
OverdueHandler = Callable[[Work, str], None]


@dataclass(frozen=True, slots=True)
class RegisteredKind:
    """A kind of work. `handler` is None for what agents do; `overdue` runs in the transaction that fails the row.

    `many` does several pieces at less cost than one after the other, and gives back those that it leaves to `handler`.
    It renews their leases while it is at it, and begins no further piece once `Package.is_over`.
    """

    name: str
    handler: WorkHandler | None
    overdue: OverdueHandler
    many: ManyHandler | None = None


KINDS: dict[str, RegisteredKind] = {}


def kind_register(
    name: str, *, handler: WorkHandler | None, overdue: OverdueHandler, many: ManyHandler | None = None
) -> None:
    """Declare a kind of work, once per process."""
    KINDS[name] = RegisteredKind(name, handler, overdue, many)


@dataclass(frozen=True, slots=True)
class PeriodicTask:
    """Clean-up that the reconciler runs every `every_s` seconds, in one process at a time.

    `asks` is a condition in SQL, for both databases: while it does not hold, there is nothing to do. It is asked in the
    reconciler's own statement, so a periodic task that is due often costs nothing while it has nothing to do.
    """

    name: str
    every_s: float
    run: Callable[[], object]
    asks: str = ""

    @property
    def lease(self) -> str:
        """Name of the lease by which it is taken, for as long as it rests after that."""
        return f"periodic-{self.name}"


PERIODIC_TASKS: dict[str, PeriodicTask] = {}


def periodic_task_register(name: str, *, every_s: float, run: Callable[[], object], asks: str = "") -> None:
    """Declare a clean-up, once per process. It must be safe to run twice at once. `asks`: see `PeriodicTask`."""
    PERIODIC_TASKS[name] = PeriodicTask(name, every_s, run, asks)


def worker_name() -> str:
    """Who holds a lease: host and process."""
    return f"{socket.gethostname()}:{os.getpid()}"


def answer(code: str, ref: str) -> None:
    """Answer a wake-up in a conductor's worker. Never raises: the row and the reconciler decide what comes next."""
    answer_all([(code, ref)])


def answer_all(wakeups: Sequence[tuple[str, str]]) -> None:
    """Answer several, (code, ref) each. What is wrong with one touches no other."""
    close_old_connections()
    refs: dict[str, list[str]] = {}
    for code, ref in wakeups:
        refs.setdefault(code, []).append(ref)
    for code, of_code in refs.items():
        try:
            _answer_kind(code, of_code)
        except Exception:
            log.exception("answering %.40r for %s failed", code, ", ".join(of_code)[:200])


def _answer_kind(code: str, refs: Sequence[str]) -> None:
    if code == CANARY:
        lease_renew(name=CANARY_LEASE, owner=worker_name(), seconds=CANARY_FRESH_S, steal=True)
        return
    kind = KINDS.get(code)
    if kind is None or kind.handler is None:
        log.warning("dropped a wake-up with the unknown code %.40r", code)
        return
    if kind.many is None or len(refs) == 1:
        _do_one_by_one(kind.handler, refs)
        return
    taken: Sequence[tuple[Work, WorkLease]] = works_take(work_ids=refs, owner=worker_name())
    package = Package(lease for _, lease in taken)
    if len(taken) > 1:
        taken = _done_together(kind.many, taken)
    for at, (work, lease) in enumerate(taken):
        if package.is_over:
            works_give_back(leases=[each for _, each in taken[at:]], reason=NOT_BEGUN)
            break
        package.renew()
        _do(kind.handler, work, lease)


def _do_one_by_one(handler: WorkHandler, refs: Sequence[str]) -> None:
    """Each is taken when it is its turn. What is not taken in time stays untaken, and is woken again."""
    package = Package(())
    for ref in refs:
        for work, lease in works_take(work_ids=[ref], owner=worker_name()):
            _do(handler, work, lease)
        if package.is_over:
            break


def _done_together(many: ManyHandler, taken: Sequence[tuple[Work, WorkLease]]) -> Sequence[tuple[Work, WorkLease]]:
    """What is left to be done one by one: all of it, when it could not be done together."""
    try:
        return many(taken)
    except Exception:
        log.exception("could not do %d pieces of work together; each is done by itself", len(taken))
        return taken


def _do(handler: WorkHandler, work: Work, lease: WorkLease) -> None:
    with request_id_scope(work.request_id), log_scope(work_id=work.pk, subject=work.subject):
        try:
            handler(work, lease)
        except Fenced as error:
            log.warning("stopped: %s", error)
        except Exception as error:
            log.exception("%s failed in attempt %d", work, lease.attempt)
            work_release(lease=lease, error=f"{type(error).__name__}: {error}")
