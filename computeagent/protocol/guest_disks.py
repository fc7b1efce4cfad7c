"""What a guest's disks are called: by their bus and their place on it. Pure.

Both sides read it here: the control plane to promise a name, the hypervisor to give it.
"""

import string
from collections.abc import Collection, Iterator, Mapping

DISK_BUSES = {"virtio": "vd", "sata": "sd", "ide": "hd", "scsi": "sd", "usb": "sd"}
"""The letters with which the names of a bus's disks begin; those of three buses share theirs."""
USUAL_BUS = "virtio"
HOT_PLUGGED_BUSES = ("virtio", "scsi", "usb")
"""Disks on any other bus come and go with a guest that is off."""
IDE_PLACES = 4


def disk_bus_of(properties: Mapping[str, str]) -> str:
    """The bus of the disks of a guest of this image, as it says or by the name of its root device; it may be none that
    we know.
    """
    if "hw_disk_bus" in properties:
        return properties["hw_disk_bus"].lower()
    return bus_of_device(properties.get("img_root_device_name", "")) or USUAL_BUS


def known_disk_bus_of(properties: Mapping[str, str]) -> str:
    """The same; the usual one where the image names none that we know."""
    bus = disk_bus_of(properties)
    return bus if bus in DISK_BUSES else USUAL_BUS


def bus_of_device(name: str) -> str:
    """The first bus whose disks are called so (vdb, /dev/sda); empty for none."""
    begins = name.removeprefix("/dev/")[:2]
    return next((bus for bus, prefix in DISK_BUSES.items() if prefix == begins), "")


def free_device(bus: str, taken: Collection[str]) -> str:
    """The first name of this bus that no disk has; empty where there is none. KeyError for an unknown bus."""
    for place, letters in enumerate(_letters()):
        if bus == "ide" and place == IDE_PLACES:
            break
        if (device := DISK_BUSES[bus] + letters) not in taken:
            return device
    return ""


def place_of_device(name: str) -> int:
    """How many names of its bus come before this one: 0 for sda, 25 for sdz, 26 for sdaa."""
    place = 0
    for letter in name.removeprefix("/dev/")[2:]:
        place = place * 26 + string.ascii_lowercase.index(letter) + 1
    return place - 1


def _letters() -> Iterator[str]:
    """a to z, then aa, ab, ... as Linux counts them."""
    yield from string.ascii_lowercase
    for first in string.ascii_lowercase:
        for second in string.ascii_lowercase:
            yield first + second
