"""One kill on a running stage: load, death, recovery, quiet, verdict."""

import random
import re
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.drill.client import NoAnswerError
from tests.drill.schedule import Kill
from tests.drill.stage import Stage

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
QUIET_LIMIT_S = 90.0
FIRE_LIMIT_S = 60.0
"""While requests go on or anything is under way. After that nobody comes by any more."""
IDLE_LIMIT_S = 2.5
POLL_EVERY_S = 0.02
RANDOM_WITHIN_S = 1.2


@dataclass
class Injection:
    """What one kill did. `process` empty: nobody passed the point. `quiet_s`: from the death until all was in order."""

    environment: str
    number: int
    point: str
    process: str = ""
    quiet_s: float = 0.0
    revived: list[str] = field(default_factory=list)
    healed: list[str] = field(default_factory=list)
    """What was out of order when nothing was under way any more, and then was put right."""
    violations: list[str] = field(default_factory=list)

    @property
    def hit(self) -> bool:
        """Whether somebody died."""
        return bool(self.process)

    def as_row(self) -> dict[str, Any]:
        """For the JSON report."""
        return asdict(self)


class FaultInjector:
    """Strikes one stage. What is broken once is told once: it is left out of later looks."""

    def __init__(self, stage: Stage, seed: int, *, quiet_limit_s: float = QUIET_LIMIT_S) -> None:
        self._stage = stage
        self._limit_s = quiet_limit_s
        self._rng = random.Random(seed)
        self._number = 0
        self._real = [each.host for each in stage.agents if each.kind == "qemu"]

    def injection(self, kill: Kill) -> Injection:
        """Do it, and wait for the end."""
        self._number += 1
        injection = Injection(str(self._stage.env), self._number, kill.point)
        before = len(self._stage.revived)
        burst = self._burst(kill)
        died_at = time.monotonic()
        injection.process = self._at_point(kill, burst) if kill.point else self._at_random()
        if injection.hit:
            died_at = time.monotonic()
        burst.join()
        self._judge(injection, died_at)
        injection.revived = self._stage.revived[before:]
        return injection

    def _burst(self, kill: Kill) -> threading.Thread:
        stage = self._stage
        if kill.point:
            stage.arm(kill.point, "kill")
        host = self._rng.choice(self._real) if kill.needs_real_guest and self._real else ""
        instances = stage.rows()["instances"]
        if kill.with_restart:
            stage.periodic_tasks_due()
            self._kill_one()
        burst = threading.Thread(target=lambda: self._requests(kill, instances, host))
        burst.start()
        return burst

    def _requests(self, kill: Kill, instances: list[dict[str, Any]], host: str) -> None:
        if kill.needs_login:
            with suppress(NoAnswerError):
                self._stage.client.log_in()
        self._stage.load.burst(
            instances,
            host=host,
            fresh_image=kill.needs_fresh_image,
            comparing_backup=kill.needs_comparing_backup,
            rebuilding_volume=kill.needs_rebuilt_volume,
        )

    def _at_point(self, kill: Kill, burst: threading.Thread) -> str:
        """Who died there; empty when nobody came by, whatever was done and for a while after that."""
        stage = self._stage
        began, idle_since = time.monotonic(), 0.0
        while time.monotonic() - began < FIRE_LIMIT_S:
            if died := stage.fired(kill.point):
                return died
            if burst.is_alive() or stage.busy():
                idle_since = 0.0
            elif idle_since and time.monotonic() - idle_since > IDLE_LIMIT_S:
                break
            else:
                idle_since = idle_since or time.monotonic()
            time.sleep(POLL_EVERY_S)
        stage.disarm(kill.point)
        return stage.fired(kill.point) or ""

    def _at_random(self) -> str:
        time.sleep(self._rng.uniform(0, RANDOM_WITHIN_S))
        return self._kill_one()

    def _kill_one(self) -> str:
        """Any process of any program: of a tree, any member."""
        names = list(self._stage.processes)
        agents = [name for name in names if name.startswith("agent-")]
        others = [name for name in names if not name.startswith("agent-")]
        name = self._rng.choice([*others, self._rng.choice(agents), self._rng.choice(agents)])
        return name if self._stage.processes[name].kill_member(self._rng) else ""

    def _judge(self, injection: Injection, died_at: float) -> None:
        stage = self._stage
        within_s = max(1.0, self._limit_s - (time.monotonic() - died_at))
        injection.healed = stage.settle(within_s)
        injection.quiet_s = round(time.monotonic() - died_at, 2)
        injection.violations = stage.verdict()
        stage.reported.update(uid for line in injection.violations for uid in UUID.findall(line))
