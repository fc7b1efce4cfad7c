import tomllib
from pathlib import Path

import pytest

from scheduling.filters.registry import BUILT_IN, ENTRY_POINTS, filter_get, filter_names

ROOT = Path(__file__).resolve().parents[4]
# Nova's own today, then those it has removed.
TODAY = {
    "AllHostsFilter", "AggregateImagePropertiesIsolation", "AggregateInstanceExtraSpecsFilter", "AggregateIoOpsFilter",
    "AggregateMultiTenancyIsolation", "AggregateNumInstancesFilter", "AggregateTypeAffinityFilter",
    "ComputeCapabilitiesFilter", "ComputeFilter", "DifferentHostFilter", "ImagePropertiesFilter", "IoOpsFilter",
    "IsolatedHostsFilter", "JsonFilter", "MetricsFilter", "NUMATopologyFilter",
    "NumInstancesFilter", "PciPassthroughFilter", "SameHostFilter",
    "ServerGroupAffinityFilter", "ServerGroupAntiAffinityFilter", "SimpleCIDRAffinityFilter",
}  # fmt: skip
REMOVED = {
    "AggregateCoreFilter", "AggregateDiskFilter", "AggregateRamFilter", "AvailabilityZoneFilter", "CoreFilter",
    "DiskFilter", "ExactCoreFilter", "ExactDiskFilter", "ExactRamFilter", "GroupAffinityFilter",
    "GroupAntiAffinityFilter", "RamFilter", "RetryFilter", "TrustedFilter", "TypeAffinityFilter",
}  # fmt: skip
ONCE = {
    "AllHostsFilter", "AggregateImagePropertiesIsolation", "AggregateInstanceExtraSpecsFilter",
    "AggregateMultiTenancyIsolation", "AggregateTypeAffinityFilter", "AvailabilityZoneFilter",
    "ComputeCapabilitiesFilter", "ComputeFilter", "DifferentHostFilter", "ImagePropertiesFilter",
    "IsolatedHostsFilter", "SameHostFilter", "SimpleCIDRAffinityFilter", "TrustedFilter",
}  # fmt: skip
ON_REBUILD = {"AggregateImagePropertiesIsolation", "ImagePropertiesFilter", "IsolatedHostsFilter"}


@pytest.mark.parametrize("name", sorted(TODAY | REMOVED))
def test_filter_is_there_by_novas_name(name: str) -> None:
    assert filter_get(name).name == name
    assert name in filter_names()


@pytest.mark.parametrize("name", sorted(TODAY | REMOVED))
def test_once_per_request_is_as_in_nova(name: str) -> None:
    assert filter_get(name).run_filter_once_per_request is (name in ONCE)


@pytest.mark.parametrize("name", sorted(TODAY | REMOVED))
def test_runs_on_rebuild_is_as_in_nova(name: str) -> None:
    assert filter_get(name).RUN_ON_REBUILD is (name in ON_REBUILD)


def test_entry_points_name_what_is_built_in() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = project["entry-points"][ENTRY_POINTS]
    assert declared == {name: f"{each.__module__}:{each.__name__}" for name, each in BUILT_IN.items()}
