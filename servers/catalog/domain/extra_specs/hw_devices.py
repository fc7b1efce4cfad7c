"""`hw:` keys for the devices and features of a guest."""

from controlplane.kernel.texts import gettext_noop
from servers.catalog.domain.allowed import boolean, form, number, one_of
from servers.catalog.domain.extra_specs.rules import KeyRule

SOUND_MODELS = ("sb16", "es1370", "pcspk", "ac97", "ich6", "ich9", "usb", "virtio")
USB_MODELS = ("none", "nec-xhci", "qemu-xhci")
VIOMMU_MODELS = ("intel", "smmuv3", "virtio", "auto")
WATCHDOG_ACTIONS = ("none", "pause", "poweroff", "reset", "disabled")
ENCRYPTION_FORMATS = ("plain", "luks", "luksv2")
TPM_MODELS = ("tpm-tis", "tpm-crb")
TPM_VERSIONS = ("1.2", "2.0")
USB_PORTS_MAX = 15

HW_DEVICE_RULES: tuple[KeyRule, ...] = (
    KeyRule("hw:boot_menu", boolean(), gettext_noop("Whether the guest's firmware shows a boot menu.")),
    KeyRule(
        "hw:vif_multiqueue_enabled", boolean(), gettext_noop("Whether virtio NICs have a queue for each guest CPU.")
    ),
    KeyRule("hw:virtio_packed_ring", boolean(), gettext_noop("Whether the guest may negotiate virtio's packed ring.")),
    KeyRule("hw:pmu", boolean(), gettext_noop("Whether the guest has a performance monitoring unit.")),
    KeyRule("hw:hide_hypervisor_id", boolean(), gettext_noop("Whether the guest is not told that it is one.")),
    KeyRule(
        "hw:pmem",
        form(r"[a-zA-Z0-9_]+(,[a-zA-Z0-9_]+)*,?", gettext_noop("labels joined by commas")),
        gettext_noop("Persistent memory, by label."),
    ),
    KeyRule("hw:serial_port_count", number(0), gettext_noop("How many serial ports the guest has at most.")),
    KeyRule("hw:tpm_model", one_of(*TPM_MODELS), gettext_noop("The interface of the guest's TPM.")),
    KeyRule(
        "hw:tpm_version",
        one_of(*TPM_VERSIONS),
        gettext_noop("The version of the guest's TPM; without one it has none."),
    ),
    KeyRule(
        "hw:tpm_secret_security",
        one_of("user", "host", "deployment"),
        gettext_noop("Who keeps the secret of the TPM's state."),
    ),
    KeyRule("hw:watchdog_action", one_of(*WATCHDOG_ACTIONS), gettext_noop("What happens to a guest that hangs.")),
    KeyRule("hw:viommu_model", one_of(*VIOMMU_MODELS), gettext_noop("The guest's IOMMU.")),
    KeyRule("hw:sound_model", one_of(*SOUND_MODELS), gettext_noop("The guest's sound device.")),
    KeyRule("hw:usb_model", one_of(*USB_MODELS), gettext_noop("The guest's USB controller.")),
    KeyRule(
        "hw:redirected_usb_ports",
        number(0, USB_PORTS_MAX),
        gettext_noop("How many USB ports are redirected to the guest."),
    ),
    KeyRule("hw:ephemeral_encryption", boolean(), gettext_noop("Whether the guest's own disks are encrypted.")),
    KeyRule("hw:ephemeral_encryption_format", one_of(*ENCRYPTION_FORMATS), gettext_noop("How they are encrypted.")),
)
