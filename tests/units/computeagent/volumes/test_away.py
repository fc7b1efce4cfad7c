"""What says that a place of volumes is away, and what says something else."""

import errno

import pytest

from computeagent.volumes.away import is_away_error, says_away
from computeagent.volumes.programs import program_failed

NO_CLUSTER = b"""\
2026-11-29T02:03:54.501+0000 7f548b88f380  0 monclient(hunting): authenticate timed out after 3

rbd: couldn't connect to the cluster!
rbd: listing images failed: (110) Connection timed out
"""
"""As rbd 16 says it of monitors that do not answer."""
NO_IMAGE = b"rbd: error opening image x: (2) No such file or directory\n"


@pytest.mark.parametrize(
    ("program", "status", "said", "is_away"),
    [
        ("rbd", 110, NO_CLUSTER, True),
        ("ceph", 1, b"[errno 110] RADOS timed out (error connecting to the cluster)\n", True),
        ("qemu-img", 1, b"qemu-img: Could not open 'rbd:p/x': error connecting: Connection timed out\n", True),
        ("rbd", 2, NO_IMAGE, False),
        ("rbd", 16, b"rbd: error: image still has watchers\n", False),
        ("qemu-img", 1, b"qemu-img: error while writing: No space left on device\n", False),
    ],
)
def test_what_programs_say(program: str, status: int, said: bytes, is_away: bool) -> None:
    assert program_failed([program], status, said).is_away == is_away


def test_what_the_storage_daemon_says_of_a_server() -> None:
    assert says_away("blockdev-add: Failed to connect to '10.0.0.5:10809': Connection refused")
    assert not says_away("blockdev-add: Requested export not available")


@pytest.mark.parametrize(
    ("number", "is_away"),
    [(errno.ESTALE, True), (errno.EHOSTDOWN, True), (errno.ENOSPC, False), (errno.EIO, False), (errno.EACCES, False)],
)
def test_what_files_say(number: int, is_away: bool) -> None:
    assert is_away_error(OSError(number, "words")) == is_away
