"""Whose settings a command that names a state directory reads."""

import os
from pathlib import Path

import pytest

from manage import choose_state


@pytest.mark.parametrize(
    ("command", "directory", "is_chosen"),
    [
        ("up", "new", True),
        ("down", "there", True),
        ("down", "new", False),
        ("network_shell", "there", True),
        ("migrate", "there", False),
    ],
)
def test_state_that_a_command_names_is_known_before_settings_are_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str, directory: str, is_chosen: bool
) -> None:
    """Else `down` of somebody else's installation would make files in `./state`, or fail where that is not his."""
    (tmp_path / "there").mkdir()
    monkeypatch.setenv("KILONOVA_STATE", "before")
    choose_state(["manage.py", command, "--state", str(tmp_path / directory)])
    assert os.environ["KILONOVA_STATE"] == (str(tmp_path / directory) if is_chosen else "before")
