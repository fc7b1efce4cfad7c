"""Budgets as a ratchet: functions and files stay small, names say what is inside, plug-ins are tested."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.source_trees import nodes_of, tree_of

ROOT = Path(__file__).resolve().parent.parent.parent
APPS = ("controlplane", "placement", "scheduling", "servers", "computeagent")
FUNCTION_LINES = 60
FILE_LINES = 400
NAMES_THAT_SAY_NOTHING = {"utils", "util", "helpers", "helper", "common", "manager", "managers", "misc"}

# {path or "path:function": why it may be longer}. Entries may only go away.
EXCEPTIONS: dict[str, str] = {}

FILES = sorted(
    path for house in APPS for path in (ROOT / house).rglob("*.py") if "migrations" not in path.relative_to(ROOT).parts
)


def _long_functions(path: Path) -> Iterator[str]:
    name = path.relative_to(ROOT)
    for node in nodes_of(path):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        if lines > FUNCTION_LINES:
            yield f"{name}:{node.name}"


def test_functions_are_short() -> None:
    long = {each for path in FILES for each in _long_functions(path)}
    assert long - set(EXCEPTIONS) == set()


def test_files_are_short() -> None:
    long = {str(path.relative_to(ROOT)) for path in FILES if len(path.read_text().splitlines()) > FILE_LINES}
    assert long - set(EXCEPTIONS) == set()


def test_exceptions_are_still_needed() -> None:
    long = {each for path in FILES for each in _long_functions(path)}
    long |= {str(path.relative_to(ROOT)) for path in FILES if len(path.read_text().splitlines()) > FILE_LINES}
    assert set(EXCEPTIONS) <= long


def test_module_names_say_what_is_inside() -> None:
    vague = [
        str(path.relative_to(ROOT))
        for path in FILES
        if set(path.relative_to(ROOT).with_suffix("").parts) & NAMES_THAT_SAY_NOTHING
    ]
    assert vague == []


def _plug_ins() -> list[tuple[str, str]]:
    """(kind, class) of every public filter and weigher."""
    found = []
    for kind in ("filters", "weighers"):
        for path in sorted((ROOT / "scheduling" / kind).glob("*.py")):
            if path.stem in {"__init__", "base", "registry"}:
                continue
            classes = [node.name for node in tree_of(path).body if isinstance(node, ast.ClassDef)]
            found += [(kind, name) for name in classes if not name.startswith("_")]
    return found


@pytest.mark.parametrize(("kind", "name"), _plug_ins())
def test_filter_or_weigher_has_a_test_file(kind: str, name: str) -> None:
    files = (ROOT / "tests/units/scheduling" / kind).glob("test_*.py")
    assert any(name in path.read_text() for path in files)
