"""Programs, run where the hypervisor's networks are."""

import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from computeagent.networks.base import NetworkError
from computeagent.networks.places.commands import environment
from computeagent.protocol.networks import NetworkProblem

LIMIT_S = 60.0
NAMESPACES = "/run/netns"
_FAILED = re.compile(r"Command failed -:(\d+)")


@dataclass(frozen=True, slots=True)
class BatchLine:
    """A line for `ip -batch`, and what it is for: `kind` and `id` of the problem that there is if it fails."""

    text: str
    kind: str = "host"
    id: str = ""


class Commands:
    """Behind a prefix; `namespace`: in this named network namespace there."""

    def __init__(self, prefix: Sequence[str], namespace: str = "") -> None:
        self._outer = tuple(prefix)
        self.prefix = (*prefix, "nsenter", f"--net={NAMESPACES}/{namespace}") if namespace else self._outer
        self._ip = ("ip", "-netns", namespace) if namespace else ("ip",)

    def inside(self, namespace: str) -> "Commands":
        """The same in a named network namespace."""
        return Commands(self._outer, namespace)

    def run(self, command: Sequence[str], given: str = "") -> str:
        """What the command wrote, with `given` as its input. Raises NetworkError with what it said was wrong."""
        done = self._run((*self.prefix, *command), given)
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip() or f"status {done.returncode}").splitlines()
            raise NetworkError(f"{' '.join(command)[:200]}: {'; '.join(said)[:500]}")
        return done.stdout

    def ip_json(self, *arguments: str) -> list[dict[str, Any]]:
        """What `ip` shows. Raises NetworkError."""
        done = self._run((*self._outer, *self._ip, "-json", *arguments), "")
        if done.returncode:
            raise NetworkError(f"ip {' '.join(arguments)}: {done.stderr.strip()[:500]}")
        # Things that do not match a filter are shown as empty objects.
        return [each for each in json.loads(done.stdout or "[]") if each]

    def bridge_json(self, *arguments: str) -> list[dict[str, Any]]:
        """What `bridge` shows. Raises NetworkError."""
        return list(json.loads(self.run(("bridge", "-json", *arguments)) or "[]"))

    def ip_batch(self, lines: Sequence[BatchLine], program: str = "ip") -> list[NetworkProblem]:
        """Run each line, whichever fail. Raises NetworkError where the program itself cannot be run."""
        if not lines:
            return []
        first = self._ip if program == "ip" else (program,)
        given = "".join(f"{line.text}\n" for line in lines)
        done = self._run((*self._outer, *first, "-force", "-batch", "-"), given)
        problems, said = [], ""
        for error in done.stderr.splitlines():
            failed = _FAILED.search(error)
            if failed is None:
                said = error
                continue
            line = lines[int(failed[1]) - 1]
            problems.append(NetworkProblem(line.kind, line.id, f"{program} {line.text}: {said}"))
            said = ""
        if done.returncode and not problems:
            raise NetworkError(f"{program}: {done.stderr.strip()[:500]}")
        return problems

    def start(self, command: Sequence[str]) -> None:
        """Run it aside; it ends by itself, and nobody asks how."""
        subprocess.Popen(
            (*self.prefix, *command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(),
            start_new_session=True,
        )

    def _run(self, command: Sequence[str], given: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                command,
                input=given,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=LIMIT_S,
                env=environment(),
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NetworkError(f"{command[0]} cannot be run: {error}") from error
