"""No key is accepted, documented and ignored: each is given to the guest, judged, refused, or without effect."""

import pytest

from computeagent.drivers.libvirt.guest_hardware import DISK_BUSES, VIDEO_MODELS, VIF_MODELS
from computeagent.drivers.libvirt.guest_options import SERIAL_PORTS_MAX
from computeagent.drivers.libvirt.guest_tuning import QUOTAS
from servers.catalog.domain.extra_specs import EXTRA_SPEC_RULES
from servers.images.domain.image_properties import PROPERTY_RULES
from servers.instances.domain.not_provided import (
    CPU_QUOTAS,
    FLAVOR_KEYS,
    IMAGE_KEYS,
    SERIAL_PORTS,
    WITHOUT_EFFECT,
    NotProvided,
    not_provided,
)

# By the places that read them; a key that is added to the tables has to be added here, or refused.
GIVEN_BY_DRIVER = {
    # guest_options
    "boot_menu", "vif_multiqueue_enabled", "pmu", "hide_hypervisor_id", "serial_port_count", "watchdog_action",
    "sound_model", "usb_model", "input_bus", "pointer_model", "time_hpet", "qemu_guest_agent", "video_ram",
    # guest_hardware
    "machine_type", "disk_bus", "cdrom_bus", "vif_model", "video_model",
}  # fmt: skip
JUDGED = {
    # the guest's cells, CPUs and pages: numa.constraint, cpu_rules, best_cpu_topology
    "cpu_policy", "cpu_thread_policy", "emulator_threads_policy", "cpu_dedicated_mask", "cpu_realtime",
    "cpu_realtime_mask", "mem_page_size", "locked_memory", "numa_nodes", "numa_cpus.{node}", "numa_mem.{node}",
    "pci_numa_affinity_policy", "cpu_sockets", "cpu_cores", "cpu_threads", "cpu_max_sockets", "cpu_max_cores",
    "cpu_max_threads",
    # traits and resources: derived_needs, request_filters.by_feature
    "mem_encryption", "mem_encryption_model", "maxphysaddr_mode", "virtio_packed_ring", "pmem",
    "tpm_model", "tpm_version", "tpm_secret_security", "ephemeral_encryption", "ephemeral_encryption_format",
    "ephemeral_encryption_secret_uuid", "firmware_stateless",
    # ImagePropertiesFilter
    "architecture", "vm_mode",
}  # fmt: skip
JUDGED_NAMESPACES = ("resources", "trait", "capabilities", "aggregate_instance_extra_specs")
OTHER_KEYS = {
    "group_policy", "hide_hypervisor_id", "accel:device_profile", "hw_rng:allowed", "hw_rng:rate_bytes",
    "hw_rng:rate_period", "hw_video:ram_max_mb", "os:secure_boot", "os_secure_boot", "pci_passthrough:alias",
    "img_hv_type", "img_hv_requested_version", "img_hide_hypervisor_id",
    *CPU_QUOTAS,
    *(f"quota:disk_{way}_{metric}_sec" for way in ("read", "write", "total") for metric in ("bytes", "iops")),
    *(f"quota:vif_{way}_{rate}" for way in ("inbound", "outbound") for rate in ("average", "peak", "burst")),
}  # fmt: skip


def is_accounted_for(key: str, refused: tuple[NotProvided, ...]) -> bool:
    part = key.removeprefix("hw:").removeprefix("hw_")
    return (
        key.startswith(JUDGED_NAMESPACES)
        or key in OTHER_KEYS
        or key in WITHOUT_EFFECT
        or (key.startswith(("hw:", "hw_")) and part in GIVEN_BY_DRIVER | JUDGED)
        or any(rule.refuses(key, "a value of no rule") or (rule.is_switch and rule.key == key) for rule in refused)
    )


@pytest.mark.parametrize("key", [rule.key for rule in EXTRA_SPEC_RULES])
def test_each_extra_spec_has_its_effect_or_is_refused(key: str) -> None:
    assert is_accounted_for(key, FLAVOR_KEYS)


@pytest.mark.parametrize("key", [rule.key for rule in PROPERTY_RULES])
def test_each_image_property_has_its_effect_is_refused_or_is_said_to_have_none(key: str) -> None:
    assert is_accounted_for(key, IMAGE_KEYS)


@pytest.mark.parametrize(
    ("specs", "properties", "reported"),
    [
        ({"quota:cpu_limit": "1000"}, {}, "quota:cpu_limit=1000 of the flavor"),
        ({"vmware:hw_version": "9"}, {}, "VMware"),
        ({"hw:viommu_model": "auto"}, {}, "IOMMU"),
        ({"hw:serial_port_count": "5"}, {}, "at most 4 serial ports"),
        ({"quota:cpu_shares": "1"}, {}, "from 2 to 262144"),
        ({"quota:disk_total_bytes_sec": "1", "quota:disk_read_bytes_sec": "1"}, {}, "goes without"),
        ({"quota:vif_inbound_peak": "1"}, {}, "needs quota:vif_inbound_average"),
        (
            {},
            {"hw_firmware_type": "uefi"},
            "hw_firmware_type=uefi of the image cannot be given to a guest: guests boot",
        ),
        ({}, {"hw_disk_bus": "scsi"}, "virtio, sata, ide"),
        ({}, {"hw_ipxe_boot": "yes"}, "configures the network"),
    ],
)
def test_what_cannot_be_given_is_refused(specs: dict[str, str], properties: dict[str, str], reported: str) -> None:
    (sentence,) = not_provided(specs, properties)

    assert reported in sentence


def test_values_that_ask_for_nothing_are_fine() -> None:
    specs = {"quota:cpu_limit": "0", "quota:cpu_quota": "-1", "quota:cpu_shares": "0", "hw:redirected_usb_ports": "0"}
    properties = {"hw_firmware_type": "bios", "hw_vif_model": "E1000", "hw_ipxe_boot": "no", "os_distro": "debian"}

    assert list(not_provided(specs, properties)) == []


def test_what_may_be_asked_for_is_what_the_driver_gives() -> None:
    possible = {rule.key: rule.possible for rule in IMAGE_KEYS}

    assert possible["hw_disk_bus"] == tuple(DISK_BUSES)
    assert possible["hw_vif_model"] == VIF_MODELS
    assert possible["hw_video_model"] == VIDEO_MODELS
    assert int(SERIAL_PORTS[-1]) == SERIAL_PORTS_MAX
    assert {key.removeprefix("quota:"): limits for key, limits in CPU_QUOTAS.items()} == QUOTAS
