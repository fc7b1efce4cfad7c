"""Kinds of work by name: who does them here, and what happens when one passes its deadline.

Apps register in `ready()`. A wake-up's code is looked up in this table and nowhere else, so nothing that comes
over a queue can name code to run.
"""

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from django.db import close_old_connections

from controlplane.audit_log.recording.actor_scope import actor_scope
from controlplane.infra.request_id import request_id_scope
from controlplane.kernel.errors import Fenced
from controlplane.kernel.log_context import log_scope
from controlplane.kernel.texts import phrase as _
from controlplane.work.conf import work_options
from controlplane.work.models import Work
from controlplane.work.named_leases import lease_renew
from controlplane.work.work import Package, WorkLease, work_release, works_give_back, works_take

log = logging.getLogger(__name__)
ANSWER = "controlplane.work.jobs.answer_all"
CANARY = "canary"
CANARY_LEASE = "conductor-canary"
RECONCILE_LEASE = "reconcile"
CANARY_EVERY_S = 5.0
NOT_BEGUN = _("Its worker was busy with other work that it had taken together with this.")

TakenWork = tuple[Work, WorkLease]
WorkHandler = Callable[[Work, WorkLease], None]
PackageHandler = Callable[[Sequence[TakenWork]], Sequence[TakenWork]]
OverdueHandler = Callable[[Work, str], None]


@dataclass(frozen=True, slots=True)
class RegisteredKind:
    """A kind of work. `handler` takes and does the work with these ids, and is None for what agents do; `overdue` runs
    in the transaction that fails the row.
    """

    name: str
    handler: Callable[[Sequence[str]], None] | None
    overdue: OverdueHandler


KINDS: dict[str, RegisteredKind] = {}


def kind_register(name: str, *, handler: WorkHandler | None, overdue: OverdueHandler) -> None:
    """Declare a kind of work that is done piece by piece, once per process."""
    KINDS[name] = RegisteredKind(name, None if handler is None else partial(_do_one_by_one, handler), overdue)


def package_kind_register(name: str, *, handler: PackageHandler, overdue: OverdueHandler) -> None:
    """Declare a kind of work of which one piece or several are done at once, at less cost than one after the other.

    The handler does each piece inside `attempt_of`, renews the leases while it is at it, begins no further piece once
    `Package.is_over`, and returns those that it has not begun.
    """
    KINDS[name] = RegisteredKind(name, partial(_do_together, handler), overdue)


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


ConductorThread = Callable[[threading.Event], object]
CONDUCTOR_THREADS: dict[str, ConductorThread] = {}


def conductor_thread_register(name: str, run: ConductorThread) -> None:
    """Declare what each conductor does in a thread of its main process, until the event is set. It may end earlier."""
    CONDUCTOR_THREADS[name] = run


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
    # Whoever runs this process, what the work does is the control plane's act.
    with actor_scope(None):
        for code, of_code in refs.items():
            try:
                _answer_kind(code, of_code)
            except Exception:
                log.exception("answering %.40r for %s failed", code, ", ".join(of_code)[:200])


def _answer_kind(code: str, refs: Sequence[str]) -> None:
    if code == CANARY:
        lease_renew(
            name=CANARY_LEASE, owner=worker_name(), seconds=work_options().conductor_canary_silence_s, steal=True
        )
        return
    kind = KINDS.get(code)
    if kind is None or kind.handler is None:
        log.warning("dropped a wake-up with the unknown code %.40r", code)
        return
    kind.handler(refs)


def _do_one_by_one(handler: WorkHandler, refs: Sequence[str]) -> None:
    """Each is taken when it is its turn. What is not taken in time stays untaken, and is woken again."""
    package = Package(())
    for ref in refs:
        for work, lease in works_take(work_ids=[ref], owner=worker_name()):
            with attempt_of(work, lease):
                handler(work, lease)
        if package.is_over:
            break


def _do_together(handler: PackageHandler, refs: Sequence[str]) -> None:
    taken = works_take(work_ids=refs, owner=worker_name())
    try:
        not_begun = handler(taken) if taken else ()
    except Exception as error:
        # It concerns all of them, so each that has not ended is tried again.
        log.exception("%d pieces of work failed together", len(taken))
        for _, lease in taken:
            work_release(lease=lease, error=f"{type(error).__name__}: {error}")
    else:
        works_give_back(leases=[lease for _, lease in not_begun], reason=NOT_BEGUN)


@contextmanager
def attempt_of(work: Work, lease: WorkLease) -> Iterator[None]:
    """The block is this attempt: what it logs names the work, and an error releases the work and ends here."""
    with request_id_scope(work.request_id), log_scope(work_id=work.pk, subject=work.subject):
        try:
            yield
        except Fenced as error:
            log.warning("stopped: %s", error)
        except Exception as error:
            log.exception("%s failed in attempt %d", work, lease.attempt)
            work_release(lease=lease, error=f"{type(error).__name__}: {error}")
