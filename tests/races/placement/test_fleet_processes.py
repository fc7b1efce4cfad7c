"""What one process has committed, the next search of another one sees."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from tests.fixtures.migrated import race_environment
from tests.fixtures.patience import PATIENCE_S
from tests.fixtures.processes import ROOT

HERE = Path(__file__).parent

pytestmark = pytest.mark.processes


class FleetProcess:
    """A running `fleet_process.py`."""

    def __init__(self, url: str, state: Path) -> None:
        command = ["setpriv", "--pdeathsig", "KILL", sys.executable, str(HERE / "fleet_process.py")]
        self._process = subprocess.Popen(
            command,
            env=race_environment(url, state),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._answer() == "ready"

    def ask(self, *words: object) -> object:
        """Say a line, and hear the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def end(self) -> None:
        """Close its input and wait."""
        self._process.communicate(timeout=PATIENCE_S)

    def _answer(self) -> object:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the process has ended"
        return json.loads(line)


@pytest.fixture
def pair(either_database_url: str, tmp_path: Path) -> Iterator[tuple[FleetProcess, FleetProcess]]:
    """Two processes on one database."""
    one, other = (FleetProcess(either_database_url, tmp_path) for _ in range(2))
    yield one, other
    one.end()
    other.end()


def names(*hosts: UUID) -> list[str]:
    return sorted(map(str, hosts))


def test_next_search_of_another_process_sees_each_change(pair: tuple[FleetProcess, FleetProcess]) -> None:
    one, other = pair
    first, second = uuid4(), uuid4()
    assert other.ask("search", 4) == []

    one.ask("make", first, 8)
    assert other.ask("search", 4) == names(first)

    other.ask("make", second, 8)
    other.ask("claim", first, 6)
    assert one.ask("search", 4) == other.ask("search", 4) == names(second)

    one.ask("trait", second, "HW_CPU_X86_AVX")
    assert other.ask("having", 4, "HW_CPU_X86_AVX") == names(second)

    one.ask("drop", second)
    assert other.ask("search", 1) == one.ask("search", 1) == names(first)
