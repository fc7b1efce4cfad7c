"""What a service refuses with is a text that pages can say in the reader's language (docs/translations.md)."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.fixtures.source_trees import nodes_of

ROOT = Path(__file__).resolve().parents[2]
APPS = ("controlplane", "placement", "scheduling", "servers")
TO_PROGRAMS_ALONE = (
    "controlplane/launcher",
    "controlplane/openstack",
    "controlplane/settings",
    "controlplane/identity/api",
    "controlplane/identity/openstack",
    "controlplane/infra/api",
    "controlplane/notifications/api",
    "controlplane/dashboard/api_calls",
    "controlplane/dashboard/events",
    "placement/openstack",
    "scheduling/api",
    "servers/agent_api",
    "servers/agent_door",
    "servers/api",
    "servers/openstack",
)
"""Doors, agents and commands: nobody reads these on a page."""
MARKS = {"_", "gettext", "gettext_noop", "ngettext", "phrase", "Phrase", "sentences"}
LEFT = {"controlplane/dashboard/instances/console_views.py"}
"""It answers the script of a console, in plain text."""


def _modules() -> Iterator[tuple[str, tuple[ast.AST, ...]]]:
    """(name, nodes) of each."""
    for app in APPS:
        for path in sorted((ROOT / app).rglob("*.py")):
            name = str(path.relative_to(ROOT))
            if "/migrations/" not in name:
                yield name, nodes_of(path)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _refusals(modules: list[tuple[str, tuple[ast.AST, ...]]]) -> set[str]:
    """Names of the kernel's error and of all that are made of it."""
    bases = {
        node.name: {_name(base) for base in node.bases}
        for _, nodes in modules
        for node in nodes
        if isinstance(node, ast.ClassDef)
    }
    found = {"KilonovaError"}
    while more := {name for name, own in bases.items() if own & found} - found:
        found |= more
    return found


def _has_words(text: ast.AST) -> bool:
    pieces = text.values if isinstance(text, ast.JoinedStr) else [text]
    said = "".join(str(each.value) for each in pieces if isinstance(each, ast.Constant))
    return re.search("[a-z]{2}", said) is not None and " " in said.strip()


def _unmarked(node: ast.AST) -> Iterator[ast.AST]:
    """Texts of words in an expression that stand in no mark; what is put into a marked text may be any."""
    if isinstance(node, ast.Call) and _name(node.func) in MARKS:
        return
    if isinstance(node, ast.JoinedStr | ast.Constant):
        if _has_words(node):
            yield node
        return
    is_filled = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)
    for child in [node.left] if is_filled else ast.iter_child_nodes(node):
        yield from _unmarked(child)


def _said(call: ast.Call, function: ast.AST) -> Iterator[ast.AST]:
    """What a refusal is made of: its argument, and what its function puts into the name that it is."""
    yield call.args[0]
    name = _name(call.args[0])
    for node in ast.walk(function) if name else ():
        if isinstance(node, ast.Assign) and name in map(_name, node.targets):
            yield node.value


def test_refusals_can_be_said_in_the_readers_language() -> None:
    modules = list(_modules())
    refusals = _refusals(modules)
    wrong = [
        f"{name}:{text.lineno} {ast.unparse(text)[:80]}"
        for name, nodes in modules
        if not name.startswith(TO_PROGRAMS_ALONE) and name not in LEFT
        for function in nodes
        if isinstance(function, ast.FunctionDef)
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and call.args and _name(call.func) in refusals
        for said in _said(call, function)
        for text in _unmarked(said)
    ]
    assert not wrong, 'raise it as Conflict(_("Volume {volume} is busy.", volume=row)): docs/translations.md'


def test_marked_texts_are_whole_texts() -> None:
    """What is made before it is marked is found by nobody who translates."""
    wrong = [
        f"{name}:{call.lineno} {ast.unparse(call)[:80]}"
        for name, nodes in _modules()
        for call in nodes
        if isinstance(call, ast.Call)
        and _name(call.func) in {"_", "phrase"}
        and call.args
        and isinstance(call.args[0], ast.JoinedStr | ast.BinOp)
    ]
    assert not wrong
