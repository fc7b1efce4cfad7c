"""What an image says of the root disk and of a kernel that boots it. Names are Nova's and Glance's."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from computeagent.protocol.guest_disks import DISK_BUSES, known_disk_bus_of
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _
from scheduling.domain.request.image_property_names import present_names

KERNEL_ID, RAMDISK_ID, COMMAND_LINE, ROOT_DEVICE = "kernel_id", "ramdisk_id", "os_command_line", "img_root_device_name"
NO_KERNEL = "nokernel"
_ROOT = re.compile(r"(/dev/)?(vd|sd|hd)a")


def kernel_and_ramdisk(properties: Mapping[str, Any]) -> tuple[str, str]:
    """The ids of the images that the image names; empty for none. Its word `nokernel` says that there is neither."""
    kernel, ramdisk = str(properties.get(KERNEL_ID) or ""), str(properties.get(RAMDISK_ID) or "")
    return ("", "") if kernel == NO_KERNEL else (kernel, ramdisk)


def root_device_name(properties: Mapping[str, Any]) -> str:
    """The root disk as the guest calls it, such as /dev/vda: by its name in the image, or by the bus of its disks."""
    known = present_names(properties)
    named = str(known.get(ROOT_DEVICE) or "")
    if named:
        return f"/dev/{named.removeprefix('/dev/')}"
    return f"/dev/{DISK_BUSES[known_disk_bus_of({key: str(value) for key, value in known.items()})]}a"


def boot_contradictions(properties: Mapping[str, Any]) -> Iterator[str]:
    """What cannot be done of it: sentences that name the properties."""
    known = present_names(properties)
    kernel, ramdisk = kernel_and_ramdisk(known)
    for key, value in ((KERNEL_ID, kernel), (RAMDISK_ID, ramdisk)):
        if value and parse_uuid(value) is None:
            yield _("{key}={value:.80} of the image is not the id of an image.", key=key, value=value)
    if ramdisk and not kernel:
        yield _("{ramdisk_id} of the image goes with a {kernel_id}.", ramdisk_id=RAMDISK_ID, kernel_id=KERNEL_ID)
    if known.get(COMMAND_LINE) and not kernel:
        yield _(
            "{command_line} of the image goes with a {kernel_id}; what boots from its disk has its own.",
            command_line=COMMAND_LINE,
            kernel_id=KERNEL_ID,
        )
    named, bus = str(known.get(ROOT_DEVICE) or ""), str(known.get("hw_disk_bus") or "")
    if not named:
        return
    if _ROOT.fullmatch(named) is None:
        yield _(
            "{root_device}={named:.80} of the image is not possible; guests boot from vda, sda or hda.",
            root_device=ROOT_DEVICE,
            named=named,
        )
    elif bus in DISK_BUSES and not named.removeprefix("/dev/").startswith(DISK_BUSES[bus]):
        yield _(
            "{root_device}={named:.80} of the image is no disk of hw_disk_bus={bus}.",
            root_device=ROOT_DEVICE,
            named=named,
            bus=bus,
        )
