"""django-q2's cluster as one crash-only process tree.

A child killed in the wrong moment may hold a lock of the shared queue for ever, with every process still looking
alive. So the tree lives and dies as one: a child that a signal ended, a guard loop that stands still, a sentinel
that is gone or a canary that nobody answers ends all of it, and the supervisor starts it again. What it was doing
is in work rows.

A canary waits behind the work of busy workers, however long that takes: each of them is under the guard's own limit
(the queue's timeout), and one that dies is seen. So silence counts only while some worker has nothing to do.
"""

import contextlib
import ctypes
import gc
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from django import db
from django_q import cluster as django_q_cluster
from django_q.conf import Conf
from django_q.signals import pre_execute

from controlplane.infra.database_errors import is_unforeseen
from controlplane.work.conf import work_options

log = logging.getLogger(__name__)
PR_SET_PDEATHSIG = 1
JUDGED_EVERY_S = 1.0
STOOD_STILL_S = 3.0
"""A judge whose own last turn is longer ago was not running either: the machine was paused, or had no time for us."""


class ProcessTree:
    """This process and all it forks, in one process group."""

    def __init__(self) -> None:
        with contextlib.suppress(PermissionError):  # already the leader of its session
            os.setpgid(0, 0)
        self.group = os.getpgid(0)
        os.register_at_fork(after_in_child=_die_with_parent)

    def end(self, why: str) -> None:
        """Kill the whole tree, this process included."""
        log.critical("%s: ending the whole process tree", why)
        os.killpg(self.group, signal.SIGKILL)


def _die_with_parent() -> None:
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before we asked
        os._exit(1)


class ClusterHeartbeat:
    """What the processes of the tree tell each other, in shared memory. Times are those of the machine's stopwatch."""

    def __init__(self) -> None:
        now = time.monotonic()
        self._guard = multiprocessing.RawValue("d", now)
        self._answered = multiprocessing.RawValue("d", now)
        self._busy = multiprocessing.RawValue("b", 0)

    def begin_anew(self) -> None:
        """Count from now on. Nobody was silent in a time in which nobody ran."""
        self._guard.value = self._answered.value = time.monotonic()

    def guard_rounds(self, workers: Sequence[Any]) -> None:
        """Told by the guard in each of its cycles. With all workers busy, nobody is expected to answer."""
        self._guard.value = time.monotonic()
        self._busy.value = bool(workers) and all(worker.timer.value > 0 for worker in workers)
        if self._busy.value:
            self.answered()

    def answered(self, **_signal: object) -> None:
        """Some worker took something from the queue."""
        self._answered.value = time.monotonic()

    @property
    def is_busy(self) -> bool:
        """Whether all workers had something to do when the guard turned last."""
        return bool(self._busy.value)

    @property
    def guard_silent_s(self) -> float:
        """For how long the guard has not turned."""
        return float(time.monotonic() - self._guard.value)

    @property
    def silent_s(self) -> float:
        """For how long nobody has taken anything, with a worker that could have."""
        return float(time.monotonic() - self._answered.value)


def _crash_only_sentinel(tree: ProcessTree, heartbeat: ClusterHeartbeat) -> type[Any]:
    class CrashOnlySentinel(django_q_cluster.Sentinel):  # type: ignore[misc]  # django-q2 has no types
        """Never replaces a child that a signal killed: it may have died with a lock in its hands."""

        def status(self) -> str:
            """Asked for once in each cycle of the guard."""
            heartbeat.guard_rounds(self.pool)
            return str(super().status())

        def reincarnate(self, process: Any) -> None:
            process.join(0)
            if process.exitcode is not None and process.exitcode < 0:
                tree.end(f"child {process.pid} died of signal {-process.exitcode}")
            timer = getattr(process, "timer", None)
            was_timed_out = timer is not None and timer.value == 0
            super().reincarnate(process)
            if was_timed_out:
                tree.end("a worker was terminated on timeout")

    return CrashOnlySentinel


class HeartbeatJudge:
    """Says why a process tree has to end, if it has to. `clock` is the machine's stopwatch, in seconds."""

    def __init__(self, heartbeat: ClusterHeartbeat, clock: Callable[[], float] = time.monotonic) -> None:
        self._heartbeat, self._clock = heartbeat, clock
        self._judged_at = clock()

    def verdict(self) -> str:
        """The reason, or nothing. Call it every `JUDGED_EVERY_S`."""
        before, self._judged_at = self._judged_at, self._clock()
        if (paused_s := self._judged_at - before) > STOOD_STILL_S:
            log.warning("this machine stood still for %.0f s; silence is counted from now on", paused_s)
            self._heartbeat.begin_anew()
            return ""
        options = work_options()
        if self._heartbeat.guard_silent_s > options.conductor_guard_silence_s:
            return "the guard loop stands still"
        if self._heartbeat.silent_s > options.conductor_canary_silence_s:
            return "no worker answered a canary"
        return ""


class CrashOnlyCluster:
    """Start with `run`; it returns after SIGTERM or SIGINT, or the process dies."""

    def __init__(self, *, queue: str, workers: int) -> None:
        self.queue, self.workers = queue, workers
        self.stopping = threading.Event()
        self.heartbeat = ClusterHeartbeat()

    def run(
        self, periodic: list[tuple[float, Callable[[], object]]], threads: Sequence[Callable[[], object]] = ()
    ) -> None:
        """Serve the queue; run each (seconds, call) beside it in a thread of the main process, and so each of
        `threads`, which ends by itself once `stopping` is set.
        """
        tree = ProcessTree()
        self._prepare(tree)
        cluster = django_q_cluster.Cluster()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        db.connections.close_all()  # no connection crosses the fork
        # What is loaded by now stays. A full collection that walks all of it takes a fifth of a second of some build,
        # and writes to every page that workers share with this process.
        gc.collect()
        gc.freeze()
        cluster.start()
        for seconds, call in periodic:
            self._every(seconds, call)
        beside = [threading.Thread(target=each, daemon=True) for each in threads]
        for thread in beside:
            thread.start()
        judge = HeartbeatJudge(self.heartbeat)
        self._every(JUDGED_EVERY_S, lambda: _end_by_verdict(tree, judge))
        while not self.stopping.wait(0.3):
            if not cluster.sentinel.is_alive():
                tree.end("the sentinel is gone")
        limit = threading.Timer(work_options().stop_limit_s, tree.end, ["stopping took too long"])
        limit.daemon = True
        limit.start()
        cluster.stop()
        for thread in beside:
            thread.join()
        limit.cancel()

    def _prepare(self, tree: ProcessTree) -> None:
        Conf.CLUSTER_NAME = self.queue
        Conf.WORKERS = self.workers
        django_q_cluster.Sentinel = _crash_only_sentinel(tree, self.heartbeat)
        # The guard makes its status and saves it once a cycle. Nobody reads it, so the write to a cache is spared.
        django_q_cluster.Stat.save = lambda _stat: None
        pre_execute.connect(self.heartbeat.answered, dispatch_uid=__name__)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.stopping.set()

    def _every(self, seconds: float, call: Callable[[], object]) -> None:
        def loop() -> None:
            while not self.stopping.wait(seconds):
                try:
                    db.close_old_connections()
                    call()
                except Exception as error:
                    is_traced = is_unforeseen(error)
                    log.error("periodic work failed; it runs again in %s s: %s", seconds, error, exc_info=is_traced)

        threading.Thread(target=loop, daemon=True, name=f"every-{seconds}s").start()


def _end_by_verdict(tree: ProcessTree, judge: HeartbeatJudge) -> None:
    if why := judge.verdict():
        tree.end(why)
