"""Virtual hardware that not every host can give is asked of the host before it is chosen."""

import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.policy import PolicyOptions
from scheduling.request_filters import Addition, Surroundings
from scheduling.request_filters.by_hardware import guest_hardware_filter
from tests.units.scheduling.worlds import chosen, host, request, run, table, trace_reasons

AROUND = Surroundings((), PolicyOptions())


@pytest.mark.parametrize(
    ("specs", "properties", "required"),
    [
        ({}, {"hw_firmware_type": "uefi"}, {"COMPUTE_FIRMWARE_UEFI"}),
        ({}, {"hw_disk_bus": "scsi", "hw_cdrom_bus": "usb"}, {"COMPUTE_STORAGE_BUS_SCSI", "COMPUTE_STORAGE_BUS_USB"}),
        ({}, {"hw_video_model": "virtio"}, {"COMPUTE_GRAPHICS_MODEL_VIRTIO"}),
        ({}, {"hw_vif_model": "VirtualVmxnet3"}, {"COMPUTE_NET_VIF_MODEL_VMXNET3"}),
        ({"hw:viommu_model": "auto"}, {}, {"COMPUTE_VIOMMU_MODEL_AUTO"}),
        ({}, {"hw_viommu_model": "intel"}, {"COMPUTE_VIOMMU_MODEL_INTEL"}),
        ({"hw:sound_model": "ich6"}, {}, {"COMPUTE_SOUND_MODEL_ICH6"}),
        ({}, {"hw_usb_model": "qemu-xhci"}, {"COMPUTE_USB_MODEL_QEMU_XHCI"}),
        ({"quota:cpu_shares": "512"}, {}, {"CUSTOM_CPU_LIMITS"}),
        ({"quota:cpu_period": "10000", "quota:cpu_quota": "5000"}, {}, {"CUSTOM_CPU_LIMITS"}),
        ({"quota:cpu_shares": "0", "quota:cpu_quota": "-1"}, {}, set()),
        ({"quota:vif_inbound_average": "100"}, {}, {"CUSTOM_NIC_LIMITS"}),
        ({"quota:vif_outbound_average": "0", "quota:vif_limit": "0"}, {}, set()),
        ({"hw:cpu_realtime": "yes"}, {}, {"CUSTOM_LOCKED_MEMORY"}),
        ({"hw:cpu_realtime": "no", "hw:locked_memory": "true"}, {}, {"CUSTOM_LOCKED_MEMORY"}),
        ({}, {"hw_locked_memory": "true"}, {"CUSTOM_LOCKED_MEMORY"}),
        ({}, {"hw_disk_bus": "virtio", "hw_vif_model": "e1000", "hw_video_model": "none"}, set()),
        ({"hw:usb_model": "none"}, {"hw_firmware_type": "bios", "hw_disk_bus": "teletype"}, set()),
    ],
)  # fmt: skip
def test_hardware_that_not_every_host_has_is_asked_for(
    specs: dict[str, str], properties: dict[str, str], required: set[str]
) -> None:
    assert guest_hardware_filter(request(specs=specs, properties=properties), AROUND) == Addition(frozenset(required))


def test_host_without_the_firmware_is_refused_with_its_trait() -> None:
    hosts = table(host("old"), host("new", traits=frozenset({"COMPUTE_FIRMWARE_UEFI"})))
    trace = run(hosts, request(properties={"hw_firmware_type": "uefi"}))

    assert chosen(trace) == ["new"]
    assert trace_reasons(trace)["old"] == RefusalReason.TRAIT_MISSING
