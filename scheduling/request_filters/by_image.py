"""Request filters that turn the image into traits: its format, and the devices its properties name."""

import os_traits

from scheduling.domain.request.image_property_names import present_properties
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.request_filters.base import NOTHING, Addition, Surroundings

PROPERTY_TRAITS = {
    "hw_cdrom_bus": "COMPUTE_STORAGE_BUS_",
    "hw_disk_bus": "COMPUTE_STORAGE_BUS_",
    "hw_video_model": "COMPUTE_GRAPHICS_MODEL_",
    "hw_vif_model": "COMPUTE_NET_VIF_MODEL_",
    "hw_architecture": "HW_ARCH_",
    "hw_emulation_architecture": "COMPUTE_ARCH_",
    "hw_viommu_model": "COMPUTE_VIOMMU_MODEL_",
}
"""Image property to the beginning of its trait. (Nova's COMPUTE_VIOMMU_<model> names no trait of the catalogue.)"""

STANDARD = frozenset(os_traits.get_traits())


def require_image_type_support(request: ScheduleRequest, around: Surroundings) -> Addition:
    """Hosts that take the image's disk format; of no account when booting from a volume."""
    disk_format = request.image.disk_format
    if not around.options.query_placement_for_image_type_support or request.is_bfv or not disk_format:
        return NOTHING
    return _standard([f"COMPUTE_IMAGE_TYPE_{_word(disk_format)}"])


def transform_image_metadata(request: ScheduleRequest, around: Surroundings) -> Addition:
    """Hosts with the buses, models and architecture that the image's properties name."""
    if not around.options.image_metadata_prefilter:
        return NOTHING
    properties = present_properties(request.image.properties)
    return _standard(
        [prefix + _word(properties[key]) for key, prefix in PROPERTY_TRAITS.items() if properties.get(key)]
    )


def _word(value: object) -> str:
    return str(value).replace("-", "_").upper()


def _standard(names: list[str]) -> Addition:
    """Traits of the catalogue; a name that is none cannot be asked for, and is noted."""
    unknown = [name for name in names if name not in STANDARD]
    notes = tuple(f"{name} is not required of hosts: there is no such trait" for name in unknown)
    return Addition(required=frozenset(names) - frozenset(unknown), notes=notes)
