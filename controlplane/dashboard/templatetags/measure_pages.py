"""What hosts measured, for people."""

from collections.abc import Callable, Iterable, Mapping

from django import template
from django.utils.translation import gettext

from controlplane.dashboard.instances.usage_charts import percent_text, rate_text
from controlplane.dashboard.templatetags.pages import mib
from controlplane.kernel.texts import gettext_noop
from controlplane.kernel.units import GIB, bytes_text

register = template.Library()


def _mib(value: float) -> str:
    return mib(round(value))


def _gib(value: float) -> str:
    return bytes_text(value * GIB)


def _plain(value: float) -> str:
    return f"{value:g}"


MEASURES: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    (gettext_noop("CPU"), "cpu.percent", percent_text),
    (gettext_noop("CPU waits for disks"), "cpu.iowait.percent", percent_text),
    (gettext_noop("Load of 5 minutes"), "cpu.load.5m", _plain),
    (gettext_noop("Memory taken"), "memory.percent", percent_text),
    (gettext_noop("Memory available"), "memory.available.mib", _mib),
    (gettext_noop("Swap in use"), "memory.swap.used.mib", _mib),
    (gettext_noop("Disk taken"), "disk.percent", percent_text),
    (gettext_noop("Disk free"), "disk.free.gib", _gib),
    (gettext_noop("Network in"), "network.rx.bytes.rate", rate_text),
    (gettext_noop("Network out"), "network.tx.bytes.rate", rate_text),
)


@register.filter
def measures(metrics: Mapping[str, float]) -> Iterable[tuple[str, str]]:
    """Those that say most, with their names and units; what a host does not measure is left out."""
    return [(label, text(float(metrics[name]))) for label, name, text in MEASURES if name in metrics]


@register.filter
def plain_number(value: float) -> str:
    """Without a needless fraction: 12.5, 1,234,567."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


@register.filter
def skew(ahead_s: float, error_s: float | None) -> str:
    """'0.3 s ahead', '12 ms behind', 'on time' where the error is larger than the difference."""
    if abs(ahead_s) <= (error_s or 0.0):
        return gettext("on time")
    size = abs(ahead_s)
    shown = f"{size * 1000:.0f} ms" if size < 1 else f"{size:,.1f} s"
    return (gettext("%(time)s ahead") if ahead_s > 0 else gettext("%(time)s behind")) % {"time": shown}
