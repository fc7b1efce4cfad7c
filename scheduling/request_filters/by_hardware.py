"""The request filter for the virtual hardware that flavor and image name: no host is chosen that cannot give it.

Beside Nova's own filters, which ask for some of it and only where an option says so. What every hypervisor gives is
not asked for: hosts need not report it.
"""

from collections.abc import Mapping

from computeagent.protocol.guest_machine import has_uefi, viommu_model
from computeagent.protocol.process_traits import CPU_LIMITS, LOCKED_MEMORY, NIC_LIMITS
from controlplane.kernel.booleans import is_true
from scheduling.domain.request.image_property_names import present_words
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.request_filters.base import Addition, Surroundings
from scheduling.request_filters.by_image import STANDARD

OF_IMAGE = {
    "hw_disk_bus": "COMPUTE_STORAGE_BUS_",
    "hw_cdrom_bus": "COMPUTE_STORAGE_BUS_",
    "hw_video_model": "COMPUTE_GRAPHICS_MODEL_",
    "hw_vif_model": "COMPUTE_NET_VIF_MODEL_",
}
OF_BOTH = {"sound_model": "COMPUTE_SOUND_MODEL_", "usb_model": "COMPUTE_USB_MODEL_"}
UEFI = "COMPUTE_FIRMWARE_UEFI"
RATES = ("average", "peak", "burst")
LIMITS = {
    CPU_LIMITS: ("quota:cpu_shares", "quota:cpu_period", "quota:cpu_quota"),
    NIC_LIMITS: tuple(f"quota:vif_{way}_{rate}" for way in ("inbound", "outbound") for rate in RATES),
}
GIVEN_ANYWHERE = frozenset(
    {
        *(f"COMPUTE_STORAGE_BUS_{bus}" for bus in ("VIRTIO", "SATA", "IDE")),
        *(f"COMPUTE_GRAPHICS_MODEL_{model}" for model in ("VGA", "CIRRUS", "NONE")),
        *(f"COMPUTE_NET_VIF_MODEL_{model}" for model in ("VIRTIO", "E1000", "E1000E", "RTL8139")),
    }
)


def guest_hardware_filter(request: ScheduleRequest, around: Surroundings) -> Addition:
    """Hosts with the firmware, buses, models and IOMMU that flavor or image name, and with its hold on processes."""
    specs, properties = request.flavor.extra_specs, present_words(request.image.properties)
    named = [(prefix, properties.get(name)) for name, prefix in OF_IMAGE.items()]
    named += [(prefix, specs.get(f"hw:{name}") or properties.get(f"hw_{name}")) for name, prefix in OF_BOTH.items()]
    named.append(("COMPUTE_VIOMMU_MODEL_", viommu_model(specs, properties)))
    wanted = {prefix + word.replace("-", "_").upper() for prefix, word in named if word}
    uefi = {UEFI} if has_uefi(properties) else set()
    return Addition(required=frozenset((wanted - GIVEN_ANYWHERE) & STANDARD | uefi | _process_needs(specs, properties)))


def _process_needs(specs: Mapping[str, str], properties: Mapping[str, str]) -> set[str]:
    """Traits for the guest's process. 0 and less is no limit; vCPUs at real time have their guest's memory locked."""
    limited = {trait for trait, keys in LIMITS.items() if any(_is_limit(specs.get(key)) for key in keys)}
    is_locked = any(
        is_true(flag)
        for flag in (specs.get("hw:cpu_realtime"), specs.get("hw:locked_memory"), properties.get("hw_locked_memory"))
    )
    return limited | ({LOCKED_MEMORY} if is_locked else set())


def _is_limit(amount: object) -> bool:
    text = str(amount or "").strip()
    return text not in ("", "0") and not text.startswith("-")
