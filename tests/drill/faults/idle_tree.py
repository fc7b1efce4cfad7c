"""kill -9 of one process of the conductor's tree after the other, each while it has nothing to do.

It is the moment in which django-q2's stock cluster stalls for ever: an idle worker sits on the lock of the queue.
"""

import os
import signal
import time
from functools import partial

from tests.drill.faults.fault import Evidence, Fault, expect, is_active, make, until
from tests.drill.stage import Environment, Stage

CONDUCTOR = "conductor-0"
TREE = ("main", "sentinel", "worker", "monitor", "pusher")
"""In the order in which they are started."""
VICTIMS = ("worker", "monitor", "pusher", "sentinel", "main")
WORKS_AGAIN_S = 20.0
STOCK = {CONDUCTOR: "tests.drill.faults.stock_cluster:main"}


def each_killed_while_idle(stage: Stage) -> Evidence:
    """After each of them an instance must be built."""
    took = {}
    for victim in VICTIMS:
        _kill(stage, victim)
        uid = make(stage)
        took[victim] = until(
            partial(is_active, stage, uid),
            WORKS_AGAIN_S,
            f"an instance is built after the conductor's {victim} was killed",
        )
    return {"active_s": took}


def _kill(stage: Stage, victim: str) -> None:
    process = stage.processes[CONDUCTOR]
    until(lambda: len(process.members()) == len(TREE), 90, "the conductor's tree is complete")
    time.sleep(1.0)  # a worker that was just forked is not waiting yet
    members = process.members()
    expect(len(members) == len(TREE), f"the tree is complete: {members}")
    os.kill(members[TREE.index(victim)], signal.SIGKILL)


FAULTS = (
    Fault("conductor-killed-while-idle", each_killed_while_idle),
    Fault(
        "control-stock-cluster",
        each_killed_while_idle,
        (Environment.SQLITE, Environment.POSTGRES),
        programs=STOCK,
        must_fail=True,
        quiet_s=15.0,
    ),
)
