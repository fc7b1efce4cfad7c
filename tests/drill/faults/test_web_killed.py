"""The web server killed under a crowd of waiting agents, where a wake-up that is taken is gone: on Redis."""

import tempfile
from pathlib import Path

import pytest

from tests.drill.faults.runner import faults_run
from tests.drill.faults.web_killed import FAULTS
from tests.drill.stage import Environment


@pytest.mark.processes
@pytest.mark.long
def test_all_agents_wait_again_and_hear_what_came_meanwhile() -> None:
    with tempfile.TemporaryDirectory(prefix="kd-") as directory:
        for outcome in faults_run(FAULTS, [Environment.REDIS], Path(directory)):
            assert outcome.is_good, outcome.as_row()
