"""Wake-ups and jobs doubled, lost, late and out of order, whatever carries them."""

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import redis

from tests.drill.faults.fault import (
    Evidence,
    Fault,
    expect,
    is_active,
    make,
    query,
    until,
    works,
)
from tests.drill.stage import Environment, Stage

EVERY_S = 0.01
MANY = 12
CONDUCTOR_QUEUE = "conductor"
REDIS_KEY = "kilonova:wakeup:"
RECONCILED_S = 90.0


def all_lost(stage: Stage) -> Evidence:
    """Every wake-up is taken away before anybody hears it, all the time: the reconciler's look at rows is enough."""
    thief = _Meddler(stage, _steal)
    with thief.at_work():
        uids = [make(stage) for _ in range(MANY)]
        time.sleep(1.0)
    took = until(lambda: all(is_active(stage, uid) for uid in uids), RECONCILED_S, f"{MANY} instances are ACTIVE")
    return {"stolen": thief.count, "active_s": took}


def all_doubled(stage: Stage) -> Evidence:
    """Each piece of open work sends the wake-up again and again, for the right queue and in any order: each is done
    once.
    """
    ringer = _Meddler(stage, _resend)
    with ringer.at_work():
        uids = [make(stage) for _ in range(MANY)]
        took = until(lambda: all(is_active(stage, uid) for uid in uids), RECONCILED_S, f"{MANY} instances are ACTIVE")
    taken = [work["attempt"] for uid in uids for work in works(stage, uid, "build")]
    expect(taken == [1] * MANY, f"each build was taken once: {taken}")
    expect(ringer.count > MANY, "wake-ups were doubled")
    return {"rung_again": ringer.count, "active_s": took, "build_attempts": taken}


def foreign_wakeups(stage: Stage) -> Evidence:
    """Wake-ups for work that ended, for another's queue, with unknown codes and with nonsense: nothing follows."""
    uid = make(stage, host="t1")
    until(lambda: is_active(stage, uid), 90, f"{uid} is ACTIVE")
    (build,) = works(stage, uid, "build")
    ref = str(build["id"])
    wakeups = [
        ("compute.t1", "build", ref),
        ("compute.t2", "build", ref),
        ("compute.t1", "delete", ref),
        ("compute.t2", "os.system", "reboot"),
        (CONDUCTOR_QUEUE, "build", ref),
        (CONDUCTOR_QUEUE, "schedule_and_build", "no uuid"),
        (CONDUCTOR_QUEUE, "instance_delete.instance_delete", uid),  # as long as PostgreSQL lets it be
    ]
    for one in wakeups:
        send_wakeup(stage, *one)
    other = make(stage)
    took = until(lambda: is_active(stage, other), 90, "another instance is built after them")
    expect(works(stage, uid, "build") == [build], "the work that had ended is as it was")
    expect(is_active(stage, uid), "and so is its instance")
    return {"wakeups": len(wakeups), "next_active_s": took}


class _Meddler:
    """A thread that does something to the wake-ups, over and over."""

    def __init__(self, stage: Stage, meddle: Callable[[Stage], int]) -> None:
        self._stage, self._meddle = stage, meddle
        self._ended = threading.Event()
        self.count = 0

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Inside the block."""
        thread = threading.Thread(target=self._run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _run(self) -> None:
        while not self._ended.wait(EVERY_S):
            self.count += self._meddle(self._stage)


def _steal(stage: Stage) -> int:
    if stage.redis is None:
        return len(query(stage, "DELETE FROM work_wakeup WHERE code <> 'canary' RETURNING id"))
    with redis.Redis.from_url(stage.redis.url()) as client:
        keys = list(client.scan_iter(f"{REDIS_KEY}*"))
        return sum(len(client.lpop(key, 100) or ()) for key in keys)


def _resend(stage: Stage) -> int:
    rows = query(stage, "SELECT queue, kind, id FROM work_work WHERE state IN ('waiting', 'running')")
    random.shuffle(rows)
    for queue, kind, pk in rows:
        for _ in range(2):
            send_wakeup(stage, queue, kind, str(pk))
    return 2 * len(rows)


def send_wakeup(stage: Stage, queue: str, code: str, ref: str) -> None:
    """One wake-up, past every service. Nobody is told on PostgreSQL that it is there."""
    if stage.redis is not None:
        with redis.Redis.from_url(stage.redis.url()) as client:
            client.rpush(f"{REDIS_KEY}{queue}", json.dumps([code, ref]))
        return
    now = "CURRENT_TIMESTAMP" if stage.env is Environment.SQLITE else "now()"
    values = f"INSERT INTO work_wakeup (queue, code, ref, woken_at) VALUES (?, ?, ?, {now})"  # noqa: S608
    query(stage, f"{values} ON CONFLICT DO NOTHING", queue, code, ref)


FAULTS = (
    Fault("wakeups-lost", all_lost),
    Fault("wakeups-doubled", all_doubled),
    Fault("wakeups-of-strangers", foreign_wakeups),
)
