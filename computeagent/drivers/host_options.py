"""What an operator sets aside on one host: CPUs to pin to, CPUs to share, pages to keep, PCI devices to give away.

Source: Nova's options [compute]cpu_dedicated_set and cpu_shared_set, reserved_huge_pages, [pci]device_spec.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from computeagent.drivers.base import DriverError
from computeagent.drivers.cpu_options import CpuOptions
from computeagent.drivers.device_spec import DeviceSpec
from controlplane.kernel.cpu_list import format_cpus
from controlplane.kernel.errors import Invalid

NO_CPU_OPTIONS = CpuOptions()
_UNITS_KIB = {"": 1, "k": 1, "m": 1024, "g": 1024**2, "t": 1024**3}
_TYPE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_SIZE = re.compile(r"(\d{1,12})\s*([kmgt]?)i?b?", re.IGNORECASE)


class DriveFormat(StrEnum):
    """Nova's option config_drive_format. A FAT file system is for guests that can do nothing with a disc."""

    ISO9660 = "iso9660"
    VFAT = "vfat"


@dataclass(frozen=True, slots=True)
class ReservedPages:
    """Pages of one size on one NUMA cell that guests never get."""

    cell: int
    size_kib: int
    count: int


@dataclass(frozen=True, slots=True)
class HostOptions:
    """Without a CPU set every CPU is offered shared, and to be pinned to as well, as Nova's default is.

    `device_specs` empty: guests get no PCI device; `mdev_types` empty: no virtual GPU. `unused_images_s`: after so many
    seconds without a use base images go; 0: never. `guest_directories`: where files are that guests open, beside the
    driver's own. `cpu`: which CPU guests see.
    """

    cpu_dedicated_set: frozenset[int] = frozenset()
    cpu_shared_set: frozenset[int] = frozenset()
    reserved_pages: tuple[ReservedPages, ...] = ()
    device_specs: tuple[DeviceSpec, ...] = ()
    unused_images_s: float = 86400.0
    mdev_types: tuple[str, ...] = ()
    config_drive_format: DriveFormat = DriveFormat.ISO9660
    guest_directories: tuple[Path, ...] = ()
    cpu: CpuOptions = NO_CPU_OPTIONS

    def __post_init__(self) -> None:
        both = self.cpu_dedicated_set & self.cpu_shared_set
        if both:
            raise Invalid(f"CPUs {format_cpus(both)} are in the dedicated and in the shared set")

    @property
    def has_cpu_sets(self) -> bool:
        """Whether CPUs are divided."""
        return bool(self.cpu_dedicated_set or self.cpu_shared_set)

    def shared_cpus(self, online: frozenset[int]) -> frozenset[int]:
        """The CPUs that floating vCPUs run on. Raises DriverError when the set names a CPU that is not online."""
        if not self.has_cpu_sets:
            return online
        return _present(self.cpu_shared_set, online, "shared")

    def dedicated_cpus(self, online: frozenset[int]) -> frozenset[int]:
        """The CPUs of PCPU inventory. Raises DriverError when the set names a CPU that is not online."""
        return _present(self.cpu_dedicated_set, online, "dedicated")

    def pinnable_cpus(self, online: frozenset[int]) -> frozenset[int]:
        """The CPUs that vCPUs may be pinned to: the dedicated ones, or all of a host that divides nothing."""
        return self.dedicated_cpus(online) if self.has_cpu_sets else online


def reserved_pages_parse(text: str) -> ReservedPages:
    """From Nova's form 'node:0,size:2048,count:64'; the size is KiB or has a unit, such as 1GB. Raises Invalid."""
    pairs = dict(part.strip().partition(":")[::2] for part in text.split(","))
    size = _SIZE.fullmatch(pairs.get("size", "").strip())
    if set(pairs) != {"node", "size", "count"} or size is None:
        raise Invalid(
            f"{text[:80]!r} does not reserve pages: node:0,size:2048,count:64 expected, size in KiB or as 1GB"
        )
    if not (pairs["node"].isdecimal() and pairs["count"].isdecimal()):
        raise Invalid(f"{text[:80]!r}: node and count must be whole numbers")
    size_kib = int(size[1]) * _UNITS_KIB[size[2].lower()]
    if not size_kib:
        raise Invalid(f"{text[:80]!r}: a page has at least 1 KiB")
    return ReservedPages(int(pairs["node"]), size_kib, int(pairs["count"]))


def mdev_types_parse(text: str) -> tuple[str, ...]:
    """Names of types separated by commas, as Nova's [devices]enabled_mdev_types. Raises Invalid."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    wrong = next((name for name in names if _TYPE.fullmatch(name) is None), None)
    if wrong is not None:
        raise Invalid(f"{wrong[:80]!r} is no type of mediated devices, such as nvidia-35", field="mdev_types")
    return names


def _present(wanted: frozenset[int], online: frozenset[int], kind: str) -> frozenset[int]:
    missing = wanted - online
    if missing:
        raise DriverError(
            f"CPUs {format_cpus(missing)} of the {kind} set are not online here; online are {format_cpus(online)}"
        )
    return wanted
