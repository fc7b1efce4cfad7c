"""What the settings of one machine keep from its other users."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def load(state: Path, **more: str) -> str:
    """The secret key that a process ends up with, started under the usual mask."""
    env = {"PATH": os.environ["PATH"], "KILONOVA_STATE": str(state), **more}
    code = "import os; os.umask(0o022); import controlplane.settings.dev as dev; print(dev.SECRET_KEY)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("more", [{}, {"SECRET_KEY": "x" * 60}])
def test_state_is_for_its_owner_alone(tmp_path: Path, more: dict[str, str]) -> None:
    load(tmp_path / "state", **more)
    assert mode(tmp_path / "state") == 0o700
    assert mode(tmp_path / "state" / "kilonova.sqlite3") == 0o600


def test_database_that_everybody_could_read_is_closed(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    for name in ("kilonova.sqlite3", "kilonova.sqlite3-wal"):
        (state / name).touch(0o644)
    load(state)
    assert {mode(state / name) for name in ("kilonova.sqlite3", "kilonova.sqlite3-wal")} == {0o640}


@pytest.mark.parametrize("left", ["", "half-a-key"])
def test_key_that_a_crash_left_unwritten_is_made_by_the_next_start(tmp_path: Path, left: str) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "secret-key").write_text(left)
    key = load(state)
    assert len(key) >= 50
    assert load(state) == key
