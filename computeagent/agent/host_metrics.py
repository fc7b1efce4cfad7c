"""How busy the host is: CPU, memory, disk and network as the kernel counts them, by Nova's names of metrics where it
has one (`docs/host-metrics.md` lists all).

Shares are of the time since the measurement before, in percent. What cannot be read is left out: a metric that is
missing is treated as such by filters and weighers, a made-up one would be believed.
"""

import os
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from controlplane.kernel.units import GIB

MIB_IN_KIB = 1024
NS_PER_S = 1_000_000_000
MIN_INTERVAL_S = 1.0
"""A share of less time says nothing: the kernel counts in hundredths of a second."""
GUEST_INTERFACES = ("vnet", "tap", "macvtap", "virbr", "veth", "docker", "br-", "ovs-", "qbr", "qvb", "qvo")
"""Names of interfaces that carry guests' traffic a second time, besides those of the machine, where none is a card."""
CARDS = Path("/sys/class/net")

Metrics = dict[str, float]


@dataclass(frozen=True, slots=True)
class Reading:
    """What only grows, at one moment: CPU time by kind in ns, and the network's counters."""

    at_s: float
    cpu_ns: dict[str, int] = field(default_factory=dict)
    network: dict[str, int] = field(default_factory=dict)


class HostMetrics:
    """Measures the machine that this process runs on; `disk` is on the file system that holds the instances."""

    def __init__(
        self,
        disk: Path,
        *,
        proc: Path = Path("/proc"),
        cards: Path = CARDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._disk = disk
        self._proc = proc
        self._cards = cards
        self._clock = clock
        self._before = self._read()
        self._shares: Metrics = {}

    def measured(self) -> Metrics:
        """As it is now, with shares and rates since the last call that was at least MIN_INTERVAL_S ago."""
        now = self._read()
        if now.at_s - self._before.at_s >= MIN_INTERVAL_S:
            self._shares = cpu_shares(self._before, now) | network_rates(self._before, now)
            self._before = now
        times = {f"cpu.{kind}.time": float(ns) for kind, ns in now.cpu_ns.items()}
        counters = {f"network.{name}": float(count) for name, count in now.network.items()}
        found: Metrics = {
            **times, **self._shares, **frequency(self._text("cpuinfo")), **load(self._text("loadavg")),
            **memory(self._text("meminfo")), **self._disk_room(), **counters, **uptime(self._text("uptime")),
        }  # fmt: skip
        return {name: round(value, 2) for name, value in found.items()}

    def _read(self) -> Reading:
        ticks = os.sysconf("SC_CLK_TCK")
        network = network_counters(self._text("net/dev"), network_cards(self._cards))
        return Reading(self._clock(), cpu_times(self._text("stat"), ticks), network)

    def _text(self, name: str) -> str:
        try:
            return (self._proc / name).read_text()
        except OSError:
            return ""

    def _disk_room(self) -> Metrics:
        try:
            state = os.statvfs(self._disk)
        except OSError:
            return {}
        total, free = state.f_blocks * state.f_frsize, state.f_bavail * state.f_frsize
        if not total:
            return {}
        return {
            "disk.total.gib": total / GIB, "disk.free.gib": free / GIB, "disk.percent": 100 * (total - free) / total,
        }  # fmt: skip


def cpu_times(stat: str, ticks_per_s: int) -> dict[str, int]:
    """CPU time since boot by kind, in ns, from /proc/stat. User time has nice in it and kernel time interrupts, as
    libvirt counts them for Nova; what a hypervisor below took away (steal) is nobody's.
    """
    line = next((line.split() for line in stat.splitlines() if line.startswith("cpu ")), [])
    values = [int(each) for each in line[1:8] if each.isdecimal()]
    if len(values) < 7:
        return {}
    user, nice, system, idle, iowait, irq, softirq = (value * NS_PER_S // ticks_per_s for value in values)
    return {"user": user + nice, "kernel": system + irq + softirq, "idle": idle, "iowait": iowait}


def cpu_shares(before: Reading, now: Reading) -> Metrics:
    """Percent of the time between two readings; none where no time passed. Linux may count idle and iowait backwards
    by a little.
    """
    spent = {kind: max(0, ns - before.cpu_ns.get(kind, 0)) for kind, ns in now.cpu_ns.items()}
    total = sum(spent.values())
    if total <= 0 or not before.cpu_ns:
        return {}
    shares = {f"cpu.{kind}.percent": 100 * ns / total for kind, ns in spent.items()}
    return {**shares, "cpu.percent": 100 * (total - spent["idle"]) / total}


def frequency(cpuinfo: str) -> Metrics:
    """MHz of the CPUs, on average. Some architectures do not say it."""
    found = [line.partition(":")[2].strip() for line in cpuinfo.splitlines() if line.startswith("cpu MHz")]
    values = [float(text) for text in found if text.replace(".", "", 1).isdecimal()]
    return {"cpu.frequency": sum(values) / len(values)} if values else {}


def load(loadavg: str) -> Metrics:
    """Processes that run or wait to, on average over 1, 5 and 15 minutes."""
    parts = loadavg.split()[:3]
    if len(parts) < 3 or not all(part.replace(".", "", 1).isdecimal() for part in parts):
        return {}
    return {f"cpu.load.{minutes}m": float(part) for minutes, part in zip((1, 5, 15), parts, strict=True)}


def uptime(said: str) -> Metrics:
    """Seconds since the host was started, from /proc/uptime."""
    first = said.split()[:1]
    return {"uptime": float(first[0])} if first and first[0].replace(".", "", 1).isdecimal() else {}


def memory(meminfo: str) -> Metrics:
    """Total and what can be had without swapping, in MiB, and how much is taken in percent."""
    lines = (line.split() for line in meminfo.splitlines())
    kib = {line[0]: int(line[1]) for line in lines if len(line) > 1 and line[1].isdecimal()}
    total, available = kib.get("MemTotal:"), kib.get("MemAvailable:")
    if not total or available is None:
        return {}
    found = {
        "memory.total.mib": total / MIB_IN_KIB,
        "memory.available.mib": available / MIB_IN_KIB,
        "memory.percent": 100 * (total - available) / total,
    }
    if "SwapTotal:" in kib and "SwapFree:" in kib:
        found["memory.swap.used.mib"] = (kib["SwapTotal:"] - kib["SwapFree:"]) / MIB_IN_KIB
    return found


def network_cards(interfaces: Path) -> frozenset[str]:
    """Interfaces that are cards, below /sys/class/net: bonds, VLANs, bridges and tunnels carry their bytes again."""
    try:
        return frozenset(one.name for one in interfaces.iterdir() if (one / "device").exists())
    except OSError:
        return frozenset()


def network_counters(net_dev: str, cards: Collection[str] = ()) -> dict[str, int]:
    """Bytes, errors and drops of the machine's own interfaces together, since boot, from /proc/net/dev: of its cards,
    or where it has none (a container) of those that are not known to be guests'.
    """
    sums: dict[str, int] = {}
    for line in net_dev.splitlines():
        name, found, rest = line.partition(":")
        numbers = rest.split()
        if not found or len(numbers) < 12 or not _is_own(name.strip(), cards):
            continue
        for way, at in (("rx", 0), ("tx", 8)):
            for what, offset in (("bytes", 0), ("errors", 2), ("drops", 3)):
                key = f"{way}.{what}"
                sums[key] = sums.get(key, 0) + int(numbers[at + offset])
    return sums


def _is_own(name: str, cards: Collection[str]) -> bool:
    return name in cards if cards else name != "lo" and not name.startswith(GUEST_INTERFACES)


def network_rates(before: Reading, now: Reading) -> Metrics:
    """Bytes a second since the reading before. None where the counters began anew."""
    seconds = now.at_s - before.at_s
    pairs = {way: (before.network.get(f"{way}.bytes"), now.network.get(f"{way}.bytes")) for way in ("rx", "tx")}
    return {
        f"network.{way}.bytes.rate": (count - old) / seconds
        for way, (old, count) in pairs.items()
        if old is not None and count is not None and count >= old and seconds > 0
    }
