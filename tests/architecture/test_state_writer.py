"""States of instances are written in one module, where the tables of transitions are in force."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.fixtures.source_trees import nodes_of

ROOT = Path(__file__).resolve().parent.parent.parent
WRITER = "servers/instances/services/state.py"
STATES = {"vm_state", "task_state"}
SQL = re.compile(r"UPDATE servers_instance\s")


def _writes(path: Path) -> Iterator[int]:
    """Lines of `.update(vm_state=..)`, and of updates of the table in SQL."""
    for node in nodes_of(path):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "update":
            yield from (node.lineno for keyword in node.keywords if keyword.arg in STATES)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.search(node.value):
            yield node.lineno


def test_only_the_writer_of_states_writes_them() -> None:
    found = {
        str(path.relative_to(ROOT))
        for house in ("servers", "controlplane", "scheduling", "placement")
        for path in (ROOT / house).rglob("*.py")
        if "migrations" not in path.parts and any(_writes(path))
    }
    assert found == {WRITER}
