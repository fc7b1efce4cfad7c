"""Block device mappings as a request says them, and what is wrong with the words of each.

Sources: `block_device_mapping_v2` of Nova's server schema, `nova.block_device.BlockDeviceDict`. Nothing is looked up.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from computeagent.protocol.guest_disks import DISK_BUSES, bus_of_device
from controlplane.kernel.texts import phrase as _
from servers.fields import INTEGER_MAX, text_reasons
from servers.instances.domain.instance_rules import tags_reasons
from servers.volumes.domain.block_device_faults import BlockDeviceFault, BlockDeviceProblem
from servers.volumes.domain.block_devices import CDROM, DISK, SWAP, DestinationType, SourceType

MAX_BLOCK_DEVICES = 24
"""Disks that one request may name: a guest has no more letters for them beside its config drive."""
CDROM_BUSES = ("sata", "scsi", "usb", "ide")
FILE_SYSTEMS = ("ext2", "ext3", "ext4")
"""Those that every host can make on an ephemeral disk."""
KEYS = (
    "boot_index",
    "delete_on_termination",
    "destination_type",
    "device_name",
    "device_type",
    "disk_bus",
    "guest_format",
    "no_device",
    "source_type",
    "tag",
    "uuid",
    "volume_size",
    "volume_type",
)
_TEXTS = (
    "destination_type",
    "device_name",
    "device_type",
    "disk_bus",
    "guest_format",
    "source_type",
    "tag",
    "uuid",
    "volume_type",
)
_DEVICE = re.compile(r"(?:/dev/)?((vd|sd|hd)[a-z]{1,2})")
_NUMBER = re.compile(r"[+-]?[0-9]{1,10}")
_F = BlockDeviceFault


@dataclass(frozen=True, slots=True)
class BlockDeviceWanted:
    """One disk as a request says it. `size` is GiB, but of a swap disk MiB, as in Nova; None: not said. `reference` is
    the `uuid` of image, snapshot or volume, and `volume_type` a name or id.
    """

    number: int
    source_type: SourceType
    destination_type: DestinationType
    reference: str = ""
    boot_index: int = -1
    size: int | None = None
    volume_type: str = ""
    delete_on_termination: bool | None = None
    device: str = ""
    device_type: str = DISK
    disk_bus: str = ""
    guest_format: str = ""
    tag: str = ""

    @property
    def is_local(self) -> bool:
        """Whether it is in its host's own storage."""
        return self.destination_type is DestinationType.LOCAL

    @property
    def is_swap(self) -> bool:
        """Whether it is a swap disk."""
        return self.is_local and self.guest_format == SWAP

    @property
    def is_ephemeral(self) -> bool:
        """Whether it is an ephemeral disk of the host."""
        return self.is_local and self.source_type is SourceType.BLANK and self.guest_format != SWAP


def block_devices_parse(value: object) -> tuple[tuple[BlockDeviceWanted, ...], list[BlockDeviceProblem]]:
    """The disks of a request, and what is wrong with each by itself. None and an empty list say nothing."""
    if value is None:
        return (), []
    if isinstance(value, str) or not isinstance(value, Sequence):
        return (), [
            BlockDeviceProblem(_F.FORMAT, _("Must be a list of objects, not {name}.", name=type(value).__name__))
        ]
    if len(value) > MAX_BLOCK_DEVICES:
        text = _(
            "Has {count} disks; an instance has at most {max_block_devices}.",
            count=len(value),
            max_block_devices=MAX_BLOCK_DEVICES,
        )
        return (), [BlockDeviceProblem(_F.FORMAT, text)]
    devices, problems = [], []
    for number, each in enumerate(value):
        device, wrong = _parse_one(number, each)
        problems += wrong
        if device is not None:
            problems += _combination_problems(device)
            devices.append(device)
    return tuple(devices), problems


