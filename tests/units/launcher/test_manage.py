"""`manage.py` as a program."""

import subprocess
import sys
from pathlib import Path

MANAGE = Path(__file__).resolve().parents[3] / "manage.py"
SAYS = "import gc; print(gc.isenabled(), gc.get_freeze_count() > 100_000)"


def test_commands_run_with_the_collector_on_and_what_was_loaded_is_left_alone() -> None:
    command = [sys.executable, MANAGE, "shell", "-v0", "-c", SAYS]
    said = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (said.stdout.strip(), said.returncode) == ("True True", 0), said.stderr
