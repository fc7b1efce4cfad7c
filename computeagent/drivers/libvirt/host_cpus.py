"""Which CPUs a host gives to guests: the operator's options, held to what libvirt says that this host can give.

What is misspelt or cannot be is refused at the agent's start, with what there is. Where libvirt does not say (it is too
old, or it is not an x86 host), libvirt judges when a guest is defined or started.
"""

import logging
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import Any

from computeagent.drivers.base import DriverError
from computeagent.drivers.cpu_options import CpuFlag, CpuMode, CpuOptions
from computeagent.drivers.libvirt.binding import LibvirtError, error_text, is_incompatible_cpu, libvirt
from computeagent.drivers.libvirt.guest_cpu import CpuModel, HostCpus

_OF_THE_HOST = (CpuMode.HOST_PASSTHROUGH, CpuMode.HOST_MODEL)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CpusOffered:
    """What libvirt says that guests can have: modes and models by name, whether each is usable here, and the host's own
    CPU as a model, an element of libvirt's; None where it has none.
    """

    modes: dict[str, bool]
    models: dict[str, bool]
    host_model: ET.Element | None = None


def cpus_offered(document: str) -> CpusOffered:
    """From libvirt's domain capabilities. A model of which libvirt does not know whether it is usable may be."""
    root = ET.fromstring(document)  # noqa: S314 - libvirt's own output
    models = root.findall("cpu/mode[@name='custom'][@supported='yes']/model")
    host_model = root.find("cpu/mode[@name='host-model'][@supported='yes']")
    return CpusOffered(
        modes={mode.get("name", ""): mode.get("supported") == "yes" for mode in root.findall("cpu/mode")},
        models={model.text: model.get("usable") != "no" for model in models if model.text},
        host_model=host_model if host_model is not None and host_model.findtext("model") else None,
    )


def cpu_mode_of(options: CpuOptions, offered: CpusOffered | None, *, is_emulated: bool) -> CpuMode:
    """The mode of a host's guests. Raises DriverError for one that emulation or this libvirt does not have."""
    if options.mode is None:
        return CpuMode.MAXIMUM if is_emulated else CpuMode.HOST_PASSTHROUGH
    if is_emulated and options.mode in _OF_THE_HOST:
        raise DriverError(
            f"cpu_mode {options.mode} needs KVM, and guests here run under emulation, where none has the host's CPU: "
            "use custom with cpu_models, or maximum"
        )
    if offered is not None and not offered.modes.get(options.mode, True):
        there = ", ".join(mode for mode in CpuMode if offered.modes.get(mode))
        raise DriverError(f"cpu_mode {options.mode} cannot be had of libvirt here; it has {there}")
    return options.mode


def host_cpus(conn: Any, options: CpuOptions, *, arch: str, virt_type: str) -> HostCpus:
    """Raises DriverError that names the option which is wrong, and what there is."""
    is_emulated = virt_type != "kvm"
    asking = _Asking(conn, arch, virt_type)
    offered = asking.offered()
    mode = cpu_mode_of(options, offered, is_emulated=is_emulated)
    if mode is CpuMode.CUSTOM:
        models = tuple(asking.model(name, options.flags, offered) for name in models_found(options.models, offered))
        return HostCpus(mode, models=models, flags=options.flags, is_emulated=is_emulated)
    features: frozenset[str] = frozenset()
    if offered is not None and offered.host_model is not None:
        asking.flags_check(_cpu_element(offered.host_model, options.flags), options.flags, offered)
        if not is_emulated:
            features = asking.features(_cpu_element(offered.host_model))
    return HostCpus(mode, flags=options.flags, features=features, is_emulated=is_emulated)


def models_found(wanted: tuple[str, ...], offered: CpusOffered | None) -> tuple[str, ...]:
    """The models by libvirt's spelling, whatever case they were written in, as in Nova. Raises DriverError for one that
    libvirt does not know here; where it does not say, all are taken as they are.
    """
    if offered is None or not offered.models:
        return wanted
    spelt = {name.lower(): name for name in offered.models}
    unknown = [name for name in wanted if name.lower() not in spelt]
    unusable = [spelt[name.lower()] for name in wanted if not offered.models.get(spelt.get(name.lower(), ""), True)]
    if unknown or unusable:
        usable = ", ".join(sorted(name for name, is_usable in offered.models.items() if is_usable)) or "none"
        wrong = [f"libvirt has no {', '.join(unknown)} here"] if unknown else []
        wrong += [f"this host cannot give {', '.join(unusable)}"] if unusable else []
        raise DriverError(f"cpu_models: {' and '.join(wrong)}; it can give {usable}")
    return tuple(spelt[name.lower()] for name in wanted)


