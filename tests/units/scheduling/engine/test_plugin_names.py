"""A policy comes through the API: its names must not import or call what is no plug-in."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scheduling.domain.plugins.errors import PluginFailed, PluginNotAllowed
from scheduling.filters.registry import filter_get
from scheduling.schedulers.registry import scheduler_get
from scheduling.weighers.registry import weigher_get
from tests.units.scheduling.engine import calls_recorded

GETTERS = [filter_get, weigher_get, scheduler_get]
HERE = "tests.units.scheduling.engine.calls_recorded"


@pytest.fixture
def unimported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module that leaves a mark when it is imported."""
    (tmp_path / "marking.py").write_text(
        f"open({str(tmp_path / 'mark')!r}, 'w').close()\n"
        "class Passing:\n    def host_passes(self, host_state, spec_obj):\n        return True\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "marking", raising=False)
    return tmp_path / "mark"


@pytest.mark.parametrize("get", GETTERS)
@pytest.mark.parametrize("name", ["function", "NoPlugin", "instance"])
def test_what_is_no_class_of_the_kind_is_not_called(get: Callable[[str], object], name: str) -> None:
    calls_recorded.CALLS.clear()
    with pytest.raises(PluginFailed, match=rf"{name} is (not a class|no (filter|weigher|scheduler))"):
        get(f"{HERE}.{name}")
    assert calls_recorded.CALLS == []


@pytest.mark.parametrize("get", GETTERS)
@pytest.mark.parametrize("name", ["os.getcwd", "marking.Passing", "testsuite.Passing"])
def test_module_that_nobody_allowed_is_not_imported(get: Callable[[str], object], name: str, unimported: Path) -> None:
    with pytest.raises(
        PluginNotAllowed, match=r"SCHEDULER_PLUGIN_MODULES does not allow \(it allows: tests\)"
    ) as caught:
        get(name)
    assert not unimported.exists()
    assert (caught.value.extra["plugin"], caught.value.extra["setting"]) == (name, "SCHEDULER_PLUGIN_MODULES")


def test_module_that_the_operator_allows_is_imported(unimported: Path, settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "SCHEDULER_PLUGIN_MODULES": ("marking",)}
    assert filter_get("marking.Passing").name == "Passing"
    assert unimported.exists()
    filter_get.cache_clear()


def test_our_own_are_had_by_path_without_the_setting(settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "SCHEDULER_PLUGIN_MODULES": ()}
    name = type(filter_get("RamFilter")).__module__ + ".RamFilter"
    assert filter_get(name).name == "RamFilter"
    with pytest.raises(PluginNotAllowed, match="it allows: none"):
        filter_get(f"{HERE}.function")
