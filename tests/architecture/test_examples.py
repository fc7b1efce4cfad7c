"""The examples that the documents tell of work, in both forms alike."""

import tomllib
from pathlib import Path

import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.host_rows import InventoryRow
from scheduling.domain.policy import PolicyOptions
from scheduling.filters.registry import filter_get
from tests.units.scheduling.worlds import flavor, host, refused, request, table

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
SPARE = PolicyOptions(extra={"spare_memory_mib": 4096})


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
    for name, target in declared["kilonova.filters"].items():
        module, _, class_name = target.partition(":")
        assert class_name == name
        assert filter_get(f"{module}.{class_name}") is not None
