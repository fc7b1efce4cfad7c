"""The examples that the documents tell of work, in both forms alike."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.hosts.host_rows import InventoryRow
from scheduling.domain.policy import PolicyOptions
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.filters.registry import filter_get
from scheduling.schedulers.registry import scheduler_get
from scheduling.schedulers.run import scheduler_run
from tests.units.scheduling.worlds import chosen, flavor, host, policy, refused, request, table

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
pytestmark = pytest.mark.usefixtures("allowed_by_path")
GET = {"kilonova.filters": filter_get, "kilonova.schedulers": scheduler_get}
SPARE = PolicyOptions(extra={"spare_memory_mib": 4096})


@pytest.fixture
def allowed_by_path(settings: Any) -> None:
    """The examples are not installed here, so that policies name them by dotted path."""
    names = tuple(path.parent.name for path in EXAMPLES.glob("*/pyproject.toml"))
    settings.KILONOVA = {**settings.KILONOVA, "SCHEDULER_PLUGIN_MODULES": names}


@pytest.mark.parametrize("form", ["SpareMemoryFilter", "SpareMemoryHostFilter"])
def test_spare_memory_refuses_the_host_that_would_keep_too_little(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES / "spare_memory"))
    fleet = table(host("exact", ram=InventoryRow(4608)), host("short", ram=InventoryRow(4607)))
    found = refused(filter_get(f"spare_memory.{form}"), fleet, request(flavor=flavor(memory_mib=512)), SPARE)
    assert set(found) == {"short"}
    refusal = found["short"]
    assert (refusal.reason, refusal.wanted, refusal.available) == (RefusalReason.RAM_SHORT, 4608, 4607)


@pytest.mark.parametrize("package", sorted(path.parent.name for path in EXAMPLES.glob("*/pyproject.toml")))
def test_entry_points_of_an_example_can_be_loaded(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES / package))
    declared = tomllib.loads((EXAMPLES / package / "pyproject.toml").read_text())["project"]["entry-points"]
    for group, names in declared.items():
        for target in names.values():
            module, _, class_name = target.partition(":")
            assert GET[group](f"{module}.{class_name}") is not None


def test_scheduler_that_packs_small_instances_spreads_large_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES / "pack_small"))
    fleet = table(host("empty"), host("fuller", ram=InventoryRow(32768, used=8192)))
    rules = policy(scheduler="pack_small.PackSmall", options=PolicyOptions(extra={"small_vcpus": 2}))
    assert chosen(scheduler_run(ScheduleCall(fleet, request(flavor=flavor(vcpus=2)), rules, 1))) == ["fuller"]
    assert chosen(scheduler_run(ScheduleCall(fleet, request(flavor=flavor(vcpus=4)), rules, 1))) == ["empty"]
