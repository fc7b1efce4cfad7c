"""The other process: Nova's scheduler, asked for a few calls at a time."""

import json
import subprocess
from pathlib import Path
from types import TracebackType

SIDE = Path(__file__).with_name("nova_side.py")


class NovaPeer:
    """A process of Nova's. Errors of its own go to the standard error."""

    def __init__(self, python: str, bench_dir: str) -> None:
        command = [python, str(SIDE), bench_dir]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> "NovaPeer":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.communicate()

    def cpu_ms(self, hosts: int, config: str, request: str, case: str, seconds: float) -> list[float]:
        """CPU milliseconds of each of some calls, about `seconds` long altogether. The first prepares the fleet."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"hosts": hosts, "config": config, "request": request, "case": case, "seconds": seconds}
        print(json.dumps(asked), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit("Nova's side ended; what it said is above")
        spent: list[float] = json.loads(answer)
        return spent
