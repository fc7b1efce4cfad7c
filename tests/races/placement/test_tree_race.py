"""Real processes move providers about at random: no loop, and everybody's root is where the parents lead."""

from pathlib import Path

import pytest

from tests.fixtures.races import race_run

HERE = Path(__file__).parent
TIMEOUT_S = 500
RACERS, PROVIDERS, MOVES = 6, 5, 15

Trees = dict[str, tuple[str | None, str]]

pytestmark = [pytest.mark.processes, pytest.mark.long]


def raced(url: str, state: Path) -> tuple[dict[str, int], Trees]:
    """What the racers met, and the trees that are left."""
    program, words = HERE / "tree_race.py", (RACERS, PROVIDERS, MOVES)
    result = race_run(program, *words, url=url, state=state, timeout_s=TIMEOUT_S)
    return result["counts"], {uuid: (parent, root) for uuid, (parent, root) in result["trees"].items()}


def root_by_parents(trees: Trees, uuid: str) -> str:
    """Where the parents lead; fails when they lead in a circle."""
    seen = [uuid]
    while (parent := trees[seen[-1]][0]) is not None:
        assert parent not in seen, f"a loop: {seen}"
        seen.append(parent)
    return seen[-1]


def test_moves_side_by_side_close_no_loop(either_database_url: str, tmp_path: Path) -> None:
    counts, trees = raced(either_database_url, tmp_path)
    assert sum(counts.values()) == RACERS * MOVES
    assert counts["loop"] > 0
    assert {uuid: root for uuid, (_, root) in trees.items()} == {uuid: root_by_parents(trees, uuid) for uuid in trees}