def _parse_one(number: int, value: object) -> tuple[BlockDeviceWanted | None, list[BlockDeviceProblem]]:
    if not isinstance(value, Mapping):
        return None, [
            BlockDeviceProblem(_F.FORMAT, _("Must be an object, not {name}.", name=type(value).__name__), number)
        ]
    if unknown := [key for key in value if key not in KEYS]:
        text = _("Has no {unknown!r:.40}; it takes {keys}.", unknown=unknown[0], keys=", ".join(KEYS))
        return None, [BlockDeviceProblem(_F.FORMAT, text, number)]
    said = {key: one for key, one in value.items() if one not in (None, "")}
    texts = ((key, reason) for key in _TEXTS if key in said for reason in text_reasons(said[key], maximum=255))
    if problems := [BlockDeviceProblem(_F.FORMAT, reason, number, key) for key, reason in texts]:
        return None, problems

    def wrong(key: str, text: str, fault: BlockDeviceFault = _F.FORMAT) -> None:
        problems.append(BlockDeviceProblem(fault, text, number, key))

    if _flag(said.get("no_device"), wrong, "no_device"):
        wrong("no_device", _("Takes a disk of the image away, and the image names none of this device name."))
    source = said.get("source_type", "")
    usual = DestinationType.VOLUME if source in (SourceType.VOLUME, SourceType.SNAPSHOT) else DestinationType.LOCAL
    destination, device_type = said.get("destination_type", usual.value), said.get("device_type", DISK)
    for key, word, words in (
        ("source_type", source, tuple(SourceType)),
        ("destination_type", destination, tuple(DestinationType)),
        ("device_type", device_type, (DISK, CDROM)),
    ):
        if word not in words:
            wrong(key, _("Must be one of {words}, not {word!r:.40}.", words=", ".join(words), word=word))
    bus, device = _place(said, wrong)
    boot_index = _number(said.get("boot_index"), wrong, "boot_index", minimum=-INTEGER_MAX)
    size = _number(said.get("volume_size"), wrong, "volume_size", minimum=0)
    delete_on_termination = _flag(said.get("delete_on_termination"), wrong, "delete_on_termination")
    for reason in tags_reasons([said["tag"]]) if "tag" in said else ():
        wrong("tag", reason)
    if problems:
        return None, problems
    return BlockDeviceWanted(
        number=number,
        source_type=SourceType(source),
        destination_type=DestinationType(destination),
        reference=said.get("uuid", ""),
        boot_index=-1 if boot_index is None else max(boot_index, -1),
        size=size or None,
        volume_type=said.get("volume_type", ""),
        delete_on_termination=delete_on_termination,
        device=device,
        device_type=device_type,
        disk_bus=bus,
        guest_format=said.get("guest_format", ""),
        tag=said.get("tag", ""),
    ), []


def _place(said: Mapping[str, Any], wrong: Any) -> tuple[str, str]:
    """Bus and device name, each of which may say the other."""
    bus, named = said.get("disk_bus", ""), said.get("device_name", "")
    if bus and bus not in DISK_BUSES:
        wrong(
            "disk_bus",
            _("Must be one of {disk_buses}, not {bus!r:.40}.", disk_buses=", ".join(DISK_BUSES), bus=bus),
            _F.DISK_BUS,
        )
        return "", ""
    if bus and said.get("device_type") == CDROM and bus not in CDROM_BUSES:
        wrong(
            "disk_bus",
            _("A cdrom is attached by one of {cdrom_buses}, not {bus}.", cdrom_buses=", ".join(CDROM_BUSES), bus=bus),
            _F.DISK_BUS,
        )
    if not named:
        return bus, ""
    match = _DEVICE.fullmatch(named)
    if match is None:
        wrong("device_name", _("Must be such as vdb or /dev/vdb, not {named!r:.40}.", named=named))
        return bus, ""
    device, prefix = match.groups()
    if bus and DISK_BUSES[bus] != prefix:
        wrong(
            "device_name",
            _(
                "Disks of the bus {bus} are called {disk_buses}a and so on, not {device}.",
                bus=bus,
                disk_buses=DISK_BUSES[bus],
                device=device,
            ),
        )
    return bus or bus_of_device(device), device


def _number(value: object, wrong: Any, key: str, *, minimum: int) -> int | None:
    """A whole number, or text of one, as Nova takes it."""
    if value is None:
        return None
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        wrong(key, _("Must be a whole number, not {value!r:.40}.", value=value))
    elif not minimum <= value <= INTEGER_MAX:
        wrong(
            key,
            _(
                "Is {value}; it is from {minimum} to {integer_max}.",
                value=value,
                minimum=minimum,
                integer_max=INTEGER_MAX,
            ),
        )
    else:
        return value
    return None


