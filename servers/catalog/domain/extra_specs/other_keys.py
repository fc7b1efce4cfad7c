"""Small namespaces, and the keys that have none."""

from controlplane.kernel.texts import gettext_noop
from scheduling.topology.domain.pci.alias import ALIAS_NAME
from servers.catalog.domain.allowed import boolean, form, number, one_of, some_text
from servers.catalog.domain.extra_specs.rules import KeyRule

_ALIAS = rf"{ALIAS_NAME}:[1-9][0-9]{{0,4}}"
ALIASES = rf"{_ALIAS}(\s*,\s*{_ALIAS})*"

OTHER_RULES: tuple[KeyRule, ...] = (
    KeyRule(
        "accel:device_profile",
        some_text(),
        gettext_noop("A device profile, by name: PCI devices and virtual GPUs under one name."),
    ),
    KeyRule("hide_hypervisor_id", boolean(), gettext_noop("The older spelling of hw:hide_hypervisor_id.")),
    KeyRule("hw_rng:allowed", boolean(), gettext_noop("Whether an image may have a random number generator.")),
    KeyRule("hw_rng:rate_bytes", number(0), gettext_noop("Bytes that the guest may read from it in a period.")),
    KeyRule("hw_rng:rate_period", number(0), gettext_noop("The length of that period in milliseconds.")),
    KeyRule("hw_video:ram_max_mb", number(0), gettext_noop("The most video memory in MB that an image may ask for.")),
    KeyRule(
        "os:secure_boot", one_of("disabled", "required"), gettext_noop("Whether the guest boots signed code only.")
    ),
    KeyRule(
        "pci_passthrough:alias",
        form(ALIASES, gettext_noop("name:count of 1 or more, several joined by commas, such as gpu:1,nic:2")),
        gettext_noop("PCI devices, by the alias that the installation gives them."),
    ),
    KeyRule("vmware:hw_version", some_text(), gettext_noop("VMware: the version of the virtual hardware.")),
    KeyRule("vmware:storage_policy", some_text(), gettext_noop("VMware: the storage policy.")),
)
