"""A thread that serves one lane of the inbox: take the work, wait for the instance's turn, do it, let go."""

import logging
import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from computeagent.agent.context import AgentContext
from computeagent.agent.dispatch import HANDLERS
from computeagent.agent.failures import CleanupFailed
from computeagent.agent.handover import give_back
from computeagent.agent.held_leases import HeldLease
from computeagent.agent.instance_lock import InstanceBusy, instance_lock
from computeagent.agent.work_queues import WorkQueue
from computeagent.protocol.work import WorkOrder, WorkWakeup
from controlplane.kernel.errors import Fenced, KilonovaError, Unavailable
from controlplane.kernel.log_context import log_scope

log = logging.getLogger(__name__)

TAKE_TRIES = 6
"""Some seven seconds. What is not taken by then is found again once the control plane answers."""

RequestScope = Callable[[str], AbstractContextManager[object]]


def no_scope(_request_id: str) -> AbstractContextManager[object]:
    """No logging context around a piece of work."""
    return nullcontext()


class Worker:
    """Serves until the inbox closes. No failure of one item ends it: the work stays written down, to be found again."""

    def __init__(self, context: AgentContext, queue_name: WorkQueue, request_scope: RequestScope) -> None:
        self._context = context
        self._queue_name = queue_name
        self._request_scope = request_scope
        self._began_at: float | None = None

    def busy_s(self) -> float:
        """For how many seconds it has been on the work of now; 0 while it waits for some."""
        began_at = self._began_at
        return 0.0 if began_at is None else self._context.clock() - began_at

    def run(self) -> None:
        """The thread's body."""
        while (item := self._context.inbox.next(self._queue_name)) is not None:
            self._began_at = self._context.clock()
            if isinstance(item, HeldLease):
                self._serve(item)
            else:
                self._answer(item)
            self._began_at = None

    def _answer(self, wakeup: WorkWakeup) -> None:
        order = self._take(wakeup)
        if order is None:
            self._context.inbox.forget(wakeup.work_id)
        else:
            self._serve(self._context.held_leases.add(order))

    def _take(self, wakeup: WorkWakeup) -> WorkOrder | None:
        """By one token for all tries: what was taken by a try whose answer was lost is had by the next."""
        context, token = self._context, secrets.token_hex(8)
        if context.safe_mode.reason:
            return None  # it waits, and is asked for again

        def take() -> WorkOrder | None:
            return context.conductor.take(host=context.host, work_id=wakeup.work_id, owner=context.owner, token=token)

        try:
            return context.retry.call(take, tries=TAKE_TRIES)
        except Unavailable:
            context.counts.add("unavailable")
        except KilonovaError as error:
            context.counts.add("take_failed")
            if context.complaints.is_due(error.message):
                log.warning("work %s could not be taken: %s", wakeup.work_id, error.message)
        return None

    def _serve(self, held: HeldLease) -> None:
        if not self._context.instance_mutex.enter_or_park(held):
            log.info("instance %s is busy: %s waits for its turn", held.guest.uuid, held.order.kind)
            return
        try:
            about = log_scope(work_id=held.lease.work_id, instance=held.guest.uuid)
            with self._request_scope(held.order.request_id), about:
                self._do(held)
        finally:
            self._let_go(held)

    def _let_go(self, held: HeldLease) -> None:
        context = self._context
        context.held_leases.drop(held)
        context.inbox.forget(held.lease.work_id)
        for parked in context.instance_mutex.leave(held.guest.uuid):
            context.inbox.put_back(parked)

    def _do(self, held: HeldLease) -> None:
        """Run the handler under the instance's lock. What it leaves unsaid is taken again when the lease is over."""
        work = f"{held.order.kind} of {held.guest.uuid} (attempt {held.lease.attempt})"
        counts = self._context.counts
        try:
            held.check()
            with instance_lock(self._context.state_dir, held.guest.uuid):
                log.info("%s begins", work)
                HANDLERS[held.order.kind](self._context, held)
            counts.add("done")
        except Fenced as error:
            counts.add("fenced")
            log.warning("%s stops: %s", work, error.message)
        except (InstanceBusy, CleanupFailed, Unavailable) as error:
            counts.add("left")
            log.warning("%s is left for later: %s", work, error.message)
            if self._context.retry.is_stopping:
                give_back(self._context, held)
        except Exception:  # a poisonous item must not take the other guests' work with it
            counts.add("broken")
            log.exception("%s broke off", work)
