"""Each bench can be imported: no test runs them, so a name that moved away would show only when somebody does."""

import importlib
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
# Runs in an environment that has Nova.
ELSEWHERE = {"nova_side"}
MODULES = sorted(
    ".".join(path.relative_to(BENCH.parent).with_suffix("").parts)
    for path in BENCH.rglob("*.py")
    if path.stem not in ELSEWHERE and not path.stem.startswith("__")
)


@pytest.mark.parametrize("module", MODULES)
def test_bench_is_importable(module: str) -> None:
    assert importlib.import_module(module)
