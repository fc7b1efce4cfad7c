"""The field's words: what Nova, Placement and common practice have a word for is called by it, and by nothing else.

`docs/glossary.md` says which words those are. A name is taken apart at underscores and capitals, so that a word is
found wherever it stands in a name.
"""

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.fixtures.source_trees import nodes_of, tree_of

ROOT = Path(__file__).resolve().parent.parent.parent
APPS = ("controlplane", "placement", "scheduling", "servers", "computeagent")

# A word of our own, and what the field says instead.
INSTEAD = {
    "bell": "wake-up, waiter",
    "bells": "wake-ups, waiters",
    "buried": "moved to cell0",
    "bury": "move to cell0",
    "chore": "periodic task",
    "chores": "periodic tasks",
    "courier": "sender",
    "crew": "threads",
    "cure": "heal",
    "cured": "healed",
    "cures": "heals",
    "doorbell": "wake-up",
    "doorbells": "wake-ups",
    "errand": "work context",
    "fate": "outcome",
    "fates": "outcomes",
    "nursery": "process manager",
    "patience": "retry",
    "pulse": "heartbeat",
    "roster": "host names",
    "rosters": "tables of host names",
    "rung": "sent, woken",
    "seat": "host ownership",
    "seats": "host ownership",
    "strange": "orphan",
    "wish": "request, constraint, query",
    "wishes": "requests, constraints",
}
# Common English words that must not name a thing, though sentences may have them.
INSTEAD_IN_NAMES = {
    "heard": "changes, cursor",
    "kept": "cache, stored, retained",
    "least": "min",
    "likeness": "symmetry",
    "most": "max",
    "news": "changes",
    "ring": "wake-up",
    "rings": "wake-ups",
    "solo": "named lease",
    "told": "emitted, recorded, reported",
}
# Names that the field itself gave, with the word in them.
FIELDS_OWN = {"disk_available_least", "disk_available_least_gib", "hw_virtio_packed_ring", "virtio_packed_ring"}

PRODUCT = sorted(
    path for app in APPS for path in (ROOT / app).rglob("*.py") if "migrations" not in path.relative_to(ROOT).parts
)
TEXTS = [
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "templates").rglob("*.html")),
    ROOT / "README.md",
]
_WORD = re.compile(r"\b(" + "|".join(INSTEAD) + r")\b", re.IGNORECASE)


def _parts(name: str) -> list[str]:
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def _names(path: Path) -> Iterator[tuple[int, str]]:
    """Names that this file gives: definitions, parameters, assigned names and attributes; and the module's own."""
    yield 0, path.stem
    for node in nodes_of(path):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.lineno, node.name
            case ast.arg():
                yield node.lineno, node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, node.attr


def test_names_are_the_fields() -> None:
    banned = INSTEAD | INSTEAD_IN_NAMES
    found = {
        f"{path.relative_to(ROOT)}:{line}: {name}: say {banned[part]}"
        for path in PRODUCT
        for line, name in _names(path)
        if name not in FIELDS_OWN
        for part in _parts(name)
        if part in banned
    }
    assert found == set()


def test_docstrings_comments_and_messages_say_the_fields_words() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{token.start[0]}: {word[0]}: say {INSTEAD[word[0].lower()]}"
        for path in PRODUCT
        if _WORD.search(path.read_text())  # few have one at all, and tokens take long
        for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
        if token.type in (tokenize.COMMENT, tokenize.STRING)
        for word in _WORD.finditer(token.string)
    ]
    assert found == []


def test_documents_and_pages_say_the_fields_words() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {word[0]}: say {INSTEAD[word[0].lower()]}"
        for path in TEXTS
        for word in _WORD.finditer(path.read_text())
        if path.name != "glossary.md"  # it names them, to say what is said instead
    ]
    assert found == []


def test_no_two_classes_have_one_name() -> None:
    places: dict[str, set[str]] = defaultdict(set)
    for path in PRODUCT:
        if "commands" in path.parts or path.name == "apps.py":
            continue
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].add(str(path.relative_to(ROOT)))
    assert {name: sorted(found) for name, found in places.items() if len(found) > 1} == {}
