"""The quickest of the drill's faults, on one stage. All of them: `python -m tests.drill.faults`."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drill.faults import libvirt_fails, refused_agents, wakeups
from tests.drill.faults.fault import THREE_SIMULATED, Fault
from tests.drill.faults.runner import fault_run
from tests.drill.stage import Environment, Stage

QUICK = (
    *("libvirt-refuses-start", "libvirt-refuses-everywhere", "wakeups-doubled", "wakeups-of-strangers"),
    "agent-of-older-release",
)
FAULTS = [fault for fault in (*libvirt_fails.FAULTS, *wakeups.FAULTS, *refused_agents.FAULTS) if fault.name in QUICK]


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """Three simulated hosts on SQLite. The path of its sockets must be short. Nothing of these faults waits for the end
    of a lease, so none ends on a machine that stands still for some seconds.
    """
    with (
        tempfile.TemporaryDirectory(prefix="kd-") as directory,
        Stage(Environment.SQLITE, Path(directory), THREE_SIMULATED, settings={"LEASE_S": "20"}) as stage,
    ):
        yield stage


@pytest.mark.processes
@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_fault_ends_as_it_must_and_loses_nothing(fault: Fault, stage: Stage) -> None:
    outcome = fault_run(fault, stage)
    assert outcome.is_good, outcome.as_row()
