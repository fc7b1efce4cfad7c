"""What can be wrong with a block device mapping: Nova's faults by name, each with the field and a sentence."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from servers.fields import Problems

FIELD = "block_device_mapping_v2"


class BlockDeviceFault(StrEnum):
    """Nova's name of the refusal, which stands in brackets behind its sentence."""

    BDM = "InvalidBDM"
    FORMAT = "InvalidBDMFormat"
    BOOT_SEQUENCE = "InvalidBDMBootSequence"
    LOCALS_LIMIT = "InvalidBDMLocalsLimit"
    EPHEMERAL_SIZE = "InvalidBDMEphemeralSize"
    SWAP_SIZE = "InvalidBDMSwapSize"
    DISK_BUS = "InvalidBDMDiskBus"
    IMAGE = "InvalidBDMImage"
    SNAPSHOT = "InvalidBDMSnapshot"
    VOLUME = "InvalidBDMVolume"
    NOT_BOOTABLE = "InvalidBDMVolumeNotBootable"
    INVALID_VOLUME = "InvalidVolume"
    ZONE = "MismatchVolumeAZException"
    TYPE_NOT_FOUND = "VolumeTypeNotFound"
    SNAPSHOT_NOT_FOUND = "SnapshotNotFound"
    TOO_SMALL = "VolumeSmallerThanMinDisk"


@dataclass(frozen=True, slots=True)
class BlockDeviceProblem:
    """`number`: the place of the disk in the request, None for all of them together. `key`: what of it."""

    fault: BlockDeviceFault
    text: str
    number: int | None = None
    key: str = ""

    @property
    def field(self) -> str:
        """The field's name in an answer: `block_device_mapping_v2.1.volume_size`."""
        place = [] if self.number is None else [str(self.number)]
        return ".".join([FIELD, *place, *([self.key] if self.key else [])])


def problems_by_field(found: Iterable[BlockDeviceProblem]) -> Problems:
    """The sentences by field, each with the name of its fault."""
    problems: Problems = {}
    for one in found:
        problems.setdefault(one.field, []).append(f"{one.text} ({one.fault.value})")
    return problems


def problems_of_request(problems: Problems, *, of_image: int) -> Problems:
    """The same where the first `of_image` disks are the image's: what is wrong with them is wrong with `image`, and the
    places of the others are those of the request.
    """
    found: Problems = {}
    for field, reasons in problems.items():
        name, _, rest = field.partition(".")
        number, _, key = rest.partition(".")
        if name != FIELD or not number.isdigit():
            found.setdefault(field, []).extend(reasons)
        elif int(number) < of_image:
            found.setdefault("image", []).extend(f"Its disk {number}: {reason}" for reason in reasons)
        else:
            place = ".".join(part for part in (FIELD, str(int(number) - of_image), key) if part)
            found.setdefault(place, []).extend(reasons)
    return found
