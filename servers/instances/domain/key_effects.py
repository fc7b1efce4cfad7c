"""What each key of flavors and images does, and the test that shows it: the table of docs/extra-specs.md.

Keys that nothing does are in `not_provided`. Tests hold the two together with the tables of keys, so that no key is
accepted, documented and ignored; and each test that is named here exists.
"""

from dataclasses import dataclass

_XML = "units/computeagent/drivers/test_guest_xml.py::test_"
_SAID = f"{_XML}what_flavor_or_image_say_is_in_the_definition"
_TUNING = "units/computeagent/drivers/test_guest_tuning.py::test_"
_BUSES = "e2e/drivers/test_real_guests.py::test_guest_boots_from_each_bus_with_each_model"
_FIRMWARE = "e2e/drivers/test_firmware_and_tpm.py::test_"
_HARDWARE = "units/scheduling/request_filters/test_by_hardware.py::test_"
_FEATURE = "units/scheduling/request_filters/test_by_feature.py::test_"
_NEEDS = "units/scheduling/domain/test_derived_needs.py::test_"
_QUERY = "units/scheduling/domain/test_candidate_query.py::test_"
_RESOURCES = "units/scheduling/domain/test_resources.py::test_"
_CONFIGURATION = "services/servers/test_guest_configuration.py::test_"
_IMAGE = "units/scheduling/filters/test_image_properties.py::test_"


@dataclass(frozen=True, slots=True)
class KeyEffect:
    """One effect of these keys. `shown_by` is a test below tests/."""

    keys: tuple[str, ...]
    effect: str
    shown_by: str


def _both(*names: str) -> tuple[str, ...]:
    return (*(f"hw:{name}" for name in names), *(f"hw_{name}" for name in names))


