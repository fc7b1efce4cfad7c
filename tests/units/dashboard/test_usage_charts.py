"""Charts of what a guest uses: points, scales, gaps, words."""

import pytest

from controlplane.dashboard.instances.usage_charts import axis_labels, kib_text, rate_text, usage_charts
from servers.instances.domain.guest_samples import GuestRates
from servers.instances.selectors.guest_counters import CountersOfGuest, CountersSpan


def rate(at_s: int, **values: float) -> GuestRates:
    none = dict.fromkeys(
        ("cpu_percent", "memory_used_kib", "disk_read_rate", "disk_write_rate", "rx_rate", "tx_rate"), 0.0
    )
    return GuestRates(at_s=at_s, **{**none, **values})  # type: ignore[arg-type]


def hour(*rates: GuestRates) -> CountersOfGuest:
    return CountersOfGuest(CountersSpan.HOUR, 0, 3600, 60, (), rates)


def test_nothing_counted_is_nothing_drawn() -> None:
    assert usage_charts(hour(), memory_mib=512) == []


def test_cpu_goes_to_the_top_at_100_percent() -> None:
    cpu, *_ = usage_charts(hour(rate(1860, cpu_percent=50.0), rate(3600, cpu_percent=100.0)), memory_mib=512)
    (series,) = cpu.series
    assert series.lines == ("300.0,50.0 310.0,50.0", "590.0,0.0 600.0,0.0")
    assert (series.now, series.peak, cpu.top) == ("100 %", "100 %", "100 %")


def test_samples_in_step_are_one_line_and_a_gap_begins_another() -> None:
    cpu, *_ = usage_charts(hour(*(rate(at) for at in (60, 120, 180, 600, 660))), memory_mib=512)
    assert [len(line.split()) for line in cpu.series[0].lines] == [4, 3]


def test_memory_is_of_what_the_flavor_gives() -> None:
    memory = usage_charts(hour(rate(60, memory_used_kib=256 * 1024)), memory_mib=512)[1]
    assert memory.top == "512 MiB"
    assert memory.series[0].lines[0].endswith(",50.0")


def test_two_lines_share_a_round_scale() -> None:
    disk = usage_charts(hour(rate(60, disk_read_rate=1500.0, disk_write_rate=300.0)), memory_mib=512)[2]
    assert disk.top == rate_text(2000.0) == "1.95 KiB/s"
    assert [one.lines[0].rpartition(",")[2] for one in disk.series] == ["25.0", "85.0"]
    assert disk.sentence == "Disk: Read 1.46 KiB/s now, 1.46 KiB/s at most; Written 300 B/s now, 300 B/s at most."


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 B/s"), (1023, "1023 B/s"), (1024, "1 KiB/s"), (5 * 2**30, "5 GiB/s")]
)
def test_rates_are_in_the_unit_that_fits(value: float, text: str) -> None:
    assert rate_text(value) == text
    assert kib_text(2**30) == "1 TiB"


def test_axis_says_how_far_back_it_goes() -> None:
    assert axis_labels(hour()) == ("1 h ago", "now")
    assert axis_labels(CountersOfGuest(CountersSpan.DAY, 0, 86400, 300, (), ())) == ("24 h ago", "now")
