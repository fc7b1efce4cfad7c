"""The drill's points: who acts, how often, and that nothing happens anywhere else."""

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from controlplane.kernel import kill_points
from controlplane.kernel.kill_points import Injected, KillPoints, file_name

ROOT = Path(__file__).resolve().parents[3]
POINT = "house.module.function:place"


@pytest.fixture
def drill(tmp_path: Path) -> Path:
    (tmp_path / "armed").mkdir()
    return tmp_path


def arm(drill: Path, action: str, point: str = POINT) -> None:
    (drill / "armed" / file_name(point)).write_text(action)


def test_process_without_the_variable_takes_no_part() -> None:
    assert not kill_points.is_on()
    kill_points.reach(POINT)


def test_process_that_stands_aside_does_nothing_of_what_is_armed(drill: Path) -> None:
    arm(drill, "refuse")
    points = KillPoints(drill)
    points.stand_aside()
    points.reach(POINT)
    assert (drill / "armed" / POINT).exists()
    assert not (drill / "seen").exists()


def test_point_that_is_passed_is_told_once(drill: Path) -> None:
    points = KillPoints(drill)
    points.reach(POINT)
    (drill / "seen" / POINT).unlink()
    points.reach(POINT)
    assert list((drill / "seen").iterdir()) == []


def test_refusal_happens_once_and_says_the_words(drill: Path) -> None:
    arm(drill, "refuse no more room")
    points = KillPoints(drill)
    with pytest.raises(Injected, match="no more room"):
        points.reach(POINT)
    points.reach(POINT)
    assert (drill / "fired" / POINT).read_text() == f"{os.getpid()} {os.getsid(0)} refuse no more room"


def test_full_disk_is_the_error_that_a_full_disk_gives(drill: Path) -> None:
    arm(drill, "enospc")
    with pytest.raises(OSError, match="No space left") as raised:
        KillPoints(drill).reach(POINT)
    assert raised.value.errno == errno.ENOSPC


def test_hang_lasts_as_long_as_was_said(drill: Path) -> None:
    arm(drill, "hang 0.05")
    began = time.monotonic()
    KillPoints(drill).reach(POINT)
    assert time.monotonic() - began >= 0.05


def test_other_points_are_passed_unharmed(drill: Path) -> None:
    arm(drill, "refuse x")
    KillPoints(drill).reach("house.module.other:place")
    assert (drill / "armed" / POINT).exists()


def test_kill_ends_the_process_by_the_signal_that_cannot_be_caught(drill: Path) -> None:
    arm(drill, "kill")
    code = f"from controlplane.kernel.kill_points import reach; reach({POINT!r}); print('alive')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, kill_points.VARIABLE: str(drill)},
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (-9, b"")
    assert (drill / "fired" / POINT).exists()
