"""Block device mappings, version 2: where a disk comes from and where it is."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from computeagent.protocol.volumes import LocalDiskKind


class SourceType(StrEnum):
    """What a disk begins with."""

    IMAGE = "image"
    VOLUME = "volume"
    SNAPSHOT = "snapshot"
    BLANK = "blank"


class DestinationType(StrEnum):
    """Where a disk is: on its instance's host and gone with it, or a volume."""

    LOCAL = "local"
    VOLUME = "volume"


SWAP = "swap"
"""The `guest_format` of a swap disk."""
DISK, CDROM = "disk", "cdrom"
ROOT = 0
"""The boot index of the root disk."""


@dataclass(frozen=True, slots=True)
class BlockDevice:
    """One disk of an instance as it was decided on: fields of the row `BlockDeviceMapping`, by its names.

    `source_id`: the image, snapshot or volume. `size_gib` is that of a volume, the root disk or an ephemeral one;
    `size_mib` that of a swap disk.
    """

    source_type: SourceType
    destination_type: DestinationType
    source_id: uuid.UUID | None = None
    boot_index: int = -1
    device: str = ""
    device_type: str = DISK
    disk_bus: str = ""
    guest_format: str = ""
    size_gib: int = 0
    size_mib: int = 0
    volume_type_id: uuid.UUID | None = None
    delete_on_termination: bool = False
    tag: str = ""

    @property
    def is_root(self) -> bool:
        """Whether the instance boots from it first."""
        return self.boot_index == ROOT

    @property
    def is_local(self) -> bool:
        """Whether it is in its host's own storage."""
        return self.destination_type is DestinationType.LOCAL

    @property
    def is_named_volume(self) -> bool:
        """Whether it is a volume that is there already."""
        return self.source_type is SourceType.VOLUME

    @property
    def makes_volume(self) -> bool:
        """Whether its volume is made with the instance, on the host that is chosen."""
        return not self.is_local and not self.is_named_volume

    @property
    def local_kind(self) -> LocalDiskKind | None:
        """What it is of the flavor: ephemeral or swap disk; None for the root disk and volumes."""
        if not self.is_local or self.source_type is not SourceType.BLANK:
            return None
        return LocalDiskKind.SWAP if self.guest_format == SWAP else LocalDiskKind.EPHEMERAL

    def to_dict(self) -> dict[str, Any]:
        """Plain values, without those that say nothing."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        said = {each.name for each in fields(self) if values[each.name] != each.default}
        return {name: str(value) if name in _IDS else value for name, value in values.items() if name in said}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "BlockDevice":
        """The inverse of `to_dict`; what is not known here is left out."""
        values = {each.name: data[each.name] for each in fields(cls) if each.name in data}
        for name in _IDS & values.keys():
            values[name] = uuid.UUID(values[name])
        values["source_type"] = SourceType(values["source_type"])
        values["destination_type"] = DestinationType(values["destination_type"])
        return cls(**values)


_IDS = frozenset({"source_id", "volume_type_id"})


_BUSES_ANYWHERE = frozenset({"", "virtio", "sata", "ide"})


def bus_traits(devices: Sequence[BlockDevice]) -> frozenset[str]:
    """The traits of hosts that can attach these disks, by buses that not every host has."""
    buses = {one.disk_bus for one in devices} - _BUSES_ANYWHERE
    return frozenset(f"COMPUTE_STORAGE_BUS_{bus.upper()}" for bus in buses)


def boots_from_volume(devices: Sequence[BlockDevice]) -> bool:
    """Whether the root disk is a volume."""
    return any(one.is_root and not one.is_local for one in devices)
