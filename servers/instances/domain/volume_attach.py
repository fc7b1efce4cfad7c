"""Whether an instance may get one more disk, or lose one, and what it is called. Pure."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from computeagent.protocol.guest_disks import DISK_BUSES, HOT_PLUGGED_BUSES, free_device
from controlplane.kernel.texts import phrase as _
from servers.instances.domain.instance_rules import tags_reasons
from servers.states import POWERED_ON
from servers.volumes.domain.attachments import max_disks_of
from servers.volumes.domain.block_devices import CDROM, DISK

_DEVICE = re.compile(r"(/dev/)?([a-z]d[a-z]{1,2})")


@dataclass(frozen=True, slots=True)
class AttachProblem:
    """Why not, and which argument is to blame."""

    message: str
    field: str


def attach_problem(
    *, disks: int, limit: int, tag: str, tags: Collection[str], bus: str, power_state: str
) -> AttachProblem | None:
    """Why the instance, which has so many disks with these tags, gets no other one. A `limit` below 0 is none of the
    operator's.
    """
    max_disks = max_disks_of(limit)
    if disks >= max_disks:
        return AttachProblem(
            _("The instance has {disks} disks; it has at most {max_disks}.", disks=disks, max_disks=max_disks), "volume"
        )
    if tag and (reasons := tags_reasons([tag])):
        return AttachProblem(reasons[0], "tag")
    if tag and tag in tags:
        return AttachProblem(_("Another disk of the instance has the tag {tag:.60}.", tag=tag), "tag")
    if power_state in POWERED_ON and bus not in HOT_PLUGGED_BUSES:
        text = _(
            "The instance's disks are on the bus {bus}, to which none can be added while it is on: stop it first.",
            bus=bus,
        )
        return AttachProblem(text, "volume")
    return None


def detach_problem(*, bus: str, device_type: str, power_state: str) -> AttachProblem | None:
    """Why the disk does not leave the instance now. A row of earlier times names no bus: its host judges."""
    if power_state not in POWERED_ON or not bus or (bus in HOT_PLUGGED_BUSES and device_type != CDROM):
        return None
    text = _(
        "The volume is a {device_type} on the bus {bus}, which leaves an instance only while it is off: stop it first.",
        device_type=device_type or DISK,
        bus=bus,
    )
    return AttachProblem(text, "volume")


def device_chosen(named: str, bus: str, taken: Collection[str]) -> tuple[str, str]:
    """What the disk is called, and why it cannot be called what was asked for: one of both is empty."""
    prefix = DISK_BUSES[bus]
    if named:
        match = _DEVICE.fullmatch(named)
        if match is None or not match[2].startswith(prefix):
            return "", _(
                "Is {named!r:.40}; on the bus {bus} disks are called {prefix}b, {prefix}c and so on.",
                named=named,
                bus=bus,
                prefix=prefix,
            )
        return (
            ("", _("Another disk of the instance is called {match}.", match=match[2]))
            if match[2] in taken
            else (match[2], "")
        )
    device = free_device(bus, taken)
    return device, "" if device else _("There is no place left for a disk on the bus {bus}.", bus=bus)
