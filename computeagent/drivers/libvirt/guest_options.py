"""What flavor and image say of devices beyond their models: limits of disks and cards, watchdog, clock, ... Pure.

Keys and values are Nova's. What cannot be given here is refused when the instance is asked for; what is wrong all the
same (rows from before the rules) raises DriverError of class USER.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from computeagent.drivers.base import DriverError
from computeagent.protocol.guest_machine import viommu_model
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.steps import FailureClass
from controlplane.kernel.booleans import is_true

WATCHDOG_ACTIONS = ("none", "pause", "poweroff", "reset")
WATCHDOG_DISABLED = "disabled"
# libvirt asks QEMU for "pcspk" in words that QEMU does not take since 7.1.
SOUND_MODELS = ("sb16", "es1370", "ac97", "ich6", "ich9", "usb", "virtio")
INPUT_BUSES = ("usb", "virtio")
USB_MODELS = ("none", "nec-xhci", "qemu-xhci")
# Four on the ISA bus, as every PC has, and the rest on PCI cards.
ISA_SERIAL_PORTS, SERIAL_PORTS_MAX = 4, 16
TPM_MODELS, TPM_VERSIONS = ("tpm-tis", "tpm-crb"), ("1.2", "2.0")
VIOMMU_MODELS = ("intel", "virtio", "auto")
SCSI_MODELS = ("virtio-scsi", "lsilogic", "lsisas1068", "lsisas1078", "vmpvscsi")
ADDRESS_MODES = ("passthrough", "emulate")
# What no guest is ever given. The scheduler refuses it, since no host has the trait; so does a host that is asked.
_NEVER_TRUE = ("mem_encryption", "ephemeral_encryption")
QUEUES_MAX = 256
_DISK_LIMITS = tuple(f"{way}_{metric}_sec" for way in ("total", "read", "write") for metric in ("bytes", "iops"))


@dataclass(frozen=True, slots=True)
class GuestOptions:
    """Each as the domain XML has it; None and empty: nothing is said. `vif_limits` by direction, in KiB/s and KiB.

    `tpm` is model and version, `addresses` the mode and the bits of physical addresses.
    """

    disk_limits: tuple[tuple[str, int], ...] = ()
    vif_limits: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = ()
    vif_queues: int = 0
    watchdog_action: str = ""
    has_boot_menu: bool = False
    has_pmu: bool | None = None
    has_hpet: bool | None = None
    is_hypervisor_hidden: bool = False
    has_rng: bool = True
    rng_rate: tuple[int, int] | None = None
    video_ram_mib: int = 0
    serial_ports: int = 1
    sound_model: str = ""
    usb_model: str = ""
    input_bus: str = ""
    has_guest_agent: bool = False
    has_packed_virtqueues: bool = False
    tpm: tuple[str, str] | None = None
    viommu_model: str = ""
    scsi_model: str = ""
    addresses: tuple[str, int] | None = None


NO_OPTIONS = GuestOptions()


def guest_options(guest: GuestSpec) -> GuestOptions:
    """The options of this guest. The flavor's word goes before the image's, as far as both may speak."""
    specs, properties = guest.extra_specs, guest.image_properties
    _refuse_never(specs, properties)
    watchdog = _choice(
        properties.get("hw_watchdog_action") or specs.get("hw:watchdog_action"), WATCHDOG_ACTIONS, "watchdog"
    )
    is_hidden = any(
        map(
            is_true,
            (
                specs.get("hw:hide_hypervisor_id"),
                specs.get("hide_hypervisor_id"),
                properties.get("img_hide_hypervisor_id"),
            ),
        )
    )
    wants_queues = is_true(_either(specs, properties, "vif_multiqueue_enabled"))
    return GuestOptions(
        disk_limits=_disk_limits(specs),
        vif_limits=_vif_limits(specs),
        vif_queues=min(guest.vcpus, QUEUES_MAX) if wants_queues and guest.vcpus > 1 else 0,
        watchdog_action=watchdog,
        has_boot_menu=is_true(_either(specs, properties, "boot_menu")),
        has_pmu=_truth(_either(specs, properties, "pmu")),
        has_hpet=_truth(properties.get("hw_time_hpet")),
        is_hypervisor_hidden=is_hidden,
        has_rng=_truth(specs.get("hw_rng:allowed")) is not False,
        rng_rate=_rng_rate(specs),
        video_ram_mib=_number(properties.get("hw_video_ram", "0"), "hw_video_ram"),
        serial_ports=_serial_ports(specs, properties),
        sound_model=_choice(_either(specs, properties, "sound_model"), SOUND_MODELS, "sound"),
        usb_model=_choice(_either(specs, properties, "usb_model"), USB_MODELS, "USB"),
        input_bus=_choice(properties.get("hw_input_bus"), INPUT_BUSES, "input bus")
        or ("usb" if properties.get("hw_pointer_model") else ""),
        has_guest_agent=is_true(properties.get("hw_qemu_guest_agent")),
        has_packed_virtqueues=is_true(_either(specs, properties, "virtio_packed_ring")),
        tpm=_tpm(specs, properties),
        viommu_model=_choice(viommu_model(specs, properties), VIOMMU_MODELS, "IOMMU"),
        scsi_model=_choice(properties.get("hw_scsi_model", "").lower(), SCSI_MODELS, "SCSI controller"),
        addresses=_addresses(specs, properties),
    )


def _refuse_never(specs: Mapping[str, str], properties: Mapping[str, str]) -> None:
    for name in _NEVER_TRUE:
        if is_true(_either(specs, properties, name)):
            raise _wrong(f"hw:{name} is not possible here")


def _tpm(specs: Mapping[str, str], properties: Mapping[str, str]) -> tuple[str, str] | None:
    """Model and version; without a version there is no TPM, and without a model it is tpm-tis, as in Nova."""
    version = _choice(_either(specs, properties, "tpm_version"), TPM_VERSIONS, "TPM version")
    model = _choice(_either(specs, properties, "tpm_model") or TPM_MODELS[0], TPM_MODELS, "TPM")
    return (model, version) if version else None


def _addresses(specs: Mapping[str, str], properties: Mapping[str, str]) -> tuple[str, int] | None:
    mode = _choice(_either(specs, properties, "maxphysaddr_mode"), ADDRESS_MODES, "address width")
    bits = _number(_either(specs, properties, "maxphysaddr_bits") or "0", "hw:maxphysaddr_bits")
    return (mode, bits) if mode else None


def _disk_limits(specs: Mapping[str, str]) -> tuple[tuple[str, int], ...]:
    """Of each disk. libvirt takes a total beside no other limit of the same kind; 0 is none."""
    found = {name: _number(specs.get(f"quota:disk_{name}", "0"), f"quota:disk_{name}") for name in _DISK_LIMITS}
    limits = {name: amount for name, amount in found.items() if amount}
    for metric in ("bytes", "iops"):
        parts = [f"{way}_{metric}_sec" for way in ("read", "write")]
        if f"total_{metric}_sec" in limits and any(part in limits for part in parts):
            raise _wrong(f"quota:disk_total_{metric}_sec goes without quota:disk_read_{metric}_sec and its like")
    return tuple(limits.items())


def _vif_limits(specs: Mapping[str, str]) -> tuple[tuple[str, tuple[tuple[str, int], ...]], ...]:
    found = []
    for direction in ("inbound", "outbound"):
        names = {rate: f"quota:vif_{direction}_{rate}" for rate in ("average", "peak", "burst")}
        amounts = {rate: _number(specs.get(name, "0"), name) for rate, name in names.items()}
        limits = tuple((rate, amount) for rate, amount in amounts.items() if amount)
        if limits and not amounts["average"]:
            raise _wrong(f"quota:vif_{direction}_average must be set with a peak or burst")
        if limits:
            found.append((direction, limits))
    return tuple(found)


def _rng_rate(specs: Mapping[str, str]) -> tuple[int, int] | None:
    """Bytes and milliseconds; Nova's period is 1000 unless it is given."""
    amount = _number(specs.get("hw_rng:rate_bytes", "0"), "hw_rng:rate_bytes")
    period = _number(specs.get("hw_rng:rate_period", "0"), "hw_rng:rate_period") or 1000
    return (amount, period) if amount else None


