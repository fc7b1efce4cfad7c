"""Work on volumes: asked for, taken, done by a few threads, and told how it ended.

What is taken stays written down in the control plane. A lease that is over ends the work at its next part; what is cut
off anywhere is done again, by this host or by another one that reaches the pool, and verbs of pools are idempotent.
"""

import logging
import queue
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from computeagent.agent.context import AgentContext
from computeagent.agent.giving_way import GuestWanted
from computeagent.agent.handover import REASON, give_back
from computeagent.agent.held_leases import HeldVolume
from computeagent.agent.instance_lock import InstanceBusy, instance_lock
from computeagent.agent.instance_mutex import instance_mutex_try
from computeagent.agent.volume_upload import uploads_clean
from computeagent.agent.volume_verbs import volume_do
from computeagent.agent.volumes import PoolAway
from computeagent.agent.worker import TAKE_TRIES, RequestScope
from computeagent.drivers.base import DriverError
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.volumes import VolumeFacts
from controlplane.kernel.errors import Fenced, KilonovaError, NotFound, Unavailable
from controlplane.kernel.log_context import log_scope

log = logging.getLogger(__name__)

MAX_THREADS = 32
SILENT_S = 30.0
"""Work that says nothing for so long is waited for by a thread beside those that are meant to be."""
TURN_S = 0.2
StartThread = Callable[[str, Callable[[], None]], None]


class VolumeWork:
    """The work on volumes of this host. `start_thread` begins a thread with this name and body."""

    def __init__(self, context: AgentContext, request_scope: RequestScope, start_thread: StartThread) -> None:
        self._context = context
        self._request_scope = request_scope
        self._start_thread = start_thread
        self._queue: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._known: set[str] = set()
        self._doing: list[HeldVolume] = []
        self._threads = 0
        self._refused_by: str | None = None

    def ask(self, control_plane: str, look_s: float = 0.0) -> None:
        """Look what waits for this host, when a wake-up came and every `look_s` seconds. `control_plane` is the version
        that it told last.
        """
        self.relieve()
        context = self._context
        if self._refused_by == control_plane or context.safe_mode.reason or not context.volumes_wanted.is_due(look_s):
            return
        try:
            with context.volumes_wanted.asked():
                waiting = context.conductor.volume_work(host=context.host)
        except NotFound:
            self._refused_by = control_plane
            log.info("the control plane is of an earlier release and says nothing about volumes")
            return
        for work_id in waiting:
            with self._lock:
                is_new = work_id not in self._known
                self._known.add(work_id)
            if is_new:
                self._queue.put(work_id)

    def relieve(self) -> None:
        """As many threads as are meant to be, and one more for each piece of work that is silent."""
        with self._lock:
            if not self._threads:
                uploads_clean(self._context.state_dir)
            silent = sum(held.silent_s() > SILENT_S for held in self._doing)
            wanted = min(self._context.options.concurrent_volume_work + silent, MAX_THREADS)
            fresh = range(self._threads, wanted)
            self._threads = max(self._threads, wanted)
        for number in fresh:
            self._start_thread(f"volumes-{number}", self._serve)

    def close(self) -> None:
        """Hand out nothing more."""
        for _ in range(MAX_THREADS):
            self._queue.put(None)

    def _serve(self) -> None:
        """A thread's body. No failure of one piece ends it."""
        while (work_id := self._queue.get()) is not None and not self._context.retry.is_stopping:
            try:
                self.do(work_id)
            except Exception:  # a poisonous one must not take the other volumes' work with it
                self._context.counts.add("volume_work_broken")
                log.exception("work %s on a volume broke off", work_id)
            finally:
                with self._lock:
                    self._known.discard(work_id)

    def do(self, work_id: str) -> bool:
        """Take it and do it; False where it is not to be had."""
        held = self._take(work_id)
        if held is not None:
            self._begin(held)
        return held is not None

    def _take(self, work_id: str) -> HeldVolume | None:
        """By one token for all tries, as `Worker` takes."""
        context, token = self._context, secrets.token_hex(8)
        asked_at = context.clock()
        try:
            order = context.retry.call(
                lambda: context.conductor.volume_take(
                    host=context.host, work_id=work_id, owner=context.owner, token=token
                ),
                tries=TAKE_TRIES,
            )
        except KilonovaError as error:
            context.counts.add("volume_take_failed")
            if context.complaints.is_due(error.message):
                log.warning("work %s on a volume could not be taken: %s", work_id, error.message)
            return None
        return None if order is None else HeldVolume(order, context.clock, asked_at)

    def _begin(self, held: HeldVolume) -> None:
        context = self._context
        context.held_leases.hold(held)
        with self._lock:
            self._doing.append(held)
        try:
            about = log_scope(work_id=held.lease.work_id, subject=held.order.volume.id)
            with self._request_scope(held.order.request_id), about:
                self._do(held)
        finally:
            with self._lock:
                self._doing.remove(held)
            context.held_leases.drop(held)

    def _do(self, held: HeldVolume) -> None:
        """Do it and tell how it ended. What is left unsaid is taken again when the lease is over."""
        context, began = self._context, self._context.clock()
        try:
            with self._turn_of_guest(held):
                log.info("%s begins (attempt %d)", held.about, held.lease.attempt)
                try:
                    facts = volume_do(context, held)
                except PoolAway:
                    raise
                except DriverError as error:
                    log.warning("%s failed: %s", held.about, error.message)
                    self._failed(held, error)
                else:
                    self._done(held, facts)
                    log.info("%s took %.3f s", held.about, context.clock() - began)
            context.counts.add("volume_work_done")
        except Fenced as error:
            context.counts.add("fenced")
            log.warning("%s stops: %s", held.about, error.message)
        except (InstanceBusy, GuestWanted, Unavailable, PoolAway) as error:
            # Given back it costs no attempt, and goes to another host where this one's report says that the pool is
            # away; else it is asked for again, until its deadline. The guest is free by now, and whoever waited for it
            # has it first.
            context.counts.add("left")
            log.warning("%s is left for later: %s", held.about, error.message)
            give_back(context, held, reason=REASON if context.retry.is_stopping else error.message)

    @contextmanager
    def _turn_of_guest(self, held: HeldVolume) -> Iterator[None]:
        """Nobody else works on the guest that has the volume. Raises InstanceBusy, Fenced."""
        context, guest = self._context, held.order.guest
        if guest is None:
            yield
            return
        while True:
            with instance_mutex_try(context.instance_mutex, guest.uuid, resume=context.inbox.put_back) as entered:
                if entered:
                    with instance_lock(context.state_dir, guest.uuid):
                        yield
                    return
            held.check()
            held.moved()
            context.pause(TURN_S)

    def _done(self, held: HeldVolume, facts: VolumeFacts) -> None:
        self._tell(held, lambda: self._context.conductor.volume_done(lease=held.lease, facts=facts))

    def _failed(self, held: HeldVolume, error: DriverError) -> None:
        failure_class = error.failure_class if error.failure_class is FailureClass.USER else FailureClass.HOST
        self._tell(
            held,
            lambda: self._context.conductor.volume_failed(
                lease=held.lease, message=error.message, failure_class=failure_class
            ),
        )

    def _tell(self, held: HeldVolume, verb: Callable[[], None]) -> None:
        """Raises Fenced; Unavailable where the agent ends."""

        def once() -> None:
            held.check()
            verb()

        self._context.retry.call(once)
