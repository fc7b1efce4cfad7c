"""What libvirt, QEMU and the other programs of this host can give to guests, asked of them and never assumed.

A program that is not installed is a trait that is not reported: the scheduler then refuses with a reason.
"""

import logging
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from computeagent.drivers import device_traits as traits
from computeagent.drivers.libvirt.binding import LibvirtError, error_text
from computeagent.drivers.libvirt.firmware import Firmware, firmwares_found, has_firmware
from computeagent.protocol.guest_machine import PC, Q35

TPM_PROGRAMS = ("swtpm", "swtpm_setup")
QEMU_TIMEOUT_S = 20.0
# Since which version libvirt knows these, as it counts them: major * 1000000 + minor * 1000 + release.
_LIBVIRT_STATELESS, _LIBVIRT_ADDRESSES, _LIBVIRT_SOUND_VIRTIO = 8_006_000, 8_007_000, 10_004_000
_LIBVIRT_VIOMMU = {"intel": 2_001_000, "virtio": 8_003_000}
# QEMU's names of devices, by those of libvirt and of Nova.
_VIOMMU_DEVICES = {"intel": "intel-iommu", "virtio": "virtio-iommu-pci"}
_SOUND_DEVICES = {
    "ac97": "AC97",
    "es1370": "ES1370",
    "ich6": "intel-hda",
    "ich9": "ich9-intel-hda",
    "sb16": "sb16",
    "usb": "usb-audio",
    "virtio": "virtio-sound-pci",
}
_USB_DEVICES = {"nec-xhci": "nec-usb-xhci", "qemu-xhci": "qemu-xhci"}

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HostAbilities:
    """What was found out. `devices` are names of QEMU's, the others those of libvirt's domain capabilities."""

    arch: str = ""
    libvirt_version: int = 0
    disk_buses: frozenset[str] = frozenset()
    video_models: frozenset[str] = frozenset()
    tpm_models: frozenset[str] = frozenset()
    tpm_versions: frozenset[str] = frozenset()
    devices: frozenset[str] = frozenset()
    firmwares: tuple[Firmware, ...] = ()
    is_kvm: bool = False

    @property
    def traits(self) -> frozenset[str]:
        """All that a host with these abilities reports of its devices."""
        return frozenset(
            {
                *traits.EVERY_HOST,
                *self._firmware_traits(),
                *_found(traits.DISK_BUSES, self.disk_buses),
                *_found(traits.VIDEO_MODELS, self.video_models),
                *_found(traits.VIF_MODELS, self.devices),
                *self._tpm_traits(),
                *self._versioned_traits(),
                *(traits.USB_MODELS[model] for model, device in _USB_DEVICES.items() if device in self.devices),
            }
        )

    def has_secure_boot(self) -> bool:
        """Whether guests can be held to signed code."""
        return has_firmware(self.firmwares, self.arch, is_secure=True)

    def _firmware_traits(self) -> list[str]:
        has_uefi = has_firmware(self.firmwares, self.arch, is_secure=False)
        stateless = [traits.STATELESS_FIRMWARE] if self.libvirt_version >= _LIBVIRT_STATELESS else []
        return [
            *([traits.UEFI, *stateless] if has_uefi else []),
            *([traits.SECURE_BOOT] if self.has_secure_boot() else []),
        ]

    def _tpm_traits(self) -> list[str]:
        if not (self.tpm_models and self.tpm_versions):
            return []
        models, versions = (
            _found(traits.TPM_MODELS, self.tpm_models),
            _found(traits.TPM_VERSIONS, self.tpm_versions),
        )
        return [*models, *versions, traits.TPM_SECRET]

    def _versioned_traits(self) -> list[str]:
        """What libvirt's capabilities do not tell."""
        viommu = {
            model
            for model, device in _VIOMMU_DEVICES.items()
            if device in self.devices and self.libvirt_version >= _LIBVIRT_VIOMMU[model]
        }
        sound = {model for model, device in _SOUND_DEVICES.items() if device in self.devices}
        if self.libvirt_version < _LIBVIRT_SOUND_VIRTIO:
            sound.discard("virtio")
        has_addresses = self.libvirt_version >= _LIBVIRT_ADDRESSES
        return [
            traits.PACKED_VIRTQUEUES,
            *_found(traits.VIOMMU_MODELS, frozenset({*viommu, *(["auto"] if viommu else [])})),
            *_found(traits.SOUND_MODELS, frozenset(sound)),
            *([traits.ADDRESSES_EMULATED] if has_addresses else []),
            *([traits.ADDRESSES_OF_HOST] if has_addresses and self.is_kvm else []),
        ]


