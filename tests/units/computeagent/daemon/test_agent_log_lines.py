"""What an agent writes to standard error: as the control plane does, by the same settings."""

import json
import os
import subprocess
import sys

HOSTILE = "vm\nERROR root [req-1] all is lost\x1b[2J"
PROGRAM = f"""
import logging
from computeagent.daemon.log_lines import log_to_stderr
from controlplane.kernel.log_context import log_scope
from controlplane.kernel.request_scope import request_id_scope
log_to_stderr()
with request_id_scope("req-7"), log_scope(work_id="w-1", instance="i-1"):
    logging.getLogger("agent").info("built %s", {HOSTILE!r})
"""


def written(**env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM]
    return subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=False)


def test_log_format_json_is_obeyed() -> None:
    (line,) = written(LOG_FORMAT="json").stderr.splitlines()
    found = json.loads(line)
    assert (found["message"], found["request_id"], found["work_id"], found["instance"]) == (
        f"built {HOSTILE}", "req-7", "w-1", "i-1",
    )  # fmt: skip


def test_lines_cannot_be_forged() -> None:
    (line,) = written(LOG_FORMAT="").stderr.splitlines()
    assert line.endswith(r"INFO agent [req-7] built vm\nERROR root [req-1] all is lost\x1b[2J")


def test_unknown_format_is_refused_by_its_name() -> None:
    done = written(LOG_FORMAT="xml")
    assert done.returncode == 1
    assert "LOG_FORMAT must be one of line, json, not 'xml'" in done.stderr
