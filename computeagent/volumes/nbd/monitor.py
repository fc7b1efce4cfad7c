"""What is said to a storage daemon: QEMU's monitor protocol, a line of JSON for each command and each answer.

Source: https://www.qemu.org/docs/master/interop/qmp-spec.html
"""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedRWPair
from pathlib import Path
from typing import Any

from computeagent.volumes.away import says_away
from computeagent.volumes.base import VolumeBackendError

ANSWER_S = 30.0


class CommandRefused(VolumeBackendError):
    """The daemon understood, and did not do it."""


class Monitor:
    """One connection. The daemon serves one at a time, so it is opened for a few commands and closed."""

    def __init__(self, file: BufferedRWPair) -> None:
        self._file = file
        self._answer()  # its greeting
        self.run("qmp_capabilities")

    def run(self, command: str, **arguments: Any) -> Any:
        """What it returned. Names of arguments have `_` for `-`. Raises CommandRefused, VolumeBackendError."""
        spelled = {name.replace("_", "-"): value for name, value in arguments.items()}
        self._file.write(json.dumps({"execute": command, "arguments": spelled}).encode() + b"\n")
        self._file.flush()
        answer = self._answer()
        if "error" in answer:
            said = f"{command}: {answer['error'].get('desc', answer['error'])}"
            raise CommandRefused(said, is_away=says_away(said))
        return answer["return"]

    def _answer(self) -> dict[str, Any]:
        while line := self._file.readline():
            answer: dict[str, Any] = json.loads(line)
            if "event" not in answer:
                return answer
        raise VolumeBackendError("the storage daemon hung up")


@contextmanager
def monitor(path: Path) -> Iterator[Monitor]:
    """A connection to the daemon that listens there. Raises VolumeBackendError where none answers in time."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(ANSWER_S)
        try:
            connection.connect(str(path))
            with connection.makefile("rwb") as file:
                yield Monitor(file)
        except (OSError, ValueError) as error:
            raise VolumeBackendError(f"the storage daemon of {path} does not answer: {error}") from error
