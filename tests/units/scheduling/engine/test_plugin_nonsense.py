import pytest

from scheduling.domain.plugins.errors import PluginFailed
from scheduling.filters.registry import filter_get
from scheduling.weighers.registry import weigher_get
from tests.units.scheduling.worlds import host, policy, request, run, table

HERE = "tests.units.scheduling.engine.nonsense_plugins"
FLEET = table(*(host(f"h{at}") for at in range(4)))

FILTERS = [
    ("ExitingHostFilter", "SystemExit"),
    ("RecursingHostFilter", "RecursionError"),
    ("ShutdownHostFilter", "Shutdown"),
    ("MuteHostFilter", "cannot be shown"),
    ("NoneHostFilter", "true or false expected"),
    ("ExitingFilter", "SystemExit"),
    ("RecursingFilter", "RecursionError"),
    ("NumbersForTruth", "true or false expected"),
    ("ShortMask", "true or false expected"),
    ("NotAList", "a list of refusal groups expected"),
    ("NothingAtAll", "a list of refusal groups expected"),
    ("RowsBeyond", "no row of the table"),
    ("RowsBackwards", "no row of the table"),
    ("RowsOfText", "no row of the table"),
    ("RowTwice", "refused a host twice"),
    ("NanAvailable", "not a finite one"),
    ("ShortAvailable", "gave no number"),
]
WEIGHERS = [
    ("ExitingHostWeigher", "SystemExit"),
    ("RecursingHostWeigher", "RecursionError"),
    ("ExitingWeigher", "SystemExit"),
    ("AList", "no finite number"),
    ("Words", "no finite number"),
    ("Infinite", "no finite number"),
    ("TwoDimensions", "no finite number"),
    ("NanMultiplier", "no finite multiplier"),
    ("ShortMultiplier", "no finite multiplier"),
    ("NoMultiplier", "the multiplier None"),
    ("BoundlessMinimum", "minval or maxval"),
    ("OnePart", "TypeError"),
]


@pytest.mark.parametrize(("name", "words"), FILTERS)
def test_filter_that_answers_nonsense_fails_the_request_with_its_name(name: str, words: str) -> None:
    with pytest.raises(PluginFailed, match=words) as caught:
        run(FLEET, request(), policy(f"{HERE}.{name}"))
    assert caught.value.extra["plugin"] == name
    assert f"the filter {name}" in caught.value.message


@pytest.mark.parametrize(("name", "words"), WEIGHERS)
def test_weigher_that_answers_nonsense_fails_the_request_with_its_name(name: str, words: str) -> None:
    with pytest.raises(PluginFailed, match=words) as caught:
        run(FLEET, request(), policy(weighers={f"{HERE}.{name}": None}))
    assert caught.value.extra["plugin"] == name
    assert f"the weigher {name}" in caught.value.message


@pytest.mark.parametrize("get", [filter_get, weigher_get])
def test_module_that_exits_when_imported_is_refused_by_name(get, tmp_path, monkeypatch, settings) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "SCHEDULER_PLUGIN_MODULES": ("goodbye",)}
    (tmp_path / "goodbye.py").write_text("raise SystemExit(2)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(PluginFailed, match="cannot be loaded: SystemExit") as caught:
        get("goodbye.Thing")
    assert caught.value.extra["plugin"] == "goodbye.Thing"
