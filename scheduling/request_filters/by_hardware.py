"""The request filter for the virtual hardware that flavor and image name: no host is chosen that cannot give it.

Beside Nova's own filters, which ask for some of it and only where an option says so. What every hypervisor gives is
not asked for: hosts need not report it.
"""

from computeagent.protocol.guest_machine import has_uefi, viommu_model
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
GIVEN_ANYWHERE = frozenset(
    {
        *(f"COMPUTE_STORAGE_BUS_{bus}" for bus in ("VIRTIO", "SATA", "IDE")),
        *(f"COMPUTE_GRAPHICS_MODEL_{model}" for model in ("VGA", "CIRRUS", "NONE")),
        *(f"COMPUTE_NET_VIF_MODEL_{model}" for model in ("VIRTIO", "E1000", "E1000E", "RTL8139")),
    }
)


def guest_hardware_filter(request: ScheduleRequest, around: Surroundings) -> Addition:
    """Hosts with the firmware, buses, models and IOMMU that flavor or image name."""
    specs, properties = request.flavor.extra_specs, present_words(request.image.properties)
    named = [(prefix, properties.get(name)) for name, prefix in OF_IMAGE.items()]
    named += [(prefix, specs.get(f"hw:{name}") or properties.get(f"hw_{name}")) for name, prefix in OF_BOTH.items()]
    named.append(("COMPUTE_VIOMMU_MODEL_", viommu_model(specs, properties)))
    wanted = {prefix + word.replace("-", "_").upper() for prefix, word in named if word}
    uefi = {UEFI} if has_uefi(properties) else set()
    return Addition(required=frozenset((wanted - GIVEN_ANYWHERE) & STANDARD | uefi))
