"""A shadow policy: beside a decision that was made and recorded, what would another version have done?

It works on the fleet that the decision saw, claims nothing, and whatever goes wrong in it is written
down instead of raised. It runs in a thread of its own, so that no request waits for it; when that thread has too much
to do, runs are left out.
"""

import logging
import queue
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from os import getpid
from uuid import UUID

from django.db import connection, transaction

from controlplane.kernel.reasons import Refusal
from scheduling.decisions.ledger.fleet_columns import FleetSeen
from scheduling.decisions.services.record import DecisionDraft, now_us
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.trace.trace import Trace
from scheduling.models import SHADOW_ERROR, ShadowResult
from scheduling.policies.compare import policies_compare
from scheduling.policies.domain.comparison import PolicyComparison
from scheduling.policies.domain.states import is_in_share
from scheduling.policies.selectors.policies import ShadowPolicy, policy_of_body, shadow_policy
from scheduling.policies.selectors.trial import policy_trial

log = logging.getLogger(__name__)

MAX_WAITING = 16


@dataclass(frozen=True, slots=True, eq=False)
class DecidedRun:
    """What a decision saw, which nodes it had to leave out, and its outcome; the shadow sees the same."""

    decision_id: UUID
    request: ScheduleRequest
    seen: FleetSeen
    trace: Trace
    excluded: Mapping[str, Refusal]


def shadow_offer(*, decision_id: UUID, draft: DecisionDraft, trace: Trace) -> None:
    """Let the shadow, if there is one and the request is in its share, run for this decision, later. Never raises."""
    try:
        shadow = shadow_policy()
        name = draft.request.request_id or str(decision_id)
        if shadow is None or draft.seen is None or not is_in_share(name, shadow.share):
            return
        run = DecidedRun(decision_id, draft.request, draft.seen, trace, dict(draft.excluded))
        transaction.on_commit(partial(_WORKER.put, run, shadow))
    except Exception:
        log.exception("decision=%s: the shadow policy was not asked", decision_id)


def shadow_run(*, run: DecidedRun, shadow: ShadowPolicy) -> ShadowResult | None:
    """Run the shadow now and store what it found; also that it failed. Never raises: None when nothing was stored."""
    try:
        result = _result(run, shadow)
        with transaction.atomic():
            result.save(force_insert=True)
    except Exception:
        log.exception("decision=%s: the result of shadow %s was not kept", run.decision_id, shadow.version)
        return None
    return result


def shadow_wait(*, timeout_s: float) -> bool:
    """Wait until no run is left to do; False when some are after this time."""
    return _WORKER.wait(timeout_s)


def _result(run: DecidedRun, shadow: ShadowPolicy) -> ShadowResult:
    started = now_us()
    result = ShadowResult(
        policy_id=shadow.id,
        decision_id=run.decision_id,
        live_version=run.trace.policy_version,
        instance_count=len(run.request.instance_uuids),
    )
    try:
        _fill(result, _compared(run, shadow))
    except Exception as error:  # noqa: BLE001 - a plug-in may raise anything
        log.warning("decision=%s: shadow %s failed: %r", run.decision_id, shadow.version, error)
        result.outcome, result.error = SHADOW_ERROR, str(error) or repr(error)
    result.duration_us = now_us() - started
    return result


def _compared(run: DecidedRun, shadow: ShadowPolicy) -> PolicyComparison:
    other = policy_trial(
        fleet=run.seen,
        request=run.request,
        policy=policy_of_body(shadow.body, version=shadow.version),
        seed=run.trace.seed,
        excluded=run.excluded,
    )
    return policies_compare(run.seen.table, run.trace, other)


def _fill(result: ShadowResult, found: PolicyComparison) -> None:
    result.outcome = found.agreement.value
    result.moved_count = found.moved
    result.decided_host, result.shadow_host = found.deciding_pair
    result.score_difference = found.score_difference
    result.decided_fragmentation = found.decided_fragmentation
    result.shadow_fragmentation = found.other_fragmentation


class _Worker:
    """One thread of this process, started when first needed; another one in a process that was forked since."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pid = 0
        self._jobs: queue.Queue[tuple[DecidedRun, ShadowPolicy]] = queue.Queue(MAX_WAITING)

    def put(self, run: DecidedRun, shadow: ShadowPolicy) -> None:
        """Take a job, or leave it out when too many wait."""
        self._ensure()
        try:
            self._jobs.put_nowait((run, shadow))
        except queue.Full:
            log.warning("decision=%s: shadow %s is left out, %s wait", run.decision_id, shadow.version, MAX_WAITING)

    def wait(self, timeout_s: float) -> bool:
        """Whether all jobs were done within this time."""
        jobs = self._jobs
        with jobs.all_tasks_done:
            return jobs.all_tasks_done.wait_for(lambda: not jobs.unfinished_tasks, timeout_s)

    def _ensure(self) -> None:
        # Invariant: one thread and one queue a process. A fork copies `_pid` and the queue, but no thread.
        with self._lock:
            if self._pid != getpid():
                self._pid, self._jobs = getpid(), queue.Queue(MAX_WAITING)
                threading.Thread(target=self._work, args=(self._jobs,), name="shadow-policy", daemon=True).start()

    def _work(self, jobs: "queue.Queue[tuple[DecidedRun, ShadowPolicy]]") -> None:
        while True:
            run, shadow = jobs.get()
            try:
                shadow_run(run=run, shadow=shadow)
                if jobs.empty():
                    connection.close()
            except Exception:
                log.exception("decision=%s: the shadow policy failed", run.decision_id)
            finally:
                del run  # a waiting thread must not hold the fleet in memory
                jobs.task_done()


_WORKER = _Worker()
