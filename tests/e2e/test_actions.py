"""Every action of one instance, in turn, through a whole installation with a real guest."""

from collections import defaultdict
from pathlib import Path

import pytest

from bench.actions import one_round
from bench.actions_client import Api
from servers.instances.actions.table import ACTIONS
from tests.fixtures.installation import PASSWORD, Installation
from tests.fixtures.migrated import MigratedDatabases
from tests.fixtures.processes import Processes

pytestmark = [pytest.mark.processes, pytest.mark.libvirt, pytest.mark.qemu, pytest.mark.long]

ELSEWHERE = {"delete"}
"""Here a deletion can be undone or is forced; one that is neither stands in `tests/e2e/test_up.py`."""


def test_a_real_guest_goes_through_all_actions(
    processes: Processes, tmp_path: Path, qemu_answers: Path, migrated: MigratedDatabases
) -> None:
    env = {"RECLAIM_INSTANCE_INTERVAL_S": "3600", "SHELVED_OFFLOAD_TIME_S": "-1"}
    here = Installation(
        processes,
        tmp_path / "state",
        driver="qemu",
        hypervisors=1,
        qemu_answers=qemu_answers,
        env=env,
        migrated=migrated,
    ).start()
    took: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    try:
        api = Api(f"http://127.0.0.1:{here.port}", "admin", PASSWORD)
        one_round(api, took, boot_s=3.0, is_undone=True)
    finally:
        here.manage("down", "--grace", "0")
    assert {name for name, _, _ in took} | ELSEWHERE == set(ACTIONS)
