"""`manage.py compute_agent` before it runs: no control plane, no secret, and no database whatever the settings say."""

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from computeagent.__main__ import main


@pytest.fixture(autouse=True)
def nothing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KILONOVA_URL", "KILONOVA_ENROL_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def test_without_a_control_plane_it_says_what_to_name() -> None:
    with pytest.raises(CommandError, match="--control-plane must say where the control plane is"):
        call_command("compute_agent", "--host", "cmp-7")


def test_environment_may_name_the_control_plane(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KILONOVA_URL", "http://127.0.0.1:1")
    with pytest.raises(CommandError, match="is not enrolled"):
        call_command("compute_agent", "--host", "cmp-7", "--state", str(tmp_path))


def test_agent_by_itself_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--host", "cmp-7"])
    assert "--control-plane must say where the control plane is" in capsys.readouterr().err


def test_address_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="is no address such as"):
        call_command("compute_agent", "--control-plane", "kilonova", "--state", str(tmp_path))
