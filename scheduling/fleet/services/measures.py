"""What a host reports of itself as column values: how busy it is, its clock, its versions.

None of it is needed to run a guest, so whatever a host says wrongly is left out or cut, and its registration stands.
"""

from typing import Any

from django.db.models.functions import Now

from computeagent.protocol.hosts import CPU_NAME_MAX, GuestCpuReport, HostMeasures, HostReport, HostVersions

MAX_METRICS = 100
MAX_NAME = 64
MAX_SKEW_S = 1e9
MAX_VALUE = 1e300
MAX_NUMBER = 2**31 - 1


def measures_columns(report: HostReport | HostMeasures) -> dict[str, Any]:
    """Metrics with their time, by the database's clock, and the clock's skew; nothing of what was not measured."""
    columns: dict[str, Any] = {}
    if metrics := metrics_checked(report.metrics):
        columns |= {"metrics": metrics, "metrics_at": Now()}
    skew = report.clock_skew
    if skew is not None and abs(skew.ahead_s) <= MAX_SKEW_S and 0 <= skew.error_s <= MAX_SKEW_S:
        columns |= {"clock_skew_s": skew.ahead_s, "clock_error_s": skew.error_s}
    return columns


def metrics_checked(metrics: dict[str, object]) -> dict[str, float]:
    """Finite numbers by names of a sane length, a bounded number of them."""
    named = [(name, metrics[name]) for name in sorted(metrics) if 0 < len(name) <= MAX_NAME and name.isprintable()]
    numbers = {
        name: value
        for name, value in named
        if isinstance(value, int | float) and not isinstance(value, bool) and -MAX_VALUE <= value <= MAX_VALUE
    }
    return dict(list(numbers.items())[:MAX_METRICS])


def version_columns(versions: HostVersions) -> dict[str, Any]:
    """As much of them as the columns hold."""
    return {
        "agent_version": version_line(versions.agent, 64),
        "protocol_version": version_number(versions.protocol),
        "libvirt_version": version_line(versions.libvirt, 64),
        "kernel_version": version_line(versions.kernel, 128),
        "os_name": version_line(versions.os, 128),
    }


def guest_cpu_column(cpu: GuestCpuReport | None) -> dict[str, Any]:
    """Its words, each a printable line; nothing of a host that does not say it."""
    if cpu is None:
        return {}
    models, flags = ([version_line(word, CPU_NAME_MAX) for word in words] for words in (cpu.models, cpu.flags))
    return {"mode": version_line(cpu.mode, 32), "models": models, "flags": flags}


def version_line(said: str, length: int) -> str:
    """One printable line."""
    return "".join(each for each in said if each.isprintable()).strip()[:length]


def version_number(said: int) -> int:
    """As a column holds it; 0 for one that cannot be."""
    return said if 0 <= said <= MAX_NUMBER else 0