@dataclass(frozen=True, slots=True)
class _Asking:
    """Questions to libvirt about guests of one kind. What it cannot answer is logged, and taken to be right."""

    conn: Any
    arch: str
    virt_type: str

    def offered(self) -> CpusOffered | None:
        try:
            return cpus_offered(self.conn.getDomainCapabilities(None, self.arch, None, self.virt_type, 0))
        except LibvirtError as error:
            log.warning("libvirt does not say which CPUs guests can have: %s", error_text(error))
            return None

    def model(self, name: str, flags: tuple[CpuFlag, ...], offered: CpusOffered | None) -> CpuModel:
        """Raises DriverError where the host cannot give the model with the flags."""
        model = ET.Element("model")
        model.text = name
        of_model = ET.Element("cpu")
        of_model.append(model)
        self.flags_check(_cpu_element(of_model, flags), flags, offered)
        return CpuModel(name, self.features(_cpu_element(of_model)))

    def flags_check(self, cpu: str, flags: tuple[CpuFlag, ...], offered: CpusOffered | None) -> None:
        """Raises DriverError for a flag that libvirt does not know, or that this host cannot give. Without flags there
        is nothing to ask: libvirt says which models can be had.
        """
        if not flags:
            return
        strict = libvirt.VIR_CONNECT_COMPARE_CPU_FAIL_INCOMPATIBLE
        try:
            self.conn.compareHypervisorCPU(None, self.arch, None, self.virt_type, cpu, strict)
        except LibvirtError as error:
            sentence = error_text(error)
            if is_incompatible_cpu(error) or any(f"CPU feature {flag.name}" in sentence for flag in flags):
                shown, there = ",".join(map(str, flags)), self._features_there(offered)
                raise DriverError(f"cpu_model_extra_flags {shown} cannot be had here: {sentence}{there}") from error
            log.warning("libvirt does not say whether guests can have the CPU flags of this host: %s", sentence)

    def features(self, cpu: str) -> frozenset[str]:
        """All that a guest with this CPU has here; none where libvirt does not tell."""
        expand = libvirt.VIR_CONNECT_BASELINE_CPU_EXPAND_FEATURES
        try:
            expanded = self.conn.baselineHypervisorCPU(None, self.arch, None, self.virt_type, [cpu], expand)
        except LibvirtError as error:
            log.warning("libvirt does not say which features the CPUs of guests have: %s", error_text(error))
            return frozenset()
        return features_required(expanded)

    def _features_there(self, offered: CpusOffered | None) -> str:
        if offered is None or offered.host_model is None:
            return ""
        return f"; guests here can have {', '.join(sorted(self.features(_cpu_element(offered.host_model))))}"


def features_required(document: str) -> frozenset[str]:
    """From a CPU of libvirt's whose features are all spelt out; those that the host lacks are disabled in it."""
    root = ET.fromstring(document)  # noqa: S314 - libvirt's own output
    return frozenset(each.get("name", "") for each in root.findall("feature") if each.get("policy") != "disable")


def _cpu_element(model: ET.Element, flags: tuple[CpuFlag, ...] = ()) -> str:
    """A guest's CPU for libvirt to judge: a model with its own features, over which the flags go."""
    cpu = ET.Element("cpu", mode="custom", match="exact")
    ET.SubElement(cpu, "model", fallback="forbid").text = model.findtext("model")
    policies = {each.get("name", ""): each.get("policy", "require") for each in model.findall("feature")}
    policies |= {flag.name: "require" if flag.is_on else "disable" for flag in flags}
    for name, policy in policies.items():
        ET.SubElement(cpu, "feature", policy=policy, name=name)
    return ET.tostring(cpu, encoding="unicode")
