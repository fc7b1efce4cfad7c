import pytest

from scheduling.domain.policy import PolicyOptions
from scheduling.engine import ImageSnapshot
from scheduling.request_filters import Addition, Surroundings
from scheduling.request_filters.by_image import require_image_type_support, transform_image_metadata
from tests.units.scheduling.worlds import request

NOTHING = Addition()
OFF = Surroundings((), PolicyOptions())
BY_TYPE = Surroundings((), PolicyOptions(query_placement_for_image_type_support=True))
BY_METADATA = Surroundings((), PolicyOptions(image_metadata_prefilter=True))
QCOW2 = ImageSnapshot("i", "i", disk_format="qcow2")


def test_image_type_counts_only_when_switched_on() -> None:
    assert require_image_type_support(request(image=QCOW2), OFF) == NOTHING


def test_image_type_is_required() -> None:
    assert require_image_type_support(request(image=QCOW2), BY_TYPE).required == {"COMPUTE_IMAGE_TYPE_QCOW2"}


def test_image_type_is_of_no_account_when_booting_from_a_volume() -> None:
    assert require_image_type_support(request(image=QCOW2, is_bfv=True), BY_TYPE) == NOTHING


def test_image_type_that_has_no_trait_is_noted_and_not_required() -> None:
    found = require_image_type_support(request(image=ImageSnapshot("i", "i", disk_format="floppy")), BY_TYPE)
    assert found.required == frozenset()
    assert "COMPUTE_IMAGE_TYPE_FLOPPY" in found.notes[0]


def test_image_without_a_format_requires_nothing() -> None:
    assert require_image_type_support(request(), BY_TYPE) == NOTHING


def test_image_metadata_counts_only_when_switched_on() -> None:
    assert transform_image_metadata(request(properties={"hw_disk_bus": "virtio"}), OFF) == NOTHING


@pytest.mark.parametrize(
    ("name", "value", "trait"),
    [
        ("hw_cdrom_bus", "sata", "COMPUTE_STORAGE_BUS_SATA"),
        ("hw_disk_bus", "virtio", "COMPUTE_STORAGE_BUS_VIRTIO"),
        ("hw_video_model", "qxl", "COMPUTE_GRAPHICS_MODEL_QXL"),
        ("hw_vif_model", "e1000e", "COMPUTE_NET_VIF_MODEL_E1000E"),
        ("hw_architecture", "x86_64", "HW_ARCH_X86_64"),
        ("hw_emulation_architecture", "aarch64", "COMPUTE_ARCH_AARCH64"),
        ("hw_viommu_model", "virtio", "COMPUTE_VIOMMU_MODEL_VIRTIO"),
        ("hw_architecture", "amd64", "HW_ARCH_X86_64"),
        ("architecture", "AMD64", "HW_ARCH_X86_64"),
        ("hw_vif_model", "VirtualE1000e", "COMPUTE_NET_VIF_MODEL_E1000E"),
    ],
)
def test_image_property_becomes_its_trait(name: str, value: str, trait: str) -> None:
    assert transform_image_metadata(request(properties={name: value}), BY_METADATA).required == {trait}


def test_image_property_that_has_no_trait_is_noted_and_the_others_count() -> None:
    asked = request(properties={"hw_disk_bus": "teletype", "hw_cdrom_bus": "sata"})
    found = transform_image_metadata(asked, BY_METADATA)
    assert found.required == {"COMPUTE_STORAGE_BUS_SATA"}
    assert found.notes == ("COMPUTE_STORAGE_BUS_TELETYPE is not required of hosts: there is no such trait",)


def test_other_image_properties_require_nothing() -> None:
    assert transform_image_metadata(request(properties={"os_type": "linux"}), BY_METADATA) == NOTHING
