"""Small charts of what a guest uses, drawn by the server."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, log10

from django.utils.translation import gettext as _

from servers.instances.domain.guest_samples import GuestRates
from servers.instances.selectors.guest_counters import CountersOfGuest

WIDTH, HEIGHT = 600, 100
GAP_STEPS = 2.5
"""Samples further apart than so many steps are not joined: nobody knows what was between."""

Value = Callable[[GuestRates], float]


@dataclass(frozen=True, slots=True)
class ChartSeries:
    """One line: `lines` are its points as SVG wants them, one text for each stretch without a gap."""

    name: str
    lines: tuple[str, ...]
    now: str
    peak: str


@dataclass(frozen=True, slots=True)
class UsageChart:
    """One chart; its line of the top stands for `top`."""

    title: str
    top: str
    series: tuple[ChartSeries, ...]

    @property
    def sentence(self) -> str:
        """The chart in words."""
        template = _("%(name)s %(now)s now, %(peak)s at most")
        parts = (template % {"name": one.name, "now": one.now, "peak": one.peak} for one in self.series)
        return _("%(title)s: %(parts)s.") % {"title": self.title, "parts": "; ".join(one.strip() for one in parts)}


def usage_charts(found: CountersOfGuest, *, memory_mib: int) -> list[UsageChart]:
    """CPU, memory, disk and network; none without rates to draw."""
    if not found.rates:
        return []
    top_kib = max(memory_mib * 1024, *(one.memory_used_kib for one in found.rates))
    reads, writes = _rate("disk_read_rate"), _rate("disk_write_rate")
    received, sent = _rate("rx_rate"), _rate("tx_rate")
    disk_top, network_top = _nice_top(found, reads, writes), _nice_top(found, received, sent)
    return [
        UsageChart("CPU", "100 %", (_series("", found, _rate("cpu_percent"), 100.0, percent_text),)),
        UsageChart(_("Memory"), kib_text(top_kib), (_series("", found, _rate("memory_used_kib"), top_kib, kib_text),)),
        UsageChart(
            _("Disk"),
            rate_text(disk_top),
            (
                _series(_("Read"), found, reads, disk_top, rate_text),
                _series(_("Written"), found, writes, disk_top, rate_text),
            ),
        ),
        UsageChart(
            _("Network"),
            rate_text(network_top),
            (
                _series(_("Received"), found, received, network_top, rate_text),
                _series(_("Sent"), found, sent, network_top, rate_text),
            ),
        ),
    ]


def percent_text(value: float) -> str:
    """`12.5 %`."""
    return f"{value:.3g} %" if value < 100 else "100 %"


def kib_text(value: float) -> str:
    """KiB in the largest unit that fits."""
    return _in_units(value * 1024)


def rate_text(value: float) -> str:
    """Bytes a second in the largest unit that fits."""
    return f"{_in_units(value)}/s"


def _in_units(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.3g} {unit}" if count < 999.5 else f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.3g} TiB"


def _rate(name: str) -> Value:
    return lambda one: float(getattr(one, name))


def _nice_top(found: CountersOfGuest, *values: Value) -> float:
    """1, 2 or 5 times a power of ten, above all values."""
    largest = max(1.0, *(value(one) for value in values for one in found.rates))
    power = 10.0 ** int(log10(largest))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= largest)


def _series(name: str, found: CountersOfGuest, value: Value, top: float, text: Callable[[float], str]) -> ChartSeries:
    lines = (_points(stretch, found, value, top) for stretch in _stretches(found))
    values = [value(one) for one in found.rates]
    return ChartSeries(name, tuple(lines), text(values[-1]), text(max(values)))


def _stretches(found: CountersOfGuest) -> list[list[GuestRates]]:
    """The samples without a gap between them."""
    stretches: list[list[GuestRates]] = []
    for one in found.rates:
        if not stretches or one.at_s - stretches[-1][-1].at_s > GAP_STEPS * found.step_s:
            stretches.append([])
        stretches[-1].append(one)
    return stretches


def _points(stretch: Sequence[GuestRates], found: CountersOfGuest, value: Value, top: float) -> str:
    """Each rate holds for the step before it, so a lone sample is a short line and not nothing."""
    first = stretch[0]
    before_s = max(found.since_s, first.at_s - found.step_s)
    points = [(before_s, value(first)), *((one.at_s, value(one)) for one in stretch)]
    length = found.until_s - found.since_s
    return " ".join(
        f"{(at_s - found.since_s) / length * WIDTH:.1f},{HEIGHT - min(1.0, each / top) * HEIGHT:.1f}"
        for at_s, each in points
    )


def axis_labels(found: CountersOfGuest) -> tuple[str, str]:
    """Below the left and the right end."""
    hours = ceil((found.until_s - found.since_s) / 3600)
    return _("%(hours)d h ago") % {"hours": max(1, hours)}, _("now")
