"""Names and values of image properties: those that mean something, and the older ones that some of them had.

Source: Nova 34, the properties of its image metadata and how it reads their values.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from controlplane.kernel.booleans import is_true

T = TypeVar("T")
MAX_NUMBER_LENGTH = 20

KNOWN = frozenset(
    {
        "hw_architecture",
        "hw_auto_disk_config",
        "hw_boot_menu",
        "hw_cdrom_bus",
        "hw_cpu_cores",
        "hw_cpu_max_cores",
        "hw_cpu_max_sockets",
        "hw_cpu_max_threads",
        "hw_cpu_policy",
        "hw_cpu_realtime_mask",
        "hw_cpu_sockets",
        "hw_cpu_thread_policy",
        "hw_cpu_threads",
        "hw_device_id",
        "hw_disk_bus",
        "hw_disk_type",
        "hw_emulation_architecture",
        "hw_ephemeral_encryption",
        "hw_ephemeral_encryption_format",
        "hw_ephemeral_encryption_secret_uuid",
        "hw_firmware_stateless",
        "hw_firmware_type",
        "hw_floppy_bus",
        "hw_input_bus",
        "hw_ipxe_boot",
        "hw_locked_memory",
        "hw_machine_type",
        "hw_maxphysaddr_bits",
        "hw_maxphysaddr_mode",
        "hw_mem_encryption",
        "hw_mem_encryption_model",
        "hw_mem_page_size",
        "hw_numa_cpus",
        "hw_numa_mem",
        "hw_numa_nodes",
        "hw_pci_numa_affinity_policy",
        "hw_pmu",
        "hw_pointer_model",
        "hw_qemu_guest_agent",
        "hw_redirected_usb_ports",
        "hw_rescue_bus",
        "hw_rescue_device",
        "hw_rng_model",
        "hw_scsi_model",
        "hw_serial_port_count",
        "hw_sound_model",
        "hw_time_hpet",
        "hw_tpm_model",
        "hw_tpm_version",
        "hw_usb_model",
        "hw_video_model",
        "hw_video_ram",
        "hw_vif_model",
        "hw_vif_multiqueue_enabled",
        "hw_viommu_model",
        "hw_virtio_packed_ring",
        "hw_vm_mode",
        "hw_watchdog_action",
        "img_bdm_v2",
        "img_bittorrent",
        "img_block_device_mapping",
        "img_cache_in_nova",
        "img_compression_level",
        "img_config_drive",
        "img_hide_hypervisor_id",
        "img_hv_requested_version",
        "img_hv_type",
        "img_linked_clone",
        "img_mappings",
        "img_owner_id",
        "img_root_device_name",
        "img_signature",
        "img_signature_certificate_uuid",
        "img_signature_hash_method",
        "img_signature_key_type",
        "img_use_agent",
        "img_version",
        "os_admin_user",
        "os_command_line",
        "os_distro",
        "os_require_quiesce",
        "os_secure_boot",
        "os_skip_agent_inject_files_at_boot",
        "os_skip_agent_inject_ssh",
        "os_type",
        "traits_required",
    }
)

# {earlier name: present name}. An earlier name counts as the present one, which goes before it.
EARLIER_NAMES = {
    "architecture": "hw_architecture",
    "auto_disk_config": "hw_auto_disk_config",
    "bdm_v2": "img_bdm_v2",
    "bittorrent": "img_bittorrent",
    "block_device_mapping": "img_block_device_mapping",
    "cache_in_nova": "img_cache_in_nova",
    "hypervisor_type": "img_hv_type",
    "hypervisor_version_requires": "img_hv_requested_version",
    "ipxe_boot": "hw_ipxe_boot",
    "mappings": "img_mappings",
    "owner_id": "img_owner_id",
    "root_device_name": "img_root_device_name",
    "vm_mode": "hw_vm_mode",
    "vmware_disktype": "hw_disk_type",
    "vmware_image_version": "img_version",
    "vmware_linked_clone": "img_linked_clone",
    "vmware_ostype": "os_distro",
    "xenapi_device_id": "hw_device_id",
    "xenapi_image_compression_level": "img_compression_level",
    "xenapi_skip_agent_inject_files_at_boot": "os_skip_agent_inject_files_at_boot",
    "xenapi_skip_agent_inject_ssh": "os_skip_agent_inject_ssh",
    "xenapi_use_agent": "img_use_agent",
}

_ARCHITECTURES = {**dict.fromkeys(("i386", "i486", "i586", "x86_32", "x86_32p"), "i686"), "amd64": "x86_64"}

# {property: {earlier value: present value}}. These, and no others, are read in any case of letters.
EARLIER_VALUES: Mapping[str, Mapping[str, str]] = {
    "hw_architecture": _ARCHITECTURES,
    "hw_emulation_architecture": _ARCHITECTURES,
    "hw_scsi_model": {"lsilogicsas": "lsisas1068", "paravirtual": "vmpvscsi"},
    "hw_vif_model": {
        "virtuale1000": "e1000",
        "virtuale1000e": "e1000e",
        "virtualpcnet32": "pcnet",
        "virtualsriovethernetcard": "sriov",
        "virtualvmxnet": "vmxnet",
        "virtualvmxnet3": "vmxnet3",
    },
    "hw_vm_mode": {"pv": "xen", "hv": "hvm", "baremetal": "hvm"},
    "img_hv_type": {"xapi": "xen"},
    "os_type": {},
}

BOOLEANS = frozenset(
    {
        "hw_boot_menu",
        "hw_ephemeral_encryption",
        "hw_firmware_stateless",
        "hw_ipxe_boot",
        "hw_locked_memory",
        "hw_mem_encryption",
        "hw_pmu",
        "hw_qemu_guest_agent",
        "hw_time_hpet",
        "hw_vif_multiqueue_enabled",
        "hw_virtio_packed_ring",
        "img_bdm_v2",
        "img_bittorrent",
        "img_cache_in_nova",
        "img_hide_hypervisor_id",
        "img_linked_clone",
        "img_use_agent",
        "os_require_quiesce",
        "os_skip_agent_inject_files_at_boot",
        "os_skip_agent_inject_ssh",
    }
)
NUMBERS = frozenset(
    {
        "hw_cpu_cores",
        "hw_cpu_max_cores",
        "hw_cpu_max_sockets",
        "hw_cpu_max_threads",
        "hw_cpu_sockets",
        "hw_cpu_threads",
        "hw_device_id",
        "hw_maxphysaddr_bits",
        "hw_numa_nodes",
        "hw_redirected_usb_ports",
        "hw_serial_port_count",
        "hw_video_ram",
        "img_compression_level",
        "img_version",
    }
)


def present_properties(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The known ones under the names of today, each with the value that Nova would have read.

    Two images that say the same in other words are then the same, and equal to what aggregates for Nova say: text such
    as `x86_64` for `amd64`, True or False for words of yes and no, numbers for numbers. Others stay as they are.
    """
    return {name: present_value(name, value) for name, value in present_names(properties).items() if name in KNOWN}


def present_value(name: str, value: Any) -> Any:
    """What a property of today's name says, in the spelling of today."""
    if name in BOOLEANS:
        return is_true(value)
    if name in EARLIER_VALUES:
        word = str(value).lower()
        return EARLIER_VALUES[name].get(word, word)
    if name in NUMBERS and str(value).isascii() and str(value).isdigit() and len(str(value)) < MAX_NUMBER_LENGTH:
        return int(value)
    return value


def present_words(properties: Mapping[str, Any]) -> dict[str, str]:
    """All properties under the names of today, as text; those that had other values in earlier times in today's."""
    return {
        name: str(present_value(name, value) if name in EARLIER_VALUES else value)
        for name, value in present_names(properties).items()
    }


def present_names(properties: Mapping[str, T]) -> dict[str, T]:
    """The same properties under the names of today; where both names are given, today's wins."""
    earlier = {EARLIER_NAMES[key]: value for key, value in properties.items() if key in EARLIER_NAMES}
    return earlier | {key: value for key, value in properties.items() if key not in EARLIER_NAMES}
