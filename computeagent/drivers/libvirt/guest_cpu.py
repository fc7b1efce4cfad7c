"""The CPU that one guest gets, out of what its host gives to guests, and what all guests there can have. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from computeagent.drivers.base import DriverError
from computeagent.drivers.cpu_options import CpuFlag, CpuMode
from computeagent.drivers.libvirt.capabilities import CPU_TRAITS
from computeagent.protocol.hosts import GuestCpuReport
from computeagent.protocol.steps import HostBlame

# QEMU's emulated 5-level paging makes some kernels hang early.
_NOT_EMULATED = "la57"
_TRAIT_KEY = re.compile(r"trait[A-Za-z0-9_-]*:(?P<trait>HW_CPU_X86_[A-Z0-9_]+)")
_FEATURES = {trait: feature for feature, trait in CPU_TRAITS.items()}


@dataclass(frozen=True, slots=True)
class CpuModel:
    """A model by libvirt's name, with the features of a guest that has it; none where libvirt does not tell them."""

    name: str
    features: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class HostCpus:
    """The CPUs that a host gives to guests. `models`: those of the mode custom alone, the preferred one first.
    `features`: those of a guest in another mode; of the emulated maximum nothing is promised, since it differs by
    QEMU's version.
    """

    mode: CpuMode
    models: tuple[CpuModel, ...] = ()
    flags: tuple[CpuFlag, ...] = ()
    features: frozenset[str] = frozenset()
    is_emulated: bool = False

    def with_flags(self, features: frozenset[str]) -> frozenset[str]:
        """What a guest has whose mode or model alone would give it `features`."""
        on = {flag.name for flag in self.flags if flag.is_on}
        return (features | on) - {flag.name for flag in self.flags if not flag.is_on}


@dataclass(frozen=True, slots=True)
class GuestCpu:
    """What a definition says of the CPU. `model`: of the mode custom alone. `check`: what libvirt compares with the
    host's before a start, in its word.
    """

    mode: CpuMode
    model: str = ""
    flags: tuple[CpuFlag, ...] = ()
    check: str = "none"


def features_of_guests(cpus: HostCpus) -> tuple[str, ...]:
    """All features that some guest of this host can have, for its traits: in the mode custom those of any model."""
    of_models = frozenset[str]().union(*(model.features for model in cpus.models))
    return tuple(sorted(cpus.with_flags(cpus.features | of_models)))


def traits_required(specs: Mapping[str, str], properties: Mapping[str, str]) -> frozenset[str]:
    """The traits of CPUs that flavor and image require, in any group; those that no feature stands for are another
    one's to give.
    """
    pairs = [*specs.items(), *properties.items()]
    found = (_TRAIT_KEY.fullmatch(key) for key, value in pairs if value == "required")
    return frozenset(each["trait"] for each in found if each is not None) & _FEATURES.keys()


def guest_cpu_report(cpus: HostCpus) -> GuestCpuReport:
    """What the host says of it to the control plane."""
    return GuestCpuReport(
        mode=cpus.mode,
        models=tuple(model.name for model in cpus.models),
        flags=tuple(str(flag) for flag in cpus.flags),
    )


def cpu_of_guest(cpus: HostCpus, required: frozenset[str]) -> GuestCpu:
    """In the mode custom the first model whose guests have all traits that are required. Raises DriverError (HOST, no
    fault of it) where none has: another host may.
    """
    is_compared = cpus.mode in (CpuMode.CUSTOM, CpuMode.HOST_MODEL) and not cpus.is_emulated
    named = {flag.name for flag in cpus.flags}
    off = (CpuFlag(_NOT_EMULATED, is_on=False),) if cpus.is_emulated and _NOT_EMULATED not in named else ()
    return GuestCpu(
        mode=cpus.mode,
        model=_model(cpus, required).name if cpus.mode is CpuMode.CUSTOM else "",
        flags=(*cpus.flags, *off),
        check="partial" if is_compared else "none",
    )


def _model(cpus: HostCpus, required: frozenset[str]) -> CpuModel:
    wanted = {_FEATURES[trait] for trait in required}
    for model in cpus.models:
        if wanted <= cpus.with_flags(model.features):
            return model
    raise DriverError(
        f"no CPU model of this host has {', '.join(sorted(required))}; it gives "
        f"{', '.join(model.name for model in cpus.models)}",
        blame=HostBlame.NEVER,
    )
