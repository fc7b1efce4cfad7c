"""The UEFI firmware that a host has, by the descriptions that distributions ship with it, and the choice of one.

Source of the format: QEMU's docs/interop/firmware.json. A file of a later directory stands for one of the same name in
an earlier one, an empty file takes it away, and the first that fits in the order of names is meant.
"""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.files import host_errors
from computeagent.protocol.steps import HostBlame

DIRECTORIES = (Path("/usr/share/qemu/firmware"), Path("/etc/qemu/firmware"))
VARIABLES = "nvram.fd"
_SECURE = frozenset({"secure-boot", "enrolled-keys"})

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Firmware:
    """One build of it. `code` is mapped read-only, `variables` is what each guest gets its own copy of. `machines` are
    patterns of QEMU's names. `is_secure`: it starts signed code only, by the keys that the copy brings along.
    """

    code: Path
    variables: Path
    arch: str
    machines: tuple[str, ...]
    is_secure: bool = False
    has_smm: bool = False


@dataclass(frozen=True, slots=True)
class GuestFirmware:
    """What one guest boots with. `variables` None: it keeps none."""

    code: Path
    template: Path
    variables: Path | None = None
    is_secure: bool = False
    has_smm: bool = False


def firmwares_found(directories: Sequence[Path] = DIRECTORIES) -> tuple[Firmware, ...]:
    """What the descriptions offer and the host has. A description that cannot be read offers nothing."""
    files = {path.name: path for directory in directories for path in sorted(directory.glob("*.json"))}
    found = [one for _, path in sorted(files.items()) for one in _described(path)]
    return tuple(one for one in found if one.code.exists() and one.variables.exists())


def has_firmware(found: Sequence[Firmware], arch: str, *, is_secure: bool) -> bool:
    """Whether guests of this architecture can have UEFI, or secure boot."""
    return any(one.arch == arch and one.is_secure == is_secure for one in found)


def firmware_choose(
    found: Sequence[Firmware], *, arch: str, machine: str, is_secure: bool, variables: Path | None
) -> GuestFirmware:
    """The firmware of a guest whose variables are at `variables`, or will be; None: it keeps none.

    Variables stay with the kind of firmware that they were made for, which their size tells. Raises DriverError where
    the host has none that fits.
    """
    fitting = [one for one in found if one.arch == arch and one.is_secure == is_secure and _has_machine(one, machine)]
    if not fitting:
        kind = "UEFI with secure boot" if is_secure else "UEFI"
        message = f"this host has no firmware of {kind} for a machine of type {machine}"
        raise DriverError(message, blame=HostBlame.NEVER)
    with host_errors("reading the firmware's variables"):
        size = variables.stat().st_size if variables is not None and variables.exists() else 0
        chosen = next((one for one in fitting if not size or size == one.variables.stat().st_size), None)
    if chosen is None:
        raise DriverError(f"the guest's firmware variables, {size} bytes, are of a firmware that this host no more has")
    return GuestFirmware(chosen.code, chosen.variables, variables, is_secure, chosen.has_smm)


def _has_machine(firmware: Firmware, machine: str) -> bool:
    """`pc` and `q35` are short for the newest machine of their kind."""
    full = {"pc": "pc-i440fx-0", "q35": "pc-q35-0"}.get(machine, machine)
    return any(fnmatchcase(full, pattern) for pattern in firmware.machines)


def _described(path: Path) -> list[Firmware]:
    """One for each architecture; none for what is no UEFI in two raw flash files."""
    try:
        text = path.read_bytes()
        return _firmwares(json.loads(text)) if text.strip() else []
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        log.warning("the description of a firmware %s is passed over: %r", path, error)
        return []


def _firmwares(described: dict[str, Any]) -> list[Firmware]:
    mapping, features = described["mapping"], frozenset(described["features"])
    is_flash = mapping["device"] == "flash" and mapping.get("mode", "split") == "split"
    if "uefi" not in described["interface-types"] or not is_flash:
        return []
    files = mapping["executable"], mapping["nvram-template"]
    signs = _SECURE & features
    if any(file["format"] != "raw" for file in files) or signs == {"secure-boot"}:
        return []
    code, variables = (Path(file["filename"]) for file in files)
    has_smm, is_secure = "requires-smm" in features, signs == _SECURE
    return [
        Firmware(code, variables, target["architecture"], tuple(target["machines"]), is_secure, has_smm)
        for target in described["targets"]
    ]