def _flag(value: object, wrong: Any, key: str) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    wrong(key, _("Must be true or false, not {value!r:.40}.", value=value))
    return None


def _combination_problems(one: BlockDeviceWanted) -> list[BlockDeviceProblem]:
    """What of a disk does not go together, whatever it names."""
    is_blank = one.source_type is SourceType.BLANK
    rules: list[_Rule] = [
        (is_blank and bool(one.reference), "uuid", _("A blank disk is made of nothing."), _F.FORMAT),
        (
            not is_blank and not one.reference,
            "uuid",
            _("Name the {source_type}.", source_type=one.source_type.value),
            _F.FORMAT,
        ),
    ]
    if not one.is_local:
        rules += _volume_rules(one)
    elif one.source_type is SourceType.IMAGE:
        rules += [*_local_rules(one), *_local_root_rules(one)]
    elif is_blank:
        rules += [*_local_rules(one), *_blank_rules(one)]
    else:
        text = _(
            "What a {source_type} has is in a volume, not in a host's own storage.", source_type=one.source_type.value
        )
        rules.append((True, "destination_type", text, _F.FORMAT))
    return [BlockDeviceProblem(fault, text, one.number, key) for is_wrong, key, text, fault in rules if is_wrong]


_Rule = tuple[bool, str, str, BlockDeviceFault]
"""Whether it is broken, by what, and what is said then."""


def _volume_rules(one: BlockDeviceWanted) -> list[_Rule]:
    source, is_blank = one.source_type, one.source_type is SourceType.BLANK
    has_type = bool(one.volume_type) and source is SourceType.VOLUME
    of_image = _("A volume that is made of an image needs a size in GiB.")
    return [
        (bool(one.guest_format), "guest_format", _("A volume is formatted by whoever uses it."), _F.FORMAT),
        (has_type, "volume_type", _("The volume has its type already."), _F.FORMAT),
        (not one.size and source is SourceType.IMAGE, "volume_size", of_image, _F.BDM),
        (not one.size and is_blank, "volume_size", _("A blank volume needs a size in GiB."), _F.BDM),
    ]


def _local_rules(one: BlockDeviceWanted) -> list[_Rule]:
    is_left, key = one.delete_on_termination is False, "delete_on_termination"
    return [
        (bool(one.volume_type), "volume_type", _("A disk in a host's own storage has no volume type."), _F.FORMAT),
        (
            one.device_type != DISK,
            "device_type",
            _("A disk in a host's own storage is a {disk}.", disk=DISK),
            _F.FORMAT,
        ),
        (is_left, key, _("A disk in a host's own storage goes with its instance."), _F.FORMAT),
    ]


def _local_root_rules(one: BlockDeviceWanted) -> list[_Rule]:
    no_root = _("An image makes a disk in a host's own storage only as the root disk.")
    of_flavor = _("The root disk in a host's own storage is as large as the flavor says.")
    return [
        (one.boot_index != 0, "destination_type", no_root, _F.FORMAT),
        (bool(one.size), "volume_size", of_flavor, _F.FORMAT),
        (bool(one.disk_bus), "disk_bus", _("The bus of this disk is what the image says by hw_disk_bus."), _F.DISK_BUS),
        (bool(one.guest_format), "guest_format", _("The root disk has what its image has."), _F.FORMAT),
    ]


def _blank_rules(one: BlockDeviceWanted) -> list[_Rule]:
    formats = ("", SWAP, *FILE_SYSTEMS)
    unknown = _(
        "Must be {swap} or one of {file_systems}, not {guest_format!r:.40}.",
        swap=SWAP,
        file_systems=", ".join(FILE_SYSTEMS),
        guest_format=one.guest_format,
    )
    return [
        (one.boot_index >= 0, "boot_index", _("An empty disk has nothing to boot from."), _F.BOOT_SEQUENCE),
        (one.guest_format not in formats, "guest_format", unknown, _F.FORMAT),
    ]
