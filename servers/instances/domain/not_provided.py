"""Keys of flavors and images that are Nova's and that no hypervisor here can give: an instance with one is refused.

The rest is given to the guest by the hypervisor's driver, or judged when a host is chosen (traits that no host reports
refuse by themselves), or has no effect here by its nature: `WITHOUT_EFFECT`. A test holds the three together with the
tables of keys, so that no key is accepted, documented and ignored.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from computeagent.protocol.guest_machine import machine_complaints
from controlplane.kernel.booleans import is_true
from controlplane.kernel.texts import phrase as _
from scheduling.domain.request.image_property_names import present_words

Pairs = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NotProvided:
    """A key, or all that begin with it if it ends in `:` or `_`. `why`: a phrase, part of a sentence. `possible`: the
    values that are fine all the same; `is_switch`: only yes is refused.
    """

    key: str
    why: str
    possible: tuple[str, ...] = ()
    is_switch: bool = False

    @property
    def is_prefix(self) -> bool:
        """Whether it is about all keys that begin so."""
        return self.key.endswith((":", "_"))

    def refuses(self, key: str, value: str) -> bool:
        """Whether this value of this key cannot be given."""
        is_meant = key.startswith(self.key) if self.is_prefix else key == self.key
        return is_meant and (is_true(value) if self.is_switch else value.lower() not in self.possible)


class _Rules:
    """Rules by their key: a list of images asks for each property of each of them."""

    def __init__(self, rules: Iterable[NotProvided]) -> None:
        self._by_key = {rule.key: rule for rule in rules if not rule.is_prefix}
        self._prefixes = [rule for rule in rules if rule.is_prefix]

    def why(self, key: str, value: str) -> str:
        """Why this value of this key cannot be given; empty where it can."""
        exact = self._by_key.get(key)
        about = self._prefixes if exact is None else [exact]
        return next((rule.why for rule in about if rule.refuses(key, value)), "")


_VMWARE = _("it is for VMware, and there is no VMware hypervisor here")
_USB = _("no guest's USB ports are redirected here")
_VIOMMU, VIOMMU_MODELS = _("it is for ARM, and guests here have an x86 CPU"), ("intel", "virtio", "auto")
_SERIAL, SERIAL_PORTS = _("a guest has at most 16 serial ports"), tuple(str(ports) for ports in range(17))
_SOUND, SOUND_MODELS = _("QEMU has no such device"), ("sb16", "es1370", "ac97", "ich6", "ich9", "usb", "virtio")
DISK_BUSES, CDROM_BUSES = ("virtio", "sata", "ide", "scsi", "usb"), ("ide", "sata", "scsi", "usb")
SCSI_MODELS = ("virtio-scsi", "lsilogic", "lsisas1068", "lsisas1078", "vmpvscsi")
VIF_MODELS = ("virtio", "e1000", "e1000e", "rtl8139", "igb", "ne2k_pci", "pcnet", "vmxnet3")
VIDEO_MODELS = ("vga", "cirrus", "none", "bochs", "qxl", "virtio", "vmvga")
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
    NotProvided("hw:viommu_model", _VIOMMU, VIOMMU_MODELS),
    NotProvided("hw:sound_model", _SOUND, SOUND_MODELS),
    NotProvided("hw:serial_port_count", _SERIAL, SERIAL_PORTS),
)

IMAGE_KEYS: tuple[NotProvided, ...] = (
    NotProvided("hw_redirected_usb_ports", _USB, ("0",)),
    NotProvided("hw_viommu_model", _VIOMMU, VIOMMU_MODELS),
    NotProvided("hw_sound_model", _SOUND, SOUND_MODELS),
    NotProvided("hw_serial_port_count", _SERIAL, SERIAL_PORTS),
    NotProvided("hw_emulation_architecture", _("guests have the architecture of their host")),
    NotProvided("vmware_adaptertype", _("say hw_disk_bus and hw_scsi_model instead")),
    NotProvided("hw_disk_bus", _("disks are attached by one of {buses}", buses=", ".join(DISK_BUSES)), DISK_BUSES),
    NotProvided(
        "hw_cdrom_bus", _("CD drives are attached by one of {buses}", buses=", ".join(CDROM_BUSES)), CDROM_BUSES
    ),
    NotProvided("hw_rescue_device", _("a rescue disk is one of disk, cdrom"), ("disk", "cdrom")),
    NotProvided(
        "hw_rescue_bus", _("a rescue disk is attached by one of {buses}", buses=", ".join(DISK_BUSES)), DISK_BUSES
    ),
    NotProvided("hw_floppy_bus", _("no guest has a floppy drive here")),
    NotProvided("hw_scsi_model", _("SCSI controllers are one of {models}", models=", ".join(SCSI_MODELS)), SCSI_MODELS),
    NotProvided("hw_vif_model", _("NICs are one of {models}", models=", ".join(VIF_MODELS)), VIF_MODELS),
    NotProvided(
        "hw_video_model", _("the video device is one of {models}", models=", ".join(VIDEO_MODELS)), VIDEO_MODELS
    ),
    NotProvided("hw_ipxe_boot", _("no guest boots a CD that configures the network"), is_switch=True),
)

_FLAVOR_RULES, _IMAGE_RULES = _Rules(FLAVOR_KEYS), _Rules(IMAGE_KEYS)

WITHOUT_EFFECT: tuple[str, ...] = (
    "hw_device_id",
    "hw_disk_type",
    "hw_rng_model",
    "img_bittorrent",
    "img_cache_in_nova",
    "img_compression_level",
    "img_linked_clone",
    "img_mappings",
    "img_owner_id",
    "img_use_agent",
    "img_version",
    "os_distro",
    "os_skip_agent_inject_files_at_boot",
    "os_skip_agent_inject_ssh",
)
"""Notes about the image, settings of other hypervisors' agents and caches, and what holds here in any case (each guest
has a virtio random number generator, unless the flavor forbids it)."""


def flavor_refusals(specs: Pairs) -> list[str]:
    """Why no instance is made of a flavor with these extra specs, whatever its image says."""
    return list(_refusals(_("flavor"), _FLAVOR_RULES, specs))


def image_refusals(properties: Mapping[str, Any]) -> list[str]:
    """Why no instance is made of an image with these properties, whatever its flavor says."""
    return list(_refusals(_("image"), _IMAGE_RULES, present_words(properties)))


def not_provided(specs: Pairs, properties: Pairs) -> Iterator[str]:
    """Sentences that name the keys, of a flavor's extra specs and an image's properties under the names of today."""
    yield from flavor_refusals(specs)
    yield from image_refusals(properties)
    yield from machine_complaints(specs, properties)
    if is_true(properties.get("os_require_quiesce", "")) and not is_true(properties.get("hw_qemu_guest_agent", "")):
        yield _("os_require_quiesce of the image cannot be kept without hw_qemu_guest_agent, which freezes the guest.")
    yield from _quotas(specs)


def _refusals(owner: str, rules: _Rules, pairs: Pairs) -> Iterator[str]:
    for key, value in pairs.items():
        if why := rules.why(key, value):
            yield _(
                "{key}={value:.80} of the {owner} cannot be given to a guest: {why}.",
                key=key,
                value=value,
                owner=owner,
                why=why,
            )


def _quotas(specs: Pairs) -> Iterator[str]:
    """Limits that no hypervisor takes. Their texts are whole numbers, as the table of keys sees to."""
    for key, (lowest, highest) in CPU_QUOTAS.items():
        amount = int(specs.get(key, "0"))
        if amount > 0 and not lowest <= amount <= highest:
            yield _(
                "{key}={amount} of the flavor must be from {lowest} to {highest}.",
                key=key,
                amount=amount,
                lowest=lowest,
                highest=highest,
            )
    amounts = {
        key: int(value)
        for key, value in specs.items()
        if key.startswith(("quota:disk_", "quota:vif_")) and value.isdecimal()
    }
    for metric in ("bytes", "iops"):
        total = f"quota:disk_total_{metric}_sec"
        for part in (f"quota:disk_read_{metric}_sec", f"quota:disk_write_{metric}_sec"):
            if amounts.get(total) and amounts.get(part):
                yield _("{total} of the flavor goes without {part}.", total=total, part=part)
    for way in ("inbound", "outbound"):
        given = [f"quota:vif_{way}_{rate}" for rate in ("peak", "burst") if amounts.get(f"quota:vif_{way}_{rate}")]
        if given and not amounts.get(f"quota:vif_{way}_average"):
            yield _("{given} of the flavor needs quota:vif_{way}_average.", given=given[0], way=way)
