"""When the silence of the conductor's workers counts."""

import multiprocessing
from dataclasses import dataclass, field
from typing import Any

from controlplane.work.cluster import STOOD_STILL_S, ClusterHeartbeat, HeartbeatJudge


@dataclass
class Worker:
    """As the guard knows one: seconds that its work may still take, -1 while it has none."""

    left_s: float
    timer: Any = field(init=False)

    def __post_init__(self) -> None:
        self.timer = multiprocessing.Value("f", self.left_s)


def long_silent() -> ClusterHeartbeat:
    heartbeat = ClusterHeartbeat()
    heartbeat._answered.value -= 100
    return heartbeat


def test_silence_counts_while_some_worker_could_have_answered() -> None:
    heartbeat = long_silent()
    heartbeat.guard_rounds([Worker(250.0), Worker(-1.0)])
    assert not heartbeat.is_busy
    assert heartbeat.silent_s >= 100


def test_silence_of_workers_that_are_all_busy_does_not_count() -> None:
    heartbeat = long_silent()
    heartbeat.guard_rounds([Worker(250.0), Worker(3.5)])
    assert heartbeat.is_busy
    assert heartbeat.silent_s < 100


def test_no_worker_at_all_excuses_no_silence() -> None:
    heartbeat = long_silent()
    heartbeat.guard_rounds([])
    assert not heartbeat.is_busy
    assert heartbeat.silent_s >= 100


class Watch:
    """A stopwatch that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_silence_of_a_guard_or_of_workers_ends_the_tree() -> None:
    watch, heartbeat = Watch(), ClusterHeartbeat()
    judge = HeartbeatJudge(heartbeat, watch)
    assert judge.verdict() == ""
    heartbeat._guard.value -= 100
    watch.now += 1
    assert judge.verdict() == "the guard loop stands still"
    heartbeat.begin_anew()
    heartbeat._answered.value -= 100
    watch.now += 1
    assert judge.verdict() == "no worker answered a canary"


def test_a_machine_that_stood_still_is_nobodys_silence() -> None:
    watch, heartbeat = Watch(), ClusterHeartbeat()
    judge = HeartbeatJudge(heartbeat, watch)
    heartbeat._guard.value -= 100
    heartbeat._answered.value -= 100
    watch.now += STOOD_STILL_S + 0.1
    assert judge.verdict() == ""
    watch.now += 1
    assert judge.verdict() == ""
    heartbeat._guard.value -= 100  # a silence that comes after it counts
    watch.now += 1
    assert judge.verdict() == "the guard loop stands still"


def test_silence_is_judged_by_the_settings(settings: Any) -> None:
    settings.KILONOVA = {
        **settings.KILONOVA, "CONDUCTOR_GUARD_SILENCE_S": 1000.0, "CONDUCTOR_CANARY_SILENCE_S": 1000.0
    }  # fmt: skip
    watch, heartbeat = Watch(), ClusterHeartbeat()
    judge = HeartbeatJudge(heartbeat, watch)
    heartbeat._guard.value -= 100
    heartbeat._answered.value -= 100
    assert judge.verdict() == ""
