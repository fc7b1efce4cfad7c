"""Charts of how busy a host was, drawn by the server."""

from dataclasses import dataclass

from django.utils.translation import gettext

from controlplane.dashboard.instances.usage_charts import GAP_STEPS, HEIGHT, WIDTH, percent_text
from controlplane.kernel.texts import gettext_noop
from scheduling.fleet.selectors.host_usage import HostHistory

TITLES = (
    (gettext_noop("CPU"), "cpu_percent"),
    (gettext_noop("Memory"), "memory_percent"),
    (gettext_noop("Disk"), "disk_percent"),
)


@dataclass(frozen=True, slots=True)
class HostChart:
    """Percent over time: `lines` are points as SVG wants them, one text for each stretch without a gap."""

    title: str
    now: str
    peak: str
    lines: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The chart in words."""
        said = gettext("%(title)s: %(now)s at the end, %(peak)s at most.")
        return said % {"title": gettext(self.title), "now": self.now, "peak": self.peak}


def host_charts(history: HostHistory) -> list[HostChart]:
    """CPU, memory and disk in percent of the machine; none of what has fewer than two samples."""
    found = []
    for title, name in TITLES:
        values = [(one.at_s, float(value)) for one in history.samples if (value := getattr(one, name)) is not None]
        if len(values) > 1:
            peak = max(value for _, value in values)
            found.append(HostChart(title, percent_text(values[-1][1]), percent_text(peak), _lines(history, values)))
    return found


def _lines(history: HostHistory, values: list[tuple[int, float]]) -> tuple[str, ...]:
    """Samples that are further apart than GAP_STEPS are not joined: nobody knows what was between."""
    stretches: list[list[str]] = []
    last_s = 0
    for at_s, value in values:
        if not stretches or at_s - last_s > GAP_STEPS * history.span.step_s:
            stretches.append([])
        last_s = at_s
        x = WIDTH * (at_s - history.since_s) / history.span.seconds
        y = HEIGHT * (1 - min(100.0, max(0.0, value)) / 100)
        stretches[-1].append(f"{x:.1f},{y:.1f}")
    return tuple(" ".join(points) for points in stretches)