def host_abilities(conn: Any, *, arch: str, virt_type: str) -> HostAbilities:
    """Ask libvirt of the machines that guests get, QEMU of its devices, and look for firmware and for TPM programs.

    A host that cannot be asked has what every host has.
    """
    documents = []
    for machine in (PC, Q35) if arch == "x86_64" else (None,):
        try:
            documents.append(conn.getDomainCapabilities(None, arch, machine, virt_type, 0))
        except LibvirtError as error:
            log.warning("libvirt does not say what guests of type %s can have: %s", machine, error_text(error))
    return abilities_parse(
        documents,
        arch=arch,
        libvirt_version=conn.getLibVersion(),
        firmwares=firmwares_found(),
        is_kvm=virt_type == "kvm",
        has_tpm=all(shutil.which(program) for program in TPM_PROGRAMS),
    )


def abilities_parse(
    documents: list[str],
    *,
    arch: str,
    libvirt_version: int,
    firmwares: tuple[Firmware, ...] = (),
    is_kvm: bool = False,
    has_tpm: bool = False,
) -> HostAbilities:
    """From libvirt's documents of a host's machines, to what at least one machine can have."""
    roots = [ET.fromstring(text) for text in documents]  # noqa: S314 - libvirt's own output
    has_tpm = has_tpm and "emulator" in _values(roots, "tpm", "backendModel")
    programs = {root.findtext("path", "") for root in roots}
    return HostAbilities(
        arch=arch,
        libvirt_version=libvirt_version,
        disk_buses=_values(roots, "disk", "bus"),
        video_models=_values(roots, "video", "modelType"),
        tpm_models=_values(roots, "tpm", "model") if has_tpm else frozenset(),
        tpm_versions=_values(roots, "tpm", "backendVersion") if has_tpm else frozenset(),
        devices=frozenset().union(*(qemu_devices(program) for program in programs if program)),
        firmwares=firmwares,
        is_kvm=is_kvm,
    )


def qemu_devices(program: str) -> frozenset[str]:
    """The names of the devices that this QEMU knows; none where it cannot be asked."""
    try:
        changed = Path(program).stat().st_mtime_ns
        return _qemu_devices(program, changed)
    except (OSError, subprocess.SubprocessError) as error:
        log.warning("QEMU does not say which devices it has: %s", error)
        return frozenset()


@lru_cache(maxsize=4)
def _qemu_devices(program: str, changed: int) -> frozenset[str]:
    """Asked anew when the program `changed`."""
    del changed
    done = subprocess.run(
        [program, "-machine", "none", "-device", "help"], check=True, capture_output=True, timeout=QEMU_TIMEOUT_S
    )
    return frozenset(re.findall(r'name "([^"]+)"', done.stdout.decode(errors="replace")))


def _values(roots: list[ET.Element], device: str, enum: str) -> frozenset[str]:
    path = f"devices/{device}[@supported='yes']/enum[@name='{enum}']/value"
    return frozenset(value.text or "" for root in roots for value in root.findall(path))


def _found(names: Mapping[str, str], there: frozenset[str]) -> list[str]:
    return [trait for name, trait in names.items() if name in there]
