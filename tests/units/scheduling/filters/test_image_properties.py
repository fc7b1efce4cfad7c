from typing import Any

import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.policy import PolicyOptions
from scheduling.filters.image_properties import ImagePropertiesFilter, version_parts, version_satisfies
from tests.units.scheduling.worlds import host, reasons, refused, request, table

QEMU = host(
    "a",
    supported_instances=(("x86_64", "qemu", "hvm"), ("i686", "kvm", "hvm")),
    hypervisor_version=8002002,
    cpu_info={"maxphysaddr": {"bits": 46}},
)


@pytest.mark.parametrize(
    ("properties", "passes"),
    [
        ({}, True),
        ({"hw_architecture": "x86_64"}, True),
        ({"hw_architecture": "amd64"}, True),
        ({"architecture": "x86_64"}, True),
        ({"hw_architecture": "i386", "img_hv_type": "kvm"}, True),
        ({"hw_architecture": "x86_64", "img_hv_type": "kvm"}, False),  # not in one triple
        ({"hw_architecture": "aarch64"}, False),
        ({"img_hv_type": "QEMU", "hw_vm_mode": "HVM"}, True),
        ({"hypervisor_type": "xapi"}, False),
        ({"hw_vm_mode": "hv"}, True),
        ({"vm_mode": "pv"}, False),
        ({"img_hv_requested_version": ">=6.0, <9"}, True),
        ({"img_hv_requested_version": ">=9"}, False),
        ({"hypervisor_version_requires": "<8.2.2"}, False),
        ({"img_hv_requested_version": "newest"}, False),
        ({"hw_maxphysaddr_bits": 46}, True),
        ({"hw_maxphysaddr_bits": "48"}, False),
        ({"os_distro": "debian"}, True),
    ],
)
def test_image_property_is_asked_of_the_host(properties: dict[str, Any], passes: bool) -> None:
    found = reasons(ImagePropertiesFilter(), table(QEMU), request(properties=properties))
    assert found == ({} if passes else {"a": RefusalReason.IMAGE_PROPERTY_UNSUPPORTED})


def test_property_but_host_reports_no_triples_refuses() -> None:
    refusal = refused(ImagePropertiesFilter(), table(host("a")), request(properties={"hw_vm_mode": "hvm"}))["a"]
    assert refusal.sentence() == "the image needs hvm, the host offers no architecture"


@pytest.mark.parametrize("properties", [{"img_hv_requested_version": ">=9"}, {"hw_maxphysaddr_bits": 60}])
def test_host_that_does_not_report_the_value_passes(properties: dict[str, Any]) -> None:
    assert refused(ImagePropertiesFilter(), table(host("a")), request(properties=properties)) == {}


def test_default_architecture_stands_in_for_a_missing_property() -> None:
    options = PolicyOptions(image_properties_default_architecture="aarch64")
    assert set(refused(ImagePropertiesFilter(), table(QEMU), request(), options)) == {"a"}


def test_runs_on_rebuild() -> None:
    assert ImagePropertiesFilter.RUN_ON_REBUILD


def test_version_integer_is_dotted_by_thousands() -> None:
    assert version_parts(8002002) == (8, 2, 2)


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [("==8.2.2", True), ("=8.2", False), (">8.2", True), ("!=8.2.2", False), ("<=8.2.2,>=8", True), (">=8.10", False)],
)
def test_version_predicates_compare_part_by_part(wanted: str, fits: bool) -> None:
    assert version_satisfies(8002002, wanted) is fits