def _serial_ports(specs: Mapping[str, str], properties: Mapping[str, str]) -> int:
    """The image's number, else the flavor's; the first is the log, so there is one at least."""
    text = properties.get("hw_serial_port_count") or specs.get("hw:serial_port_count") or "1"
    number = _number(text, "hw_serial_port_count")
    if number > SERIAL_PORTS_MAX:
        raise _wrong(f"hw_serial_port_count={number} is above {SERIAL_PORTS_MAX}, which a machine has at most")
    return max(1, number)


def _either(specs: Mapping[str, str], properties: Mapping[str, str], name: str) -> str | None:
    return specs.get(f"hw:{name}") or properties.get(f"hw_{name}")


def _truth(text: str | None) -> bool | None:
    return None if not text else is_true(text)


def _choice(text: str | None, possible: tuple[str, ...], what: str) -> str:
    """The word; empty for none, and for a watchdog that is switched off."""
    if not text or text == WATCHDOG_DISABLED:
        return ""
    if text not in possible:
        raise _wrong(f"{what} {text[:40]!r} is not possible here; possible: {', '.join(possible)}")
    return text


def _number(text: str, name: str) -> int:
    if re.fullmatch(r"\d{1,15}", text.strip(), re.ASCII) is None:
        raise _wrong(f"{name}={text[:40]!r} must be a whole number")
    return int(text)


def _wrong(message: str) -> DriverError:
    return DriverError(message, failure_class=FailureClass.USER)
