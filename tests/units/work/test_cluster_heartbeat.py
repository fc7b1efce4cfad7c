"""When the silence of the conductor's workers counts."""

import multiprocessing
from dataclasses import dataclass, field
from typing import Any

from controlplane.work.cluster import ClusterHeartbeat


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
