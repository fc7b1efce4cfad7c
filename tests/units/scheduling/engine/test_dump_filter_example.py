import logging
from pathlib import Path
from typing import Any

import pytest

from tests.units.scheduling.worlds import chosen, flavor, host, policy, request, run, table

EXAMPLE = Path(__file__).parents[4] / "examples" / "dump_filter"


def test_example_filter_logs_the_host_state_and_the_request(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, settings: Any
) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "SCHEDULER_PLUGIN_MODULES": ("dump_filter",)}
    monkeypatch.syspath_prepend(str(EXAMPLE))
    between = policy("RetryFilter", "dump_filter.DumpFilter", "AvailabilityZoneFilter")
    caplog.set_level(logging.INFO, logger="dump_filter")
    trace = run(table(host("a")), request(flavor=flavor(memory_mib=512, vcpus=3)), between)
    assert chosen(trace) == ["a"]
    assert [stage.name for stage in trace.rounds[0].stages][-3:] == [
        "RetryFilter",
        "DumpFilter",
        "AvailabilityZoneFilter",
    ]
    assert "request wants memory_mb=512 vcpus=3" in caplog.text
    assert "a: free_ram_mb = 32768" in caplog.text
