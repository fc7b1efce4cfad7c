"""Programs of the drill and of bench can be loaded: they run seldom, so what they use could go away unseen."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PROGRAMS = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for part in ("tests/drill", "bench")
    for path in (ROOT / part).rglob("*.py")
    if not path.stem.startswith(("test_", "__", "conftest"))
)


def test_programs_are_found() -> None:
    assert {"tests.drill.agent", "bench.agents"} <= set(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_can_be_loaded(name: str) -> None:
    importlib.import_module(name)
