"""Real processes move providers about at random: no loop, and everybody's root is where the parents lead."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent.parent
TIMEOUT_S = 240
RACERS, PROVIDERS, MOVES = 6, 5, 40

Trees = dict[str, tuple[str | None, str]]

pytestmark = pytest.mark.processes


@pytest.fixture(params=[pytest.param("postgres", marks=pytest.mark.postgres), "sqlite"])
def database_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """An empty database."""
    if request.param == "sqlite":
        yield request.getfixturevalue("sqlite_file_url")
        return
    server = request.getfixturevalue("postgres_server")
    url = server.create_database()
    yield url
    server.drop_database(url)


def raced(url: str, state: Path) -> tuple[dict[str, int], Trees]:
    """What the racers met, and the trees that are left."""
    env = {
        **os.environ,
        "DATABASE_URL": url,
        "DJANGO_SETTINGS_MODULE": "controlplane.settings.dev",
        "SECRET_KEY": "only-for-tests-" + "x" * 50,
        "KILONOVA_STATE": str(state),
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, str(HERE / "tree_race.py"), *map(str, (RACERS, PROVIDERS, MOVES))]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    return result["counts"], {uuid: (parent, root) for uuid, (parent, root) in result["trees"].items()}


def root_by_parents(trees: Trees, uuid: str) -> str:
    """Where the parents lead; fails when they lead in a circle."""
    seen = [uuid]
    while (parent := trees[seen[-1]][0]) is not None:
        assert parent not in seen, f"a loop: {seen}"
        seen.append(parent)
    return seen[-1]


def test_moves_side_by_side_close_no_loop(database_url: str, tmp_path: Path) -> None:
    counts, trees = raced(database_url, tmp_path)
    assert sum(counts.values()) == RACERS * MOVES
    assert counts["loop"] > 0
    assert {uuid: root for uuid, (_, root) in trees.items()} == {uuid: root_by_parents(trees, uuid) for uuid in trees}
