import sys
from pathlib import Path
from typing import Any

import pytest

from controlplane.kernel.errors import Invalid
from scheduling.domain.plugins.errors import PluginFailed, PluginNotFound
from scheduling.domain.policy import Policy
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.domain.trace.trace import Trace
from scheduling.engine import DEFAULT_POLICY, InventoryRow, ScheduleRequest, policy_from_dict, policy_to_dict
from scheduling.policies.check import policy_plugins_check, policy_problems
from scheduling.schedulers.registry import policy_plugins, scheduler_get, scheduler_names
from scheduling.schedulers.run import scheduler_run, view_age_allowed_s
from tests.units.scheduling.schedulers.sample_schedulers import answers
from tests.units.scheduling.worlds import flavor, host, policy, request, table

HERE = "tests.units.scheduling.schedulers.sample_schedulers"
FLEET = table(host("h0"), host("h1"), host("x-full", vcpu=InventoryRow(16, used=16)), host("z-far", cell_uuid="cell2"))


def run_by(name: str, asked: ScheduleRequest, **changes: Any) -> Trace:
    return scheduler_run(ScheduleCall(FLEET, asked, policy(scheduler=f"{HERE}.{name}", **changes), 1))


def test_scheduler_that_inherits_from_nothing_decides() -> None:
    assert answers(run_by("Alphabet", request(2))) == {"new-0": "h0", "new-1": "h1"}


def test_scheduler_that_bends_the_policy_decides_by_its_own_rules() -> None:
    fleet = table(host("down", up=False))
    named = policy("ComputeFilter", scheduler=f"{HERE}.NoFilters")
    assert answers(scheduler_run(ScheduleCall(fleet, request(), named, 1))) == {"new-0": "down"}
    assert policy_plugins(named).filters == ()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("UnknownHost", "not in the table"),
        ("UnknownNode", "not in the table"),
        ("OtherTable", "names other hosts"),
        ("TooMany", "4 hosts for 2 instances"),
        ("TooFew", "1 hosts for 2 instances"),
        ("Twice", "for an instance twice"),
        ("NotATrace", "a dict, not with a Trace"),
        ("Nothing", "a NoneType, not with a Trace"),
        ("Cheap", "would claim"),
        ("CheapOnOne", "would claim"),
        ("NotANumber", "out of range"),
        ("LimitsNoJson", "not JSON serializable"),
        ("RowsBeyond", "rows that are not in the table"),
        ("OtherSeed", "another question"),
        ("ContradictsItself", "says that there is none"),
        ("FarAlternate", "another cell"),
        ("Raising", "no such key"),
        ("Exiting", "SystemExit"),
        ("Recursing", "RecursionError"),
        ("Speechless", "cannot be shown"),
    ],
)
def test_scheduler_that_misbehaves_fails_the_request_with_its_name(name: str, words: str) -> None:
    with pytest.raises(PluginFailed, match=words) as caught:
        run_by(name, request(2))
    assert caught.value.extra["plugin"] == f"{HERE}.{name}"
    assert f"the scheduler {HERE}.{name}" in caught.value.message


def test_filter_that_fails_below_a_foreign_scheduler_is_named_itself() -> None:
    bad = "tests.units.scheduling.engine.sample_plugins.Raising"
    with pytest.raises(PluginFailed) as caught:
        scheduler_run(ScheduleCall(FLEET, request(), policy(bad, scheduler=f"{HERE}.TooMany"), 1))
    assert caught.value.extra["plugin"] == "Raising"


def test_request_that_contradicts_itself_is_no_fault_of_the_scheduler() -> None:
    asked = request(flavor=flavor(extra_specs={"resources:VCPU": "2", "hw:cpu_policy": "dedicated"}))
    with pytest.raises(Invalid) as caught:
        run_by("Alphabet", asked)
    assert not isinstance(caught.value, PluginFailed | PluginNotFound)


@pytest.mark.parametrize("name", ["NoSuch", f"{HERE}.NoSuch", "tests.no.such.module.Class"])
def test_scheduler_that_is_not_there_is_not_found(name: str) -> None:
    with pytest.raises(PluginNotFound, match="there is no scheduler"):
        scheduler_get(name)


@pytest.mark.parametrize("name", ["NoScheduler", "Exploding"])
def test_object_that_is_no_scheduler_is_refused(name: str) -> None:
    with pytest.raises(PluginFailed, match=name):
        scheduler_get(f"{HERE}.{name}")


def test_module_that_exits_when_imported_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    (tmp_path / "leaving.py").write_text("import sys\nsys.exit(4)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    settings.KILONOVA = {**settings.KILONOVA, "SCHEDULER_PLUGIN_MODULES": ("leaving",)}
    with pytest.raises(PluginFailed, match="cannot be loaded: SystemExit"):
        scheduler_get("leaving.Scheduler")


def test_rules_that_are_no_policy_are_refused() -> None:
    with pytest.raises(PluginFailed, match="no policy"):
        policy_plugins(policy(scheduler=f"{HERE}.WrongRules"))


def test_age_that_is_no_number_is_refused() -> None:
    with pytest.raises(PluginFailed, match="nan"):
        view_age_allowed_s(policy(scheduler=f"{HERE}.Unaged"))


def test_entry_point_of_an_installed_package_is_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "somebodys_schedulers.py").write_text(f"from {HERE} import Alphabet\n")
    info = tmp_path / "somebodys_schedulers-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: somebodys-schedulers\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[kilonova.schedulers]\nalphabet = somebodys_schedulers:Alphabet\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "alphabet" in scheduler_names()
    assert answers(scheduler_run(ScheduleCall(FLEET, request(), policy(scheduler="alphabet"), 1))) == {"new-0": "h0"}
    scheduler_get.cache_clear()
    sys.modules.pop("somebodys_schedulers")


def test_built_in_schedulers_are_listed() -> None:
    assert {"filter_scheduler", "chance_scheduler", "caching_scheduler"} <= set(scheduler_names())


def test_policy_keeps_its_scheduler_and_the_default_is_the_filter_scheduler() -> None:
    named = Policy(scheduler="chance_scheduler")
    assert policy_from_dict(policy_to_dict(named), version="defaults") == named
    assert policy_from_dict({}, version="v").scheduler == DEFAULT_POLICY.scheduler == "filter_scheduler"


@pytest.mark.parametrize(
    ("value", "code"), [("NoSuch", "plugin_not_found"), (f"{HERE}.Exploding", "plugin_failed"), (3, "wrong_type")]
)
def test_scheduler_that_cannot_be_had_is_a_problem_of_the_policy(value: object, code: str) -> None:
    (problem,) = policy_problems({"scheduler": value})
    assert (problem.field, problem.code) == ("scheduler", code)


def test_policy_with_an_unknown_scheduler_does_not_validate() -> None:
    with pytest.raises(PluginNotFound):
        policy_plugins_check(policy("ComputeFilter", scheduler="NoSuch"))
