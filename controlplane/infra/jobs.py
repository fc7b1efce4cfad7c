"""Kinds of work by name: who does them here, and what happens when one passes its deadline.

Apps register in `ready()`. A doorbell's code is looked up in this table and nowhere else, so nothing that comes
over a queue can name code to run.
"""

import logging
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass

from django.db import close_old_connections

from controlplane.infra.models import Work
from controlplane.infra.request_id import request_id_scope
from controlplane.infra.solo import lease_renew
from controlplane.infra.work import Lease, work_release, work_take
from controlplane.kernel.errors import Fenced
from controlplane.kernel.log_context import log_scope

log = logging.getLogger(__name__)
ANSWER = "controlplane.infra.jobs.answer"
CANARY = "canary"
CANARY_FRESH_S = 20.0

Handler = Callable[[Work, Lease], None]
OverdueHandler = Callable[[Work, str], None]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of work. `handler` is None for what agents do; `overdue` runs in the transaction that fails the row."""

    name: str
    handler: Handler | None
    overdue: OverdueHandler


KINDS: dict[str, Kind] = {}


def kind_register(name: str, *, handler: Handler | None, overdue: OverdueHandler) -> None:
    """Declare a kind of work, once per process."""
    KINDS[name] = Kind(name, handler, overdue)


@dataclass(frozen=True, slots=True)
class Chore:
    """Clean-up that the reconciler runs every `every_s` seconds, in one process at a time."""

    name: str
    every_s: float
    run: Callable[[], object]


CHORES: dict[str, Chore] = {}


def chore_register(name: str, *, every_s: float, run: Callable[[], object]) -> None:
    """Declare a clean-up, once per process. It must be safe to run twice at once."""
    CHORES[name] = Chore(name, every_s, run)


def worker_name() -> str:
    """Who holds a lease: host and process."""
    return f"{socket.gethostname()}:{os.getpid()}"


def answer(code: str, ref: str) -> None:
    """Answer a doorbell in a conductor's worker. Never raises: the row and the reconciler decide what comes next."""
    close_old_connections()
    if code == CANARY:
        lease_renew(name="conductor-canary", owner=worker_name(), seconds=CANARY_FRESH_S, steal=True)
        return
    kind = KINDS.get(code)
    if kind is None or kind.handler is None:
        log.warning("dropped a doorbell with the unknown code %.40r", code)
        return
    try:
        _do(kind.handler, ref)
    except Exception:
        log.exception("answering %s %s failed", code, ref)


def _do(handler: Handler, ref: str) -> None:
    taken = work_take(work_id=ref, owner=worker_name())
    if taken is None:
        return
    work, lease = taken
    with request_id_scope(work.request_id), log_scope(work_id=work.pk, subject=work.subject):
        try:
            handler(work, lease)
        except Fenced as error:
            log.warning("stopped: %s", error)
        except Exception as error:
            log.exception("%s failed in attempt %d", work, lease.attempt)
            work_release(lease=lease, error=f"{type(error).__name__}: {error}")
