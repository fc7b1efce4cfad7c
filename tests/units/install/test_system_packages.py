"""install/system.sh beside a program that holds the package manager's lock, and where nothing can be installed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "install" / "system.sh"
LOCKED = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)"
PROGRAMS = {
    # Fails as often as $TIMES says, with $COMPLAINT; then everything is installed.
    "apt-get": 'echo "$@" >>"$NOTES/calls"\n'
    'if [ "$(wc -l <"$NOTES/calls")" -le "$TIMES" ]; then echo "$COMPLAINT" >&2; exit 100; fi\n'
    'case "$*" in *install*) touch "$NOTES/installed";; esac',
    "dpkg-query": 'if [ -e "$NOTES/installed" ]; then echo "install ok installed"; else exit 1; fi',
    "sudo": 'shift; if [ "$1" = true ]; then exit 0; fi; exec "$@"',
    "getent": "exit 0",
}


def run(tmp_path: Path, purpose: str, *, times: int, complaint: str = LOCKED, **more: str) -> tuple[int, str]:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in PROGRAMS.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    own = {"PATH": f"{programs}:{os.environ['PATH']}", "NOTES": str(tmp_path), "TIMES": str(times)}
    env = {**own, "COMPLAINT": complaint, "KILONOVA_APT_WAIT_S": "20", **more}
    done = subprocess.run([str(SCRIPT), purpose, sys.executable], env=env, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_lock_of_another_program_is_waited_for(tmp_path: Path) -> None:
    status, said = run(tmp_path, "run", times=1)
    assert status == 0, said
    assert (tmp_path / "installed").exists()
    assert "another program holds" in said
    assert "DPkg::Lock::Timeout=20" in (tmp_path / "calls").read_text()


@pytest.mark.parametrize("purpose", ["run", "test", "test-long"])
def test_lock_that_stays_is_a_failure(tmp_path: Path, purpose: str) -> None:
    status, said = run(tmp_path, purpose, times=1000, KILONOVA_APT_WAIT_S="0")
    assert status == 1
    assert "still missing: " in said


@pytest.mark.parametrize(
    ("purpose", "more", "expected"),
    [("test", {}, 1), ("test-long", {}, 1), ("test", {"KILONOVA_SKIP_SERVICES": "1"}, 0), ("run", {}, 0)],
)
def test_packages_that_cannot_be_had_stop_the_tests_at_once(
    tmp_path: Path, purpose: str, more: dict[str, str], expected: int
) -> None:
    status, said = run(tmp_path, purpose, times=1000, complaint="E: Temporary failure resolving", **more)
    assert status == expected
    assert "still missing: " in said
