"""Each setting stands once: declared in a conf module, read through it alone, written in the document, used."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from controlplane.kernel.settings import Setting, settings_of
from controlplane.settings import env
from controlplane.settings.installation import InstallationOptions

ROOT = Path(__file__).resolve().parent.parent.parent
APPS = ("controlplane", "placement", "scheduling", "servers", "computeagent")
CODE = {
    path.relative_to(ROOT): path.read_text()
    for app in APPS
    for path in (ROOT / app).rglob("*.py")
    if "migrations" not in path.relative_to(ROOT).parts
}
SETTINGS = Path("controlplane/settings")
ONLY_READER = Path("controlplane/infra/conf.py")
DECLARED: list[tuple[type, str, Setting]] = [
    (options, field, one) for options in env.ALL_OPTIONS for field, one in settings_of(options).items()
]


@cache
def _attributes(text: str) -> set[str]:
    return {node.attr for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)}


def test_settings_of_ours_are_read_through_conf_modules_alone() -> None:
    readers = {
        path
        for path, text in CODE.items()
        if SETTINGS not in path.parents and "KILONOVA" in text and "KILONOVA" in _attributes(text)
    }
    assert readers == {ONLY_READER}


def test_every_options_class_is_listed_for_the_settings() -> None:
    declaring = {path for path, text in CODE.items() if "= setting(" in text and "def setting(" not in text}
    listed = {Path(*options.__module__.split(".")).with_suffix(".py") for options in env.ALL_OPTIONS}
    assert declaring == listed


def test_no_two_settings_share_a_name() -> None:
    assert [name for name, times in Counter(one.name for _, _, one in DECLARED).items() if times > 1] == []


@pytest.mark.parametrize("name", [one.name for _, _, one in DECLARED])
def test_setting_is_in_the_document(name: str) -> None:
    assert f"\n| `{name}` | " in (ROOT / "docs/settings.md").read_text()


@pytest.mark.parametrize(("options", "field"), [(options, field) for options, field, _ in DECLARED], ids=str)
def test_setting_is_used(options: type, field: str) -> None:
    """Some module that has the options in hand, by their class or by the function beside it, reads the field.

    Settings modules call the ones that Django is configured by `installation`, and read others by name.
    """
    declaring = CODE[Path(*options.__module__.split(".")).with_suffix(".py")]
    functions = {node.name for node in ast.parse(declaring).body if isinstance(node, ast.FunctionDef)}
    names = {options.__name__, *(name for name in functions if name.endswith("_options"))}
    if options is InstallationOptions:
        names = {"installation"}
    readers = [
        path for path, text in CODE.items() if any(name in text for name in names) and field in _attributes(text)
    ]
    assert readers or f'KILONOVA["{field.upper()}"]' in CODE[SETTINGS / "base.py"], f"nobody reads {field}"


@pytest.mark.parametrize("declared", [one for _, _, one in DECLARED], ids=lambda one: one.name)
def test_default_keeps_its_own_bounds(declared: Setting) -> None:
    assert declared.out_of_bounds(declared.default) == ""
    assert declared.problem(declared.default) == ""
