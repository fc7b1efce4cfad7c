"""`img_` and `os_` properties: how the image is used, and what runs in it. Names and values are Nova's."""

from computeagent.protocol.shut_down import OS_SHUTDOWN_TIMEOUT, OS_SHUTDOWN_TIMEOUT_MAX_S
from controlplane.kernel.texts import gettext_noop
from servers.catalog.domain.allowed import (
    a_uuid,
    allowed_values,
    any_text,
    boolean,
    choice_any_case,
    json_objects,
    number,
    one_of,
    version_bounds,
)
from servers.catalog.domain.extra_specs.rules import KeyRule

HYPERVISORS = allowed_values(
    "baremetal bhyve docker fake hyperv ironic kqemu kvm lxc lxd openvz parallels phyp qemu test uml vbox vz vmware "
    "xen zvm prsm"
)

IMAGE_PROPERTIES: tuple[KeyRule, ...] = (
    KeyRule("img_hv_type", choice_any_case(HYPERVISORS, ("xapi",)), gettext_noop("The hypervisor that it needs.")),
    KeyRule("img_hv_requested_version", version_bounds(), gettext_noop("The hypervisor's versions that it runs on.")),
    KeyRule("img_config_drive", one_of("optional", "mandatory"), gettext_noop("Whether it must have a config drive.")),
    KeyRule("img_hide_hypervisor_id", boolean(), gettext_noop("Whether the guest is not told that it is one.")),
    KeyRule("img_cache_in_nova", boolean(), gettext_noop("Whether hosts keep a copy.")),
    KeyRule("img_compression_level", number(1, 9), gettext_noop("How hard snapshots are compressed.")),
    KeyRule("img_linked_clone", boolean(), gettext_noop("Whether disks share the image's data.")),
    KeyRule("img_owner_id", any_text(), gettext_noop("The project that uploaded it.")),
    KeyRule("img_use_agent", boolean(), gettext_noop("Whether an agent inside is talked to.")),
    KeyRule("img_version", number(), gettext_noop("The version of the image.")),
    KeyRule("img_bittorrent", boolean(), gettext_noop("Whether hosts fetch it by BitTorrent.")),
    KeyRule("img_bdm_v2", boolean(), gettext_noop("Whether img_block_device_mapping has its newer form.")),
    KeyRule("img_block_device_mapping", json_objects(), gettext_noop("The disks that an instance of it has.")),
    KeyRule("img_mappings", json_objects(), gettext_noop("Names of disks and their devices.")),
    KeyRule("img_root_device_name", any_text(), gettext_noop("The root disk's device.")),
    KeyRule("img_signature", any_text(), gettext_noop("The signature, in base64.")),
    KeyRule(
        "img_signature_hash_method",
        one_of("SHA-224", "SHA-256", "SHA-384", "SHA-512"),
        gettext_noop("What was signed is such a hash."),
    ),
    KeyRule("img_signature_certificate_uuid", a_uuid(), gettext_noop("The certificate of the signature.")),
    KeyRule(
        "img_signature_key_type",
        one_of(
            "DSA",
            "ECC_SECP384R1",
            "ECC_SECP521R1",
            "ECC_SECT409K1",
            "ECC_SECT409R1",
            "ECC_SECT571K1",
            "ECC_SECT571R1",
            "RSA-PSS",
        ),
        gettext_noop("The kind of key that signed."),
    ),
)

OS_PROPERTIES: tuple[KeyRule, ...] = (
    KeyRule("os_admin_user", any_text(), gettext_noop("The user with all rights inside.")),
    KeyRule("os_command_line", any_text(), gettext_noop("Arguments of the kernel.")),
    KeyRule("os_distro", any_text(), gettext_noop("The distribution, such as debian.")),
    KeyRule("os_type", choice_any_case(("linux", "windows")), gettext_noop("The family of the system inside.")),
    KeyRule(
        OS_SHUTDOWN_TIMEOUT,
        number(0, OS_SHUTDOWN_TIMEOUT_MAX_S),
        gettext_noop("Seconds that it gets to shut down before the plug is pulled; 0: none."),
    ),
    KeyRule(
        "os_require_quiesce",
        boolean(),
        gettext_noop("Whether snapshots need a guest that is frozen; needs hw_qemu_guest_agent."),
    ),
    KeyRule(
        "os_secure_boot", one_of("required", "disabled", "optional"), gettext_noop("Whether it boots signed code only.")
    ),
    KeyRule("os_skip_agent_inject_files_at_boot", boolean(), gettext_noop("Whether the agent puts no files into it.")),
    KeyRule("os_skip_agent_inject_ssh", boolean(), gettext_noop("Whether the agent puts no key into it.")),
)
