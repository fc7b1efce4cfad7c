import sys
from pathlib import Path

import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.plugins.errors import PluginFailed, PluginNotFound
from scheduling.engine import trace_to_dict, validate_policy
from scheduling.filters.registry import filter_get, filter_names
from scheduling.weighers.registry import weigher_get, weigher_names
from tests.units.scheduling.worlds import chosen, host, policy, request, run, table, trace_reasons

HERE = "tests.units.scheduling.engine.sample_plugins"
FLEET = table(*(host(f"h{at}", stats={"a": 1}) for at in range(6)))


def test_per_host_filter_by_dotted_path_refuses_with_its_name() -> None:
    trace = run(FLEET, request(), policy(f"{HERE}.OnlyEven"))
    assert trace_reasons(trace) == dict.fromkeys(("h1", "h3", "h5"), RefusalReason.PLUGIN_REFUSED)
    refusal = trace.refusal_of(1)
    assert refusal is not None
    assert (refusal.detail, refusal.stage) == ("OnlyEven", "OnlyEven")


def test_filter_that_inherits_from_nothing_works() -> None:
    trace = run(FLEET, request(2), policy(f"{HERE}.Unrelated"))
    assert set(trace_reasons(trace)) == {"h0"}
    assert "Unrelated" not in [stage.name for stage in trace.rounds[1].stages]


def test_plugin_may_answer_with_numbers() -> None:
    refusal = run(FLEET, request(), policy(f"{HERE}.WithNumbers")).refusal_of(3)
    assert refusal is not None
    assert (refusal.available, refusal.stage) == (2, "WithNumbers")


@pytest.mark.parametrize("name", ["Raising", "Babbling"])
def test_filter_that_misbehaves_fails_the_request_with_its_name(name: str) -> None:
    with pytest.raises(PluginFailed, match=name) as caught:
        run(FLEET, request(), policy(f"{HERE}.{name}"))
    assert (caught.value.extra["plugin"], caught.value.extra["host"]) == (name, "h0")


@pytest.mark.parametrize("name", ["NotANumber", "WrongLength", "RaisingWeigher"])
def test_weigher_that_misbehaves_fails_the_request_with_its_name(name: str) -> None:
    with pytest.raises(PluginFailed, match=name) as caught:
        run(FLEET, request(), policy(weighers={f"{HERE}.{name}": None}))
    assert caught.value.extra["plugin"] == name


def test_plugin_that_scribbles_changes_nothing() -> None:
    weighers = {"RAMWeigher": 1.0}
    plain = run(FLEET, request(2), policy(weighers=weighers))
    scribbled = run(FLEET, request(2), policy(f"{HERE}.Scribbling", weighers=weighers))
    assert trace_to_dict(plain)["selections"] == trace_to_dict(scribbled)["selections"]
    assert FLEET.stats[0] == {"a": 1}


@pytest.mark.parametrize(
    ("name", "multiplier", "winner", "score"),
    [
        ("ByName", None, "h5", 1.0),
        ("ByNameDoubled", None, "h5", 2.0),
        ("ByNameDoubled", -1.0, "h0", 0.0),
        ("Stranger", None, "h0", 0.0),
    ],
)
def test_per_host_weigher_is_scaled_and_multiplied(
    name: str, multiplier: float | None, winner: str, score: float
) -> None:
    trace = run(FLEET, request(), policy(weighers={f"{HERE}.{name}": multiplier}))
    assert (chosen(trace), trace.selections[0].selected.score) == ([winner], score)


def test_bounds_of_a_foreign_weigher_clamp() -> None:
    ranking = run(FLEET, request(), policy(weighers={f"{HERE}.Stranger": 1.0})).rounds[0].ranking
    assert ranking is not None
    assert ranking.scores.tolist() == [0, 0.25, 0.5, 0.75, 1, 1]


@pytest.mark.parametrize("name", ["Nothing", "no.such.module.Class", f"{HERE}.Nothing"])
def test_unknown_name_is_not_found(name: str) -> None:
    with pytest.raises(PluginNotFound, match=name):
        filter_get(name)
    with pytest.raises(PluginNotFound, match=name):
        weigher_get(name)


@pytest.mark.parametrize("name", ["NeitherNor", "Unmakeable", "HERE"])
def test_object_that_is_no_plugin_is_refused(name: str) -> None:
    path = f"{HERE}.{name}" if name != "HERE" else "tests.units.scheduling.engine.test_plugins.HERE"
    with pytest.raises(PluginFailed):
        filter_get(path)


def test_policy_with_an_unknown_weigher_does_not_validate() -> None:
    with pytest.raises(PluginNotFound):
        validate_policy(policy("ComputeFilter", weighers={"NoWeigher": 1.0}))


def test_built_in_names_are_listed() -> None:
    assert "ComputeFilter" in filter_names()
    assert "RAMWeigher" in weigher_names()


def test_entry_point_of_an_installed_package_is_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "somebodys_filters.py").write_text(
        "class Picky:\n    def host_passes(self, host_state, spec_obj):\n        return host_state.host == 'h4'\n"
    )
    info = tmp_path / "somebodys_filters-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: somebodys-filters\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[kilonova.filters]\nPickyFilter = somebodys_filters:Picky\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert chosen(run(FLEET, request(), policy("PickyFilter"))) == ["h4"]
    filter_get.cache_clear()
    sys.modules.pop("somebodys_filters")
