"""Every action of one instance, in turn, through a whole installation with a real guest."""

from collections import defaultdict
from pathlib import Path

import pytest

from bench.actions import STEPS, UNDONE, Api, one_round
from servers.instances.actions.table import ACTIONS
from tests.fixtures.installation import PASSWORD, Installation
from tests.fixtures.migrated import MigratedDatabases
from tests.fixtures.processes import Processes

pytestmark = [pytest.mark.processes, pytest.mark.libvirt, pytest.mark.qemu, pytest.mark.long]

ELSEWHERE = {
    "schedule_again",  # of what never had a host
    "change_password",  # needs an agent in the guest
    "attach_interface",  # needs networks of ours
    "detach_interface",
    "screenshot",  # is no task of the instance
    "trigger_crash_dump",
    "crash_seen",  # of a guest that crashed
}
"""Actions that tests of their own show on real guests (`servers.instances.actions.shown_by`)."""


def test_a_real_guest_goes_through_all_actions(
    processes: Processes, tmp_path: Path, qemu_answers: Path, migrated: MigratedDatabases
) -> None:
    env = {"RECLAIM_INSTANCE_INTERVAL_S": "3600"}
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
    done = {name for name, _, _ in took}
    assert done >= {step.name for step in (*STEPS, *UNDONE)}
    # Shelving leaves the host by itself, and the last deletion is one for good.
    assert done | {"shelve_offload", "force_delete"} | ELSEWHERE == set(ACTIONS)
