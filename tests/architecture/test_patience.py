"""Tests wait by `tests/fixtures/patience.py`: no bound, sleep or look at a clock of their own, but for those on a list.

A bound that is long enough where it was written fails on a slower machine, and a sleep stands for an event that it may
miss. What `impatience.toml` counts was there before, or measures what a bound or a pause does. It only shrinks.
"""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.fixtures.source_trees import parsed

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("impatience.toml")
BOUNDS = {"timeout", "timeout_s", "within_s", "limit_s"}
WAITS = {"wait", "join", "result"}
SLEEPS = {"sleep", "wait_for_timeout"}
CLOCKS = {"monotonic", "time", "perf_counter"}


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)


def _is_clock(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "time"
        and node.func.attr in CLOCKS
    )


def _impatient(tree: ast.AST) -> Iterator[int]:
    """Lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and any(_is_clock(one) for one in ast.walk(node)):
            yield node.lineno
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        is_bounded = any(each.arg in BOUNDS and _is_number(each.value) for each in node.keywords)
        is_wait = name in WAITS and any(_is_number(each) for each in node.args)
        if is_bounded or is_wait or name in SLEEPS:
            yield node.lineno


def found_in(path: Path) -> list[int]:
    """Lines of a file that wait in a way of their own."""
    return sorted(set(_impatient(parsed(path))))


def test_no_file_becomes_impatient() -> None:
    allowed: dict[str, int] = tomllib.loads(LIST.read_text())["lines"]
    found = {
        str(path.relative_to(ROOT)): lines
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if path.name != "patience.py" and (lines := found_in(path))
    }
    more = {name: lines for name, lines in found.items() if len(lines) > allowed.get(name, 0)}
    assert not more, "wait with `eventually` and PATIENCE_S of tests/fixtures/patience.py"
    fewer = {name: len(found.get(name, ())) for name, number in allowed.items() if len(found.get(name, ())) < number}
    assert not fewer, "lower these in impatience.toml, or take them out"


def test_each_way_of_waiting_is_seen() -> None:
    text = """
thread.join(5)
process.wait(10)
time.sleep(0.1)
page.wait_for_timeout(500)
subprocess.run(["x"], timeout=60)
assert time.monotonic() - began < 2
process.wait(PATIENCE_S)
eventually(lambda: done, "it ends")
"""
    assert sorted(_impatient(ast.parse(text))) == [2, 3, 4, 5, 6, 7]
