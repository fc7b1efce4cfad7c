"""A pool in a shared directory over a real NFS 4.2: guests on QEMU, its lock between hosts, and who owns the files."""

import sys
from pathlib import Path

import pytest

from tests.e2e.volumes.test_two_hypervisors import SHARED_ENV
from tests.fixtures.nfs_machine import EXPORT, NFS, NfsMachine, missing_for_nfs

pytestmark = [pytest.mark.libvirt, pytest.mark.qemu, pytest.mark.processes, pytest.mark.long]
WITHIN_S = 1500.0
"""A kernel in user mode takes several times as long as this machine's."""


@pytest.fixture
def machine(tmp_path: Path) -> NfsMachine:
    if missing := missing_for_nfs():
        pytest.skip(missing)
    return NfsMachine(tmp_path)


def run_on_nfs(machine: NfsMachine, words: str, *, export: str = EXPORT) -> tuple[int, str]:
    """Tests of two hypervisors, with their shared directory on NFS."""
    tests = [str(Path(__file__).with_name("test_two_hypervisors.py")), "-k", words]
    options = ["-q", "-n", "0", "-p", "no:cacheprovider", "--color=no", "--basetemp=/tmp/tests"]
    command = ["env", f"{SHARED_ENV}={NFS}/pool", sys.executable, "-m", "pytest", *options, *tests]
    ended, said = machine.run(command, export=export, timeout_s=WITHIN_S)
    assert f" {NFS} nfs4 rw," in said, said
    return ended, said


def test_guests_of_two_hypervisors_have_volumes_on_nfs(machine: NfsMachine) -> None:
    """A volume goes from host to host, two guests have one at once where both say so, and QEMU's lock keeps the second
    from another. What Linux writes is left out: its image is made of packages, and that machine reaches no network.
    """
    ended, said = run_on_nfs(machine, "shared and not linux")
    assert (ended, "2 passed" in said) == (0, True), said


def test_where_the_servers_root_is_nobody_guests_are_refused_volumes(machine: NfsMachine) -> None:
    """libvirt gives a file to QEMU's user, which nobody may: volumes are made, and no guest can open them."""
    export = EXPORT.replace("no_root_squash", "root_squash")
    ended, said = run_on_nfs(machine, "shared_volume", export=export)
    assert ended == 1, said
    assert "the volume cannot be added: " in said
    assert "Permission denied" in said
