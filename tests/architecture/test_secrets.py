"""What is encrypted or signed with SECRET_KEY: every column of it is known, and nothing derives a key by itself."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

from controlplane.infra.secret_columns import secret_columns
from tests.fixtures.source_trees import nodes_of

ROOT = Path(__file__).resolve().parent.parent.parent
HOUSES = ("controlplane", "placement", "scheduling", "servers", "computeagent")
ENCRYPTION = "controlplane/infra/secret_encryption.py"
KEYS = "controlplane/infra/secret_keys.py"
SIGNING = "controlplane/infra/signing.py"
CALLS = {"secret_encrypt", "secret_decrypt", "secret_renew"}


def _modules() -> Iterator[tuple[str, tuple[ast.AST, ...]]]:
    """(name, nodes) of each."""
    for house in HOUSES:
        for path in (ROOT / house).rglob("*.py"):
            yield str(path.relative_to(ROOT)), nodes_of(path)


def _purposes() -> Iterator[tuple[str, object]]:
    """(module, purpose) of each call; of one whose purpose cannot be read here, None."""
    for name, nodes in _modules():
        if name in (ENCRYPTION, "controlplane/infra/secret_columns.py"):
            continue
        for node in nodes:
            if not isinstance(node, ast.Call) or ast.unparse(node.func).rpartition(".")[2] not in CALLS:
                continue
            given = [one.value for one in node.keywords if one.arg == "purpose"]
            if not given and name.startswith("controlplane/notifications/"):
                continue  # by the app's own pair of functions, which name its purpose
            variable = given[0].id if given and isinstance(given[0], ast.Name) else ""
            module = importlib.import_module(name.removesuffix(".py").replace("/", "."))
            yield name, getattr(module, variable, None)


def test_whatever_is_encrypted_is_in_a_column_that_can_be_encrypted_anew() -> None:
    found = set(_purposes())
    assert not {module for module, purpose in found if not isinstance(purpose, bytes)}
    assert {purpose for _, purpose in found} == {one.purpose for one in secret_columns()}


def test_registered_columns_exist_and_have_names_of_their_own() -> None:
    columns = secret_columns()
    for one in columns:
        assert one.model._meta.get_field(one.field)
        assert one.named_by == "pk" or one.model._meta.get_field(one.named_by)
    assert len({one.kind for one in columns}) == len({(one.model, one.field) for one in columns}) == len(columns)


def test_only_what_counts_all_keys_reads_them() -> None:
    """Whoever reads `settings.SECRET_KEY`, or lets Django do it for a hash, forgets the fallbacks."""
    readers, hashers = set(), set()
    for name, nodes in _modules():
        for node in nodes:
            if isinstance(node, ast.Attribute) and node.attr == "SECRET_KEY":
                readers.add(name)
            elif isinstance(node, ast.ImportFrom) and "salted_hmac" in {one.name for one in node.names}:
                hashers.add(name)
    assert readers == {KEYS, SIGNING, "controlplane/settings/sources.py"}
    assert hashers == {KEYS}


def test_only_one_module_encrypts() -> None:
    found = {
        name
        for name, nodes in _modules()
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module == "cryptography.fernet"
    }
    assert found == {ENCRYPTION}