KEY_EFFECTS: tuple[KeyEffect, ...] = (
    # Which host: resources and traits.
    KeyEffect(
        ("resources{group}:{name}",),
        "amounts asked of Placement; `VGPU` are given as `<hostdev type='mdev'>`",
        f"{_RESOURCES}overrides_change_amounts",
    ),
    KeyEffect(
        ("trait{group}:{name}", "trait:{name}"),
        "traits asked of Placement",
        f"{_RESOURCES}traits_come_from_flavor_and_image",
    ),
    KeyEffect(("group_policy",), "asked of Placement", f"{_QUERY}group_policy_is_passed_on"),
    KeyEffect(
        ("accel:device_profile",),
        "the trait COMPUTE_ACCELERATORS, and the devices of the profile",
        f"{_FEATURE}device_profile_requires_accelerators",
    ),
    KeyEffect(
        ("capabilities:{key}",),
        "ComputeCapabilitiesFilter",
        "units/scheduling/filters/test_compute_capabilities.py::test_extra_spec_is_asked_of_the_host",
    ),
    KeyEffect(
        ("aggregate_instance_extra_specs:{key}",),
        "AggregateInstanceExtraSpecsFilter",
        "units/scheduling/filters/test_aggregate_extra_specs.py::"
        "test_key_needs_one_fitting_value_of_the_hosts_aggregates",
    ),
    KeyEffect(
        ("hw_architecture", "hw_vm_mode", "img_hv_type", "img_hv_requested_version"),
        "ImagePropertiesFilter",
        f"{_IMAGE}image_property_is_asked_of_the_host",
    ),
    KeyEffect(
        _both("mem_encryption", "mem_encryption_model"),
        "a resource and traits that no host here has",
        f"{_NEEDS}memory_encryption_takes_one_context",
    ),
    KeyEffect(("hw:pmem",), "resources that no host here has", f"{_NEEDS}persistent_memory_is_counted_by_label"),
    KeyEffect(
        (*_both("ephemeral_encryption", "ephemeral_encryption_format"), "hw_ephemeral_encryption_secret_uuid"),
        "traits that no host here has",
        f"{_FEATURE}ephemeral_encryption_requires_the_trait_and_that_of_its_format",
    ),
    # CPUs and memory.
    KeyEffect(
        (*_both("cpu_policy"), "hw:cpu_dedicated_mask"),
        "`<vcpupin>`",
        f"{_TUNING}dedicated_vcpus_are_pinned_one_to_one",
    ),
    KeyEffect(
        _both("cpu_thread_policy"),
        "which host CPUs are pinned to",
        "properties/computeagent/test_placed_guests.py::test_guest_that_fits_a_report_is_built_where_it_was_placed",
    ),
    KeyEffect(
        ("hw:emulator_threads_policy",),
        "`<emulatorpin>`",
        f"{_TUNING}isolated_emulator_threads_have_their_reserved_cpu",
    ),
    KeyEffect(
        ("hw:cpu_realtime", *_both("cpu_realtime_mask")),
        "`<vcpusched>`, by a trait",
        f"{_TUNING}realtime_vcpus_have_their_scheduler",
    ),
    KeyEffect(_both("mem_page_size"), "`<hugepages>`", f"{_TUNING}huge_pages_are_named_by_size_and_guest_cell"),
    KeyEffect(_both("locked_memory"), "`<locked>`, by a trait", f"{_TUNING}locked_memory_is_locked"),
    KeyEffect(
        _both("numa_nodes", "numa_cpus.{node}", "numa_mem.{node}"),
        "`<numa>` and `<numatune>`",
        f"{_TUNING}guest_sees_its_cells_numbered_from_zero",
    ),
    KeyEffect(
        _both("pci_numa_affinity_policy"),
        "which host, by its NUMA cells",
        f"{_NEEDS}key_requires_its_traits_of_flavor_and_image_alike",
    ),
    KeyEffect(("pci_passthrough:alias",), "`<hostdev>`", f"{_TUNING}device_is_handed_through_by_its_address"),
    KeyEffect(
        _both("cpu_sockets", "cpu_cores", "cpu_threads", "cpu_max_sockets", "cpu_max_cores", "cpu_max_threads"),
        "`<topology>`",
        f"{_TUNING}cpu_topology_is_what_the_guest_sees",
    ),
    KeyEffect(
        ("quota:cpu_shares", "quota:cpu_period", "quota:cpu_quota"),
        "`<cputune>`, by a trait",
        f"{_TUNING}quotas_of_the_flavor_are_set",
    ),
    KeyEffect(_both("maxphysaddr_mode", "maxphysaddr_bits"), "`<maxphysaddr>`, by traits", _SAID),
    KeyEffect(
        ("hw:hide_hypervisor_id", "hide_hypervisor_id", "img_hide_hypervisor_id"),
        "`<hidden>`; under emulation the CPU feature `hypervisor` is off",
        f"{_XML}emulated_cpu_hides_the_hypervisor_by_itself",
    ),
    KeyEffect(_both("pmu"), "`<pmu>` under KVM", _SAID),
    # Machine and firmware.
    KeyEffect(
        ("os_command_line",),
        "`<cmdline>` of an image's own kernel",
        f"{_CONFIGURATION}guest_boots_by_the_kernel_that_its_image_names",
    ),
    KeyEffect(
        ("img_root_device_name",),
        "refused where the root disk is called otherwise",
        f"{_CONFIGURATION}what_an_image_cannot_boot_by_is_refused",
    ),
    KeyEffect(
        ("hw_rescue_bus", "hw_rescue_device"),
        "the disk that a rescued guest boots from",
        "services/servers/test_rescue.py::test_rescue_boots_from_the_image_until_it_is_ended",
    ),
    KeyEffect(
        ("os_admin_user", "os_type"),
        "whose password is set",
        "units/computeagent/agent/test_rescue.py::test_administrator_is_who_the_image_says",
    ),
    KeyEffect(
        ("os_shutdown_timeout",),
        "how long a guest gets to shut down",
        "units/computeagent/agent/test_shut_down.py::test_image_goes_before_the_host",
    ),
    KeyEffect(
        ("img_config_drive", "hw_auto_disk_config"),
        "the config drive, and what it says of the root partition",
        f"{_CONFIGURATION}image_decides_over_config_drive_and_disk",
    ),
    KeyEffect(("hw_machine_type",), "`<type machine>`, by a trait where hosts say which machines they have", _BUSES),
    KeyEffect(
        ("hw_firmware_type",),
        "`<loader>` and `<nvram>`, by a trait",
        f"{_FIRMWARE}uefi_guest_keeps_its_variables_over_hard_reboots_and_leaves_none",
    ),
    KeyEffect(
        ("hw_firmware_stateless",), "`<loader stateless>`, by a trait", f"{_FIRMWARE}stateless_firmware_keeps_nothing"
    ),
    KeyEffect(
        ("os:secure_boot", "os_secure_boot"),
        "`<loader secure>`, by a trait",
        f"{_FIRMWARE}secure_boot_starts_nothing_unsigned",
    ),
    KeyEffect(
        _both("tpm_version", "tpm_model"),
        "`<tpm>`, by traits",
        f"{_FIRMWARE}guest_finds_its_tpm_whose_state_is_kept_until_it_goes",
    ),
    KeyEffect(
        ("hw:tpm_secret_security",), "a trait", f"{_FEATURE}tpm_requires_a_keeper_of_its_secret_the_host_by_default"
    ),
    KeyEffect(_both("boot_menu"), "`<bootmenu>`", _SAID),
    KeyEffect(("hw_time_hpet",), "`<timer name='hpet'>`", _SAID),
    KeyEffect(_both("viommu_model"), "`<iommu>`, by a trait", _BUSES),
    # Disks and cards.
    KeyEffect(("hw_disk_bus",), "`<target bus>` of disks, by a trait where not every host has it", _BUSES),
    KeyEffect(("hw_cdrom_bus",), "`<target bus>` of the config drive, by a trait where not every host has it", _BUSES),
    KeyEffect(("hw_scsi_model",), "`<controller type='scsi'>`", _BUSES),
    KeyEffect(("hw_vif_model",), "`<model>` of cards, by a trait where not every host has it", _BUSES),
    KeyEffect(_both("vif_multiqueue_enabled"), "`<driver queues>` of cards", _SAID),
    KeyEffect(_both("virtio_packed_ring"), "`<driver packed>` of cards and disks, by a trait", _SAID),
    KeyEffect(
        tuple(f"quota:disk_{way}_{metric}_sec" for way in ("read", "write", "total") for metric in ("bytes", "iops")),
        "`<iotune>` of each disk",
        _SAID,
    ),
    KeyEffect(
        tuple(f"quota:vif_{way}_{rate}" for way in ("inbound", "outbound") for rate in ("average", "peak", "burst")),
        "`<bandwidth>` of each card, by a trait",
        _SAID,
    ),
    # Other devices.
    KeyEffect(("hw_video_model",), "`<video>`, by a trait where not every host has it", _BUSES),
    KeyEffect(
        ("hw_video_ram", "hw_video:ram_max_mb"),
        "`<model vram>` within the flavor's maximum",
        "units/servers/test_flavor_image.py::test_video_memory_needs_the_flavors_leave",
    ),
    KeyEffect(("hw_rng:allowed",), "`<rng>` or none", f"{_XML}flavor_may_forbid_the_random_number_generator"),
    KeyEffect(("hw_rng:rate_bytes", "hw_rng:rate_period"), "`<rate>` of it", _SAID),
    KeyEffect(("hw:watchdog_action", "hw_watchdog_action"), "`<watchdog>`", f"{_XML}disabled_watchdog_is_none"),
    KeyEffect(_both("serial_port_count"), "`<serial>`, from the fifth on PCI cards", _SAID),
    KeyEffect(
        _both("sound_model"), "`<sound>`, by a trait", f"{_HARDWARE}hardware_that_not_every_host_has_is_asked_for"
    ),
    KeyEffect(_both("usb_model"), "`<controller type='usb'>`, by a trait", _SAID),
    KeyEffect(("hw_input_bus", "hw_pointer_model"), "`<input type='tablet'>`", _SAID),
    KeyEffect(("hw_qemu_guest_agent",), "`<channel>` of QEMU's agent", _SAID),
    KeyEffect(
        ("os_require_quiesce",),
        "a snapshot of a guest that could not be frozen fails; needs `hw_qemu_guest_agent`",
        "e2e/drivers/test_snapshots.py::test_guest_without_an_agent_that_answers_is_copied_unless_it_must_be_frozen",
    ),
    KeyEffect(
        ("img_signature", "img_signature_hash_method", "img_signature_certificate_uuid", "img_signature_key_type"),
        "an image that is signed otherwise is not taken",
        "services/servers/images/test_signed_images.py::test_upload_that_is_not_what_was_signed_is_refused",
    ),
    KeyEffect(
        ("img_block_device_mapping", "img_bdm_v2"),
        "disks of each instance of the image, as a request names them, in the form of version 2",
        "services/servers/volumes/test_volume_backed_images.py::test_image_of_volumes_becomes_instances_with_volumes",
    ),
)
