"""A thread that serves one lane of the inbox: take the work, wait for the instance's turn, do it, let go."""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

from computeagent.agent.context import AgentContext
from computeagent.agent.dispatch import HANDLERS
from computeagent.agent.failures import CleanupFailed
from computeagent.agent.handover import give_back
from computeagent.agent.held_leases import Hold
from computeagent.agent.instance_lock import InstanceBusy, instance_lock
from computeagent.agent.retry import backoff_s
from computeagent.agent.work_queues import Lane
from computeagent.protocol.work import Ring, WorkOrder
from controlplane.kernel.errors import Fenced, KilonovaError, Unavailable
from controlplane.kernel.log_context import log_scope

log = logging.getLogger(__name__)

RequestScope = Callable[[str], AbstractContextManager[object]]


class Worker:
    """Serves until the inbox closes. No failure of one item ends it: the work stays written down, to be found again."""

    def __init__(self, context: AgentContext, lane: Lane, request_scope: RequestScope) -> None:
        self._context = context
        self._lane = lane
        self._request_scope = request_scope

    def run(self) -> None:
        """The thread's body."""
        while (item := self._context.inbox.next(self._lane)) is not None:
            if isinstance(item, Hold):
                self._serve(item)
            else:
                self._answer(item)

    def _answer(self, ring: Ring) -> None:
        order = self._take(ring)
        if order is None:
            self._context.inbox.forget(ring.work_id)
        else:
            self._serve(self._context.holds.add(order))

    def _take(self, ring: Ring) -> WorkOrder | None:
        context = self._context
        try:
            return context.conductor.take(host=context.host, work_id=ring.work_id, owner=context.owner)
        except Unavailable:
            context.counts.add("unavailable")
            context.pause(backoff_s(1))
        except KilonovaError:
            context.counts.add("take_failed")
            log.exception("work %s could not be taken", ring.work_id)
        return None

    def _serve(self, hold: Hold) -> None:
        if not self._context.turns.enter_or_park(hold):
            log.info("instance %s is busy: %s waits for its turn", hold.guest.uuid, hold.order.kind)
            return
        try:
            about = log_scope(work_id=hold.lease.work_id, instance=hold.guest.uuid)
            with self._request_scope(hold.order.request_id), about:
                self._do(hold)
        finally:
            self._let_go(hold)

    def _let_go(self, hold: Hold) -> None:
        context = self._context
        context.holds.drop(hold)
        context.inbox.forget(hold.lease.work_id)
        for parked in context.turns.leave(hold.guest.uuid):
            context.inbox.put_back(parked)

    def _do(self, hold: Hold) -> None:
        """Run the handler under the instance's lock. What it leaves unsaid is taken again when the lease is over."""
        work = f"{hold.order.kind} of {hold.guest.uuid} (attempt {hold.lease.attempt})"
        counts = self._context.counts
        try:
            hold.check()
            with instance_lock(self._context.state_dir, hold.guest.uuid):
                log.info("%s begins", work)
                HANDLERS[hold.order.kind](self._context, hold)
            counts.add("done")
        except Fenced as error:
            counts.add("fenced")
            log.warning("%s stops: %s", work, error.message)
        except (InstanceBusy, CleanupFailed, Unavailable) as error:
            counts.add("left")
            log.warning("%s is left for later: %s", work, error.message)
            if self._context.patience.is_stopping:
                give_back(self._context, hold)
        except Exception:  # a poisonous item must not take the other guests' work with it
            counts.add("broken")
            log.exception("%s broke off", work)
