"""OVN in the drill: conductors killed while they write to its northbound database, which goes away as well; at the end
nothing of ours is left in it. The conductor reaches it by TLS.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drill.fault_injector import QUIET_LIMIT_S
from tests.drill.faults.fault import until
from tests.drill.faults.ovn_gone import FAULTS, TWO_SIMULATED, guest, guest_told
from tests.drill.faults.runner import fault_run
from tests.drill.stage import Environment, Stage
from tests.fixtures.ovn import missing_for_ovn_databases

POINTS = ("servers.networks.ovn.sync:base_written", "servers.networks.ovn.sync:written")

pytestmark = [pytest.mark.processes, pytest.mark.long]


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """Two simulated hosts on SQLite."""
    if missing := missing_for_ovn_databases():
        pytest.skip(missing)
    with (
        tempfile.TemporaryDirectory(prefix="kd-") as directory,
        Stage(Environment.SQLITE, Path(directory), TWO_SIMULATED, has_ovn=True) as stage,
    ):
        yield stage


def test_nothing_is_lost_and_nothing_is_left_in_ovn(stage: Stage) -> None:
    assert stage.ovn is not None
    load = stage.load.networks[1]
    guest_told(stage)
    for point in POINTS:
        stage.arm(point, "kill")
        guest(stage)
        load.route()
        load.float()
        load.port()
        until(lambda point=point: (stage.fired(point) or "").startswith("conductor"), 60, f"a conductor passes {point}")
        assert stage.wait_quiet(QUIET_LIMIT_S) < QUIET_LIMIT_S, stage.verdict()
        assert stage.verdict() == [], point
    for fault in FAULTS:
        outcome = fault_run(fault, stage)
        assert outcome.is_good, outcome.as_row()

    for one in stage.rows()["instances"]:
        stage.load.delete(str(one["id"]))
    stage.wait_quiet(QUIET_LIMIT_S)
    assert [*load.drain(), *load.left()] == []
    assert stage.wait_quiet(QUIET_LIMIT_S) < QUIET_LIMIT_S, stage.verdict()
    assert stage.verdict() == []
    assert stage.ovn.nb("--bare", "--columns=name", "find", "Logical_Switch_Port", 'type=""') == ""
    assert stage.ovn.nb("lr-list") == ""
