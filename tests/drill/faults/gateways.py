"""Proxies as people have them: one that passes an answer on when it has all of it, one that is impatient with polls."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from tests.drill.faults.door_proxy import behind_proxy
from tests.drill.faults.fault import (
    ONE_REAL_TWO_SIMULATED,
    Evidence,
    Fault,
    delete,
    expect,
    is_active,
    log_of,
    make,
    runs_on,
    until,
)
from tests.drill.names import IMAGES
from tests.drill.stage import SETTINGS, Stage

POLL_LIMIT_S = 3.0
"""Shorter than an agent's polls, which are 5 s here."""
POLLS_CUT_FOR_S = 14.0
BUILT_S = 10.0
DOWN_S = float(SETTINGS["SERVICE_DOWN_TIME_S"])


class Silences:
    """The longest time that each host was silent, as the control plane counts it."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._ended = threading.Event()
        self.longest: dict[str, float] = {}

    @contextmanager
    def watched(self) -> Iterator["Silences"]:
        """Inside the block."""
        thread = threading.Thread(target=self._watch, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            thread.join()

    def expect_below(self, seconds: float) -> float:
        """No host counted as down at any moment; the longest silence. Raises UnexpectedError."""
        expect(self.longest, "the hosts were watched")
        host, longest = max(self.longest.items(), key=lambda one: one[1])
        expect(longest < seconds, f"no host went down; {host} was silent for {longest:.1f} s")
        return round(longest, 1)

    def _watch(self) -> None:
        while not self._ended.wait(0.2):
            for host, silent_s in self._stage._ask_auditor("hosts").items():
                self.longest[host] = max(self.longest.get(host, 0.0), float(silent_s))


def buffered(stage: Stage) -> Evidence:
    """Polls, builds and images come through as before."""
    took = {}
    with behind_proxy(stage, is_buffered=True) as proxy, Silences(stage).watched() as silences:
        for image in range(IMAGES):  # until there was one that the cache had not
            for host in ("t1", "q1", "t2"):
                uid = make(stage, host=host, image=image)
                took[f"{host} image {image}"] = until(partial(is_active, stage, uid), BUILT_S, f"{uid} is ACTIVE")
                expect(runs_on(stage, uid) == [host], f"it runs on {host}")
                delete(stage, uid)
            if proxy.passed["image_chunks"]:
                break
        expect(proxy.passed["image_chunks"], "an image came through the proxy")
    return {"active_s": took, "longest_silence_s": silences.expect_below(DOWN_S)}


def polls_cut(stage: Stage) -> Evidence:
    """A poll that waits for long ends in a page that says 504: hosts stay up, agents come to wait for less, and work is
    heard of none the less.
    """
    took = []
    with behind_proxy(stage, poll_limit_s=POLL_LIMIT_S) as proxy, Silences(stage).watched() as silences:
        began = time.monotonic()
        while time.monotonic() - began < POLLS_CUT_FOR_S:
            for host in ("t1", "q1", "t2"):
                uid = make(stage, host=host)
                took.append(until(partial(is_active, stage, uid), BUILT_S, f"{uid} is ACTIVE"))
                expect(runs_on(stage, uid) == [host], f"it runs on {host}")
            time.sleep(1.0)
        answered, cut = proxy.passed["wakeups"], proxy.timed_out["wakeups"]
        time.sleep(POLLS_CUT_FOR_S)
        waited, cut_then = proxy.passed["wakeups"] - answered, proxy.timed_out["wakeups"] - cut
    said = "was answered with HTTP 504, not by the control plane"
    expect(said in log_of(stage, "agent-t1"), "the agent's log says what answered it")
    expect(waited > cut_then, f"with nothing to do, {waited} polls were waited out and {cut_then} were cut")
    return {"active_s": took, "waited_out": waited, "cut": cut_then, "longest_silence_s": silences.expect_below(DOWN_S)}


FAULTS = (
    Fault("door-buffered", buffered, agents=ONE_REAL_TWO_SIMULATED),
    Fault("door-polls-cut", polls_cut, agents=ONE_REAL_TWO_SIMULATED),
)
