"""Which CPU an operator gives to the guests of one host.

Source: Nova's options [libvirt]cpu_mode, cpu_models and cpu_model_extra_flags.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from controlplane.kernel.errors import Invalid

MAX_CPU_WORDS = 64
"""Models of one host, and flags of one host."""
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_FLAG = re.compile(r"(?P<sign>[+-]?)(?P<name>[a-z0-9][a-z0-9._-]{0,63})")


class CpuMode(StrEnum):
    """As libvirt has them. MAXIMUM is all that the host can give, under emulation all that QEMU can emulate."""

    HOST_PASSTHROUGH = "host-passthrough"
    HOST_MODEL = "host-model"
    CUSTOM = "custom"
    MAXIMUM = "maximum"


@dataclass(frozen=True, slots=True)
class CpuFlag:
    """A feature by libvirt's name that guests have whatever their model is or, if not `is_on`, never have."""

    name: str
    is_on: bool = True

    def __str__(self) -> str:
        return f"{'+' if self.is_on else '-'}{self.name}"


@dataclass(frozen=True, slots=True)
class CpuOptions:
    """`mode` None: what suits the host. `models`: those of CUSTOM alone, the preferred one first. Raises Invalid."""

    mode: CpuMode | None = None
    models: tuple[str, ...] = ()
    flags: tuple[CpuFlag, ...] = ()

    def __post_init__(self) -> None:
        if self.mode is CpuMode.CUSTOM and not self.models:
            raise Invalid(
                "cpu_mode custom needs cpu_models: one or several, the preferred one first", field="cpu_models"
            )
        if self.models and self.mode is not CpuMode.CUSTOM:
            mode = self.mode or "which is not set"
            raise Invalid(f"cpu_models go with cpu_mode custom alone, not with {mode}", field="cpu_models")
        for field, names in (("cpu_models", self.models), ("cpu_model_extra_flags", [one.name for one in self.flags])):
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise Invalid(f"{twice!r} is named twice in {field}", field=field)


def cpu_options_parse(mode: str, models: str, flags: str) -> CpuOptions:
    """From the operator's texts: names of models, and flags such as +pcid, -mpx or aes, by commas. Raises Invalid that
    names the option.
    """
    known = [one.value for one in CpuMode]
    if mode and mode not in known:
        raise Invalid(f"cpu_mode {mode[:80]!r} is none of {', '.join(known)}", field="cpu_mode")
    return CpuOptions(
        mode=CpuMode(mode) if mode else None,
        models=tuple(_model(word) for word in _words(models, "cpu_models")),
        flags=tuple(_flag(word) for word in _words(flags, "cpu_model_extra_flags")),
    )


def _words(text: str, field: str) -> list[str]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    if len(words) > MAX_CPU_WORDS:
        raise Invalid(f"{field} has {len(words)} names, and may have {MAX_CPU_WORDS}", field=field)
    return words


def _model(word: str) -> str:
    if _MODEL.fullmatch(word) is None:
        raise Invalid(f"{word[:80]!r} is no name of a CPU model, such as Nehalem", field="cpu_models")
    return word


def _flag(word: str) -> CpuFlag:
    """In small letters, as libvirt has all names of features."""
    found = _FLAG.fullmatch(word.lower())
    if found is None:
        raise Invalid(f"{word[:80]!r} is no CPU flag, such as +pcid, -mpx or aes", field="cpu_model_extra_flags")
    return CpuFlag(found["name"], found["sign"] != "-")
