"""A process that is killed while it writes to OVN: half of it is there, and the next comparison has all of it."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.kernel.kill_points import VARIABLE
from tests.fixtures.ovn import Central, missing_for_ovn, ovn_central
from tests.fixtures.patience import PATIENCE_S
from tests.fixtures.races import ROOT, race_environment

PROGRAM = Path(__file__).parent / "ovn_kill_race.py"
POINT = "servers.networks.ovn.sync"
KILLS = (("tell", "base_written", True), ("tell", "written", False), ("compare", "differences_written", False))
"""What is done, where it is killed, and whether OVN has only a part of it then."""

pytestmark = [pytest.mark.processes, pytest.mark.long]


@pytest.fixture
def central() -> Iterator[Central]:
    if missing := missing_for_ovn():
        pytest.skip(missing)
    found = ovn_central(has_northd=False)
    yield found
    found.close()


def test_killed_while_it_writes_the_next_comparison_heals(
    central: Central, either_database_url: str, tmp_path: Path
) -> None:
    drill = tmp_path / "drill"
    (drill / "armed").mkdir(parents=True)

    def run(*verbs: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(PROGRAM), central.address("nb"), *verbs]
        env = {**race_environment(either_database_url, tmp_path), VARIABLE: str(drill)}
        return subprocess.run(
            command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=3 * PATIENCE_S, check=False
        )

    def outcome(*verbs: str) -> dict[str, int]:
        done = run(*verbs)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    rows = outcome("make", "tell")["rows"]
    for verb, point, is_half_done in KILLS:
        (drill / "armed" / f"{POINT}:{point}").write_text("kill")
        assert run("change", verb).returncode == -signal.SIGKILL

        after = outcome()
        assert (0 < after["differ"] < rows) is is_half_done, (point, after)
        assert after["waiting"] > 300  # nothing is forgotten before it is done with
        rows += 1  # each change comes with a rule
        assert outcome("compare") == {"differ": 0, "rows": rows, "waiting": after["waiting"]}
    assert outcome("tell") == {"differ": 0, "rows": rows, "waiting": 0}
