"""Keys of flavors and images that are Nova's and that no hypervisor here can give: an instance with one is refused.

The rest is given to the guest by the hypervisor's driver, or judged when a host is chosen (traits that no host reports
refuse by themselves), or has no effect here by its nature: `WITHOUT_EFFECT`. A test holds the three together with the
tables of keys, so that no key is accepted, documented and ignored.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from servers.catalog.domain.allowed import is_true

Pairs = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NotProvided:
    """A key, or all that begin with it if it ends in `:` or `_`. `possible`: the values that are fine all the same;
    `is_switch`: only yes is refused.
    """

    key: str
    why: str
    possible: tuple[str, ...] = ()
    is_switch: bool = False

    def refuses(self, key: str, value: str) -> bool:
        """Whether this value of this key cannot be given."""
        is_meant = key.startswith(self.key) if self.key.endswith((":", "_")) else key == self.key
        return is_meant and (is_true(value) if self.is_switch else value.lower() not in self.possible)


_VMWARE = "it is for VMware, and there is no VMware hypervisor here"
_USB = "no guest's USB ports are redirected here"
_VIOMMU = "no guest has an IOMMU here"
_ADDRESSES = "the width of a guest's addresses is that of its CPU"
_SERIAL = "a guest has at most 4 serial ports"
SERIAL_PORTS = ("0", "1", "2", "3", "4")
# What cgroups take, by libvirt: https://libvirt.org/formatdomain.html#cpu-tuning. 0 is unset, a quota below 0 no limit.
CPU_QUOTAS = {
    "quota:cpu_shares": (2, 262_144),
    "quota:cpu_period": (1_000, 1_000_000),
    "quota:cpu_quota": (1_000, 17_592_186_044_415),
}

FLAVOR_KEYS: tuple[NotProvided, ...] = (
    NotProvided("vmware:", _VMWARE),
    *(NotProvided(f"quota:{part}_limit", _VMWARE, ("0",)) for part in ("cpu", "memory", "disk_io", "vif")),
    *(NotProvided(f"quota:{part}_reservation", _VMWARE, ("0",)) for part in ("cpu", "memory", "disk_io", "vif")),
    *(NotProvided(f"quota:{part}_shares_", _VMWARE, ("0", "normal")) for part in ("cpu", "memory", "disk_io", "vif")),
    NotProvided("hw:redirected_usb_ports", _USB, ("0",)),
    NotProvided("hw:viommu_model", _VIOMMU),
    NotProvided("hw:maxphysaddr_bits", _ADDRESSES),
    NotProvided("hw:serial_port_count", _SERIAL, SERIAL_PORTS),
)

IMAGE_KEYS: tuple[NotProvided, ...] = (
    NotProvided("hw_firmware_type", "guests boot with BIOS here", ("bios",)),
    NotProvided("hw_redirected_usb_ports", _USB, ("0",)),
    NotProvided("hw_viommu_model", _VIOMMU),
    NotProvided("hw_maxphysaddr_bits", _ADDRESSES),
    NotProvided("hw_serial_port_count", _SERIAL, SERIAL_PORTS),
    NotProvided("hw_emulation_architecture", "guests have the architecture of their host"),
    NotProvided("vmware_adaptertype", "say hw_disk_bus instead"),
    NotProvided("hw_disk_bus", "disks are attached by one of virtio, sata, ide", ("virtio", "sata", "ide")),
    NotProvided("hw_cdrom_bus", "CD drives are attached by ide, and by sata on q35", ("ide", "sata")),
    NotProvided("hw_floppy_bus", "no guest has a floppy drive here"),
    NotProvided("hw_scsi_model", "disks are attached by one of virtio, sata, ide"),
    NotProvided(
        "hw_vif_model", "NICs are one of virtio, e1000, e1000e, rtl8139", ("virtio", "e1000", "e1000e", "rtl8139")
    ),
    NotProvided("hw_video_model", "the video device is one of vga, cirrus, none", ("vga", "cirrus", "none")),
    NotProvided("hw_ipxe_boot", "no guest boots a CD that configures the network", is_switch=True),
    NotProvided("os_require_quiesce", "no snapshot waits for its guest", is_switch=True),
    NotProvided("os_command_line", "guests boot from their disk, without a kernel of the host's"),
    NotProvided("img_block_device_mapping", "an instance's disks are those of its flavor", ("[]",)),
)

WITHOUT_EFFECT: tuple[str, ...] = (
    "hw_auto_disk_config",
    "hw_device_id",
    "hw_disk_type",
    "hw_rescue_bus",
    "hw_rescue_device",
    "hw_rng_model",
    "img_bdm_v2",
    "img_bittorrent",
    "img_cache_in_nova",
    "img_compression_level",
    "img_config_drive",
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
    "os_distro",
    "os_skip_agent_inject_files_at_boot",
    "os_skip_agent_inject_ssh",
    "os_type",
)
"""Notes about the image, settings of other hypervisors' agents and caches, and what holds here in any case (each guest
has a config drive and, unless the flavor forbids it, a virtio random number generator). Signatures are not verified."""


def not_provided(specs: Pairs, properties: Pairs) -> Iterator[str]:
    """Sentences that name the keys, of a flavor's extra specs and an image's properties under the names of today."""
    for owner, pairs, rules in (("flavor", specs, FLAVOR_KEYS), ("image", properties, IMAGE_KEYS)):
        for key, value in pairs.items():
            why = next((rule.why for rule in rules if rule.refuses(key, value)), "")
            if why:
                yield f"{key}={value:.80} of the {owner} cannot be given to a guest: {why}."
    yield from _quotas(specs)


def _quotas(specs: Pairs) -> Iterator[str]:
    """Limits that no hypervisor takes. Their texts are whole numbers, as the table of keys sees to."""
    for key, (lowest, highest) in CPU_QUOTAS.items():
        amount = int(specs.get(key, "0"))
        if amount > 0 and not lowest <= amount <= highest:
            yield f"{key}={amount} of the flavor must be from {lowest} to {highest}."
    amounts = {
        key: int(value)
        for key, value in specs.items()
        if key.startswith(("quota:disk_", "quota:vif_")) and value.isdecimal()
    }
    for metric in ("bytes", "iops"):
        total = f"quota:disk_total_{metric}_sec"
        for part in (f"quota:disk_read_{metric}_sec", f"quota:disk_write_{metric}_sec"):
            if amounts.get(total) and amounts.get(part):
                yield f"{total} of the flavor goes without {part}."
    for way in ("inbound", "outbound"):
        given = [f"quota:vif_{way}_{rate}" for rate in ("peak", "burst") if amounts.get(f"quota:vif_{way}_{rate}")]
        if given and not amounts.get(f"quota:vif_{way}_average"):
            yield f"{given[0]} of the flavor needs quota:vif_{way}_average."
