"""What libvirt's capabilities document says of a host: CPU, supported guests, and the traits that follow."""

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass

from computeagent.drivers.device_traits import EVERY_HOST
from computeagent.drivers.host_cells import MachineCell, MachineCells, MachineCpu, has_threads
from controlplane.kernel.cpu_list import parse_cpus

# Names of os_traits, by libvirt's names of CPU features. Only features that guests are known to ask for.
CPU_TRAITS = {
    "aes": "HW_CPU_X86_AESNI",
    "avx": "HW_CPU_X86_AVX",
    "avx2": "HW_CPU_X86_AVX2",
    "avx512f": "HW_CPU_X86_AVX512F",
    "bmi1": "HW_CPU_X86_BMI",
    "bmi2": "HW_CPU_X86_BMI2",
    "f16c": "HW_CPU_X86_F16C",
    "fma": "HW_CPU_X86_FMA3",
    "mmx": "HW_CPU_X86_MMX",
    "sha-ni": "HW_CPU_X86_SHA",
    "sse": "HW_CPU_X86_SSE",
    "sse2": "HW_CPU_X86_SSE2",
    "sse4.1": "HW_CPU_X86_SSE41",
    "sse4.2": "HW_CPU_X86_SSE42",
    "ssse3": "HW_CPU_X86_SSSE3",
    "svm": "HW_CPU_X86_SVM",
    "vmx": "HW_CPU_X86_VMX",
}

THREADS_TRAIT = "HW_CPU_HYPERTHREADING"
ARCH_TRAITS = {
    "x86_64": ("COMPUTE_ARCH_X86_64", "HW_ARCH_X86_64"),
    "aarch64": ("COMPUTE_ARCH_AARCH64", "HW_ARCH_AARCH64"),
}
_UNITS_KIB = {"KiB": 1, "MiB": 1024, "GiB": 1024**2}


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The host's CPUs and the kinds of guests it can run, as (arch, hypervisor type, vm_mode)."""

    arch: str
    cpu_model: str
    cpu_vendor: str
    cpu_features: tuple[str, ...]
    sockets: int
    cores: int
    threads: int
    supported_instances: tuple[tuple[str, str, str], ...]
    cells: MachineCells = ()

    @property
    def cpu_info(self) -> dict[str, object]:
        """`cpu_info` in the shape that Nova gives it."""
        return {
            "arch": self.arch,
            "model": self.cpu_model,
            "vendor": self.cpu_vendor,
            "topology": {"sockets": self.sockets, "cores": self.cores, "threads": self.threads},
            "features": list(self.cpu_features),
        }


def capabilities_parse(text: str) -> Capabilities:
    """The facts in libvirt's capabilities XML."""
    root = ET.fromstring(text)  # noqa: S314 - libvirt's own output, no document from outside
    cpu = root.find("host/cpu")
    topology = None if cpu is None else cpu.find("topology")
    sizes = {} if topology is None else topology.attrib
    features = [] if cpu is None else [feature.get("name", "") for feature in cpu.findall("feature")]
    return Capabilities(
        arch=root.findtext("host/cpu/arch", ""),
        cpu_model=root.findtext("host/cpu/model", ""),
        cpu_vendor=root.findtext("host/cpu/vendor", ""),
        cpu_features=tuple(sorted(features)),
        sockets=int(sizes.get("sockets", "1")),
        cores=int(sizes.get("cores", "1")),
        threads=int(sizes.get("threads", "1")),
        supported_instances=_supported(root),
        cells=tuple(_cell(cell) for cell in root.findall("host/topology/cells/cell")),
    )


def traits_of(
    arch: str, cpu_features: tuple[str, ...], cells: MachineCells = (), *, of_devices: frozenset[str] = EVERY_HOST
) -> tuple[str, ...]:
    """The traits of a host with this architecture and these cells, whose guests see these CPU features and can have
    these devices.
    """
    cpu = {CPU_TRAITS[name] for name in cpu_features if name in CPU_TRAITS}
    threads = {THREADS_TRAIT} if has_threads(cells) else set()
    return tuple(sorted({*of_devices, *ARCH_TRAITS.get(arch, ()), *cpu, *threads}))


def _cell(element: ET.Element) -> MachineCell:
    pages = [(_kib(each, each.get("size", "0")), int(each.text or "0")) for each in element.findall("pages")]
    memory = element.find("memory")
    return MachineCell(
        id=int(element.get("id", "0")),
        cpus=tuple(_cpu(cpu) for cpu in element.findall("cpus/cpu") if cpu.get("siblings")),
        memory_mib=0 if memory is None else _kib(memory, memory.text or "0") // 1024,
        pages=tuple(sorted(pages)),
    )


def _cpu(element: ET.Element) -> MachineCpu:
    """A CPU that is online; libvirt gives one that is not neither socket nor siblings."""
    cpu = int(element.get("id", "0"))
    return MachineCpu(cpu, int(element.get("socket_id", "0")), parse_cpus(element.get("siblings", "")) | {cpu})


def _kib(element: ET.Element, amount: str) -> int:
    """An amount in the element's unit, as KiB; libvirt writes these documents in KiB."""
    return int(amount) * _UNITS_KIB[element.get("unit", "KiB")]


def _supported(root: ET.Element) -> tuple[tuple[str, str, str], ...]:
    found = set()
    for guest in root.findall("guest"):
        vm_mode = guest.findtext("os_type", "hvm")
        for arch in guest.findall("arch"):
            for domain in arch.findall("domain"):
                found.add((_word(arch.get("name", "")), _word(domain.get("type", "")), _word(vm_mode)))
    return tuple(sorted(found))


def _word(text: str) -> str:
    return re.sub(r"[^a-z0-9_]", "", text.lower())
