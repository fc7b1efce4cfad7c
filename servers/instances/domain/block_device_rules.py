"""From the disks that a request names, and what was found of them, to the disks that its instances will have.

Source: `nova.compute.api.API._check_and_transform_bdm` and `_validate_bdm`. Kinder than these in one thing: a request
that names an image, and no disk with boot index 0, gets the image's root disk without having to say so.
"""

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from computeagent.protocol.guest_disks import DISK_BUSES, free_device
from controlplane.kernel.texts import phrase as _
from scheduling.domain.snapshots import FlavorSnapshot
from servers.instances.domain.block_device_words import CDROM_BUSES, BlockDeviceWanted
from servers.volumes.domain.attachments import MAX_GUEST_DISKS
from servers.volumes.domain.block_device_faults import BlockDeviceFault, BlockDeviceProblem
from servers.volumes.domain.block_devices import (
    CDROM,
    DISK,
    ROOT,
    SWAP,
    BlockDevice,
    DestinationType,
    SourceType,
)

_F = BlockDeviceFault


@dataclass(frozen=True, slots=True)
class SourceFound:
    """What a request's `uuid` turned out to be. `min_gib`: how large a volume made of it has to be, and `size_gib`
    how large a volume that is there is, or one becomes where no size is said.
    """

    id: uuid.UUID
    min_gib: int = 0
    size_gib: int = 0
    is_bootable: bool = True


@dataclass(frozen=True, slots=True)
class DiskSurroundings:
    """What else of the request counts. `image_id`: the image that it names; `bus`: that of disks that say none.
    `max_local`: how many disks in its host's own storage an instance may name, below 0 for any number. `max_disks`: how
    many an instance may have in all, those of its flavor among them.
    """

    flavor: FlavorSnapshot
    image_id: uuid.UUID | None = None
    bus: str = "virtio"
    max_local: int = 3
    max_disks: int = MAX_GUEST_DISKS
    count: int = 1


def block_devices_decide(
    wanted: Sequence[BlockDeviceWanted],
    sources: Mapping[int, SourceFound],
    types: Mapping[int, uuid.UUID],
    around: DiskSurroundings,
) -> tuple[tuple[BlockDevice, ...], list[BlockDeviceProblem]]:
    """The disks in the order of the request, the root disk of its image first; and what is wrong with them together.

    `sources` and `types` are by the place in the request. Swap and ephemeral disks that are not named are those of the
    flavor, as in Nova.
    """
    problems = [*_boot_problems(wanted, around), *_local_problems(wanted, around), *_twice_problems(wanted, sources)]
    devices = []
    for one in wanted:
        source = sources.get(one.number)
        problems += _source_problems(one, source, around)
        devices.append(_device(one, source, types.get(one.number), around))
    if problems:
        return (), problems
    if not any(one.is_root for one in devices):
        root = BlockDevice(SourceType.IMAGE, DestinationType.LOCAL, around.image_id, ROOT, disk_bus=around.bus)
        devices.insert(0, replace(root, size_gib=around.flavor.root_gib, delete_on_termination=True))
    devices += _of_flavor(wanted, around)
    if len(devices) > around.max_disks:
        text = _(
            "The instance would have {disks} disks, those of its flavor among them; it has at most {max_disks}.",
            disks=len(devices),
            max_disks=around.max_disks,
        )
        return (), [BlockDeviceProblem(_F.FORMAT, text)]
    names, problems = device_names(devices)
    if problems:
        return (), problems
    return tuple(replace(one, device=name) for one, name in zip(devices, names, strict=True)), []


def _boot_problems(wanted: Sequence[BlockDeviceWanted], around: DiskSurroundings) -> list[BlockDeviceProblem]:
    """One root disk, and the others that may be booted from numbered after it."""
    indexes = sorted(one.boot_index for one in wanted if one.boot_index >= 0)
    if ROOT not in indexes:
        if around.image_id is None:
            return [BlockDeviceProblem(_F.BOOT_SEQUENCE, _("No disk has boot_index 0, and no image is named."))]
        indexes = [ROOT, *indexes]
    if indexes != list(range(len(indexes))):
        said = ", ".join(map(str, indexes))
        text = _("Boot indexes are 0, 1 and so on, each for one disk; here they are {said}.", said=said)
        return [BlockDeviceProblem(_F.BOOT_SEQUENCE, text)]
    return []


def _local_problems(wanted: Sequence[BlockDeviceWanted], around: DiskSurroundings) -> list[BlockDeviceProblem]:
    """Swap and ephemeral disks are no more than the flavor's, and the host's own disks no more than allowed."""
    flavor, problems = around.flavor, []
    swaps = [one for one in wanted if one.is_swap]
    if len(swaps) > 1:
        problems.append(
            BlockDeviceProblem(_F.FORMAT, _("Names {count} swap disks; an instance has one at most.", count=len(swaps)))
        )
    for one in swaps:
        if (one.size or 0) > flavor.swap_mib or not flavor.swap_mib:
            text = _(
                "A swap disk of {size} MiB; the flavor has {swap_mib} MiB of swap.",
                size=one.size or "any",
                swap_mib=flavor.swap_mib,
            )
            problems.append(BlockDeviceProblem(_F.SWAP_SIZE, text, one.number, "volume_size"))
    ephemerals = [one for one in wanted if one.is_ephemeral]
    total = sum(one.size or flavor.ephemeral_gib for one in ephemerals)
    if ephemerals and (total > flavor.ephemeral_gib or not flavor.ephemeral_gib):
        text = _(
            "Ephemeral disks of {total} GiB; the flavor has {ephemeral_gib} GiB for them.",
            total=total,
            ephemeral_gib=flavor.ephemeral_gib,
        )
        problems.append(BlockDeviceProblem(_F.EPHEMERAL_SIZE, text))
    local = sum(1 for one in wanted if one.is_local) + (not any(one.boot_index == ROOT for one in wanted))
    if 0 <= around.max_local < local:
        text = _(
            "Has {local} disks in its host's own storage; at most {max_local} are allowed.",
            local=local,
            max_local=around.max_local,
        )
        problems.append(BlockDeviceProblem(_F.LOCALS_LIMIT, text))
    return problems


def _twice_problems(
    wanted: Sequence[BlockDeviceWanted], sources: Mapping[int, SourceFound]
) -> list[BlockDeviceProblem]:
    problems = []
    volumes = [sources[one.number].id for one in wanted if _is_volume(one) and one.number in sources]
    for what, fault, values in (
        ("volume", _F.INVALID_VOLUME, [str(one) for one in volumes]),
        ("tag", _F.FORMAT, [one.tag for one in wanted if one.tag]),
    ):
        problems += [
            BlockDeviceProblem(fault, _("The {what} {value:.80} is there twice.", what=what, value=value))
            for value, count in Counter(values).items()
            if count > 1
        ]
    return problems


def _is_volume(one: BlockDeviceWanted) -> bool:
    return one.source_type is SourceType.VOLUME


def _source_problems(
    one: BlockDeviceWanted, source: SourceFound | None, around: DiskSurroundings
) -> list[BlockDeviceProblem]:
    kind, is_named = one.source_type.value, _is_volume(one)
    rules = []
    if is_named and around.count > 1:
        text = _("A volume can be given to one instance only, and up to {count} are asked for.", count=around.count)
        rules.append((_F.INVALID_VOLUME, "uuid", text))
    if source is not None and one.boot_index == ROOT:
        if not source.is_bootable:
            rules.append(
                (_F.NOT_BOOTABLE, "uuid", _("The {kind} {source} cannot be booted from.", kind=kind, source=source.id))
            )
        is_its_image = one.source_type is SourceType.IMAGE and source.id == around.image_id
        if around.image_id and not is_its_image:
            text = _(
                "The root disk is of the {kind} {source}, and the image that is named is another thing.",
                kind=kind,
                source=source.id,
            )
            rules.append((_F.IMAGE, "uuid", text))
    if source is not None and (wrong := _size_rule(one, source, around)):
        rules.append(wrong)
    return [BlockDeviceProblem(fault, text, one.number, key) for fault, key, text in rules]


def _size_rule(
    one: BlockDeviceWanted, source: SourceFound, around: DiskSurroundings
) -> tuple[BlockDeviceFault, str, str] | None:
    if one.is_local:
        text = _("An image makes a disk in a host's own storage only where it is named as the instance's image too.")
        return None if around.image_id == source.id else (_F.FORMAT, "destination_type", text)
    if _is_volume(one):
        text = _("The volume has {size_gib} GiB already.", size_gib=source.size_gib)
        return None if one.size in (None, source.size_gib) else (_F.FORMAT, "volume_size", text)
    if (one.size or source.size_gib) >= source.min_gib:
        return None
    return (
        _F.TOO_SMALL,
        "volume_size",
        _(
            "Is {size} GiB; the {source_type} needs {min_gib}.",
            size=one.size,
            source_type=one.source_type.value,
            min_gib=source.min_gib,
        ),
    )


def _device(
    one: BlockDeviceWanted, source: SourceFound | None, type_id: uuid.UUID | None, around: DiskSurroundings
) -> BlockDevice:
    flavor = around.flavor
    size_gib = (source.size_gib if source and _is_volume(one) else one.size or (source.size_gib if source else 0)) or 0
    if one.is_local:
        is_root = one.boot_index == ROOT
        size_gib = 0 if one.is_swap else flavor.root_gib if is_root else (one.size or flavor.ephemeral_gib)
    bus = one.disk_bus or around.bus
    if one.device_type == CDROM and bus not in CDROM_BUSES:
        bus = CDROM_BUSES[0]
    return BlockDevice(
        source_type=one.source_type,
        destination_type=one.destination_type,
        source_id=source.id if source else None,
        boot_index=one.boot_index,
        device=one.device,
        device_type=one.device_type,
        disk_bus=bus,
        guest_format=one.guest_format,
        size_gib=size_gib,
        size_mib=(one.size or flavor.swap_mib) if one.is_swap else 0,
        volume_type_id=type_id,
        delete_on_termination=one.is_local or bool(one.delete_on_termination),
        tag=one.tag,
    )


def _of_flavor(wanted: Sequence[BlockDeviceWanted], around: DiskSurroundings) -> list[BlockDevice]:
    flavor, devices = around.flavor, []
    blank = BlockDevice(
        SourceType.BLANK, DestinationType.LOCAL, device_type=DISK, disk_bus=around.bus, delete_on_termination=True
    )
    if flavor.ephemeral_gib and not any(one.is_ephemeral for one in wanted):
        devices.append(replace(blank, size_gib=flavor.ephemeral_gib))
    if flavor.swap_mib and not any(one.is_swap for one in wanted):
        devices.append(replace(blank, size_mib=flavor.swap_mib, guest_format=SWAP))
    return devices


def device_names(devices: Sequence[BlockDevice]) -> tuple[list[str], list[BlockDeviceProblem]]:
    """The name of each: as it was said, else the next of its bus, the root disk's first; and names that are taken."""
    counted = Counter(one.device for one in devices if one.device)
    problems = [
        BlockDeviceProblem(_F.FORMAT, _("The device name {name} is there twice.", name=name))
        for name, count in counted.items()
        if count > 1
    ]
    taken = set(counted)
    for one in devices:
        first = f"{DISK_BUSES[one.disk_bus]}a"
        if one.is_root and one.is_local:
            if first in taken and one.device != first:
                problems.append(
                    BlockDeviceProblem(_F.INVALID_VOLUME, _("{first} is the name of the root disk.", first=first))
                )
            elif one.device not in ("", first):
                problems.append(
                    BlockDeviceProblem(
                        _F.FORMAT, _("The root disk is {first}, not {device}.", first=first, device=one.device)
                    )
                )
    names = [one.device for one in devices]
    for at in sorted(range(len(devices)), key=lambda at: not devices[at].is_root):
        if not names[at]:
            names[at] = free_device(devices[at].disk_bus, taken)
            if not names[at]:
                problems.append(
                    BlockDeviceProblem(
                        _F.FORMAT, _("The bus {disk_bus} has no place left.", disk_bus=devices[at].disk_bus)
                    )
                )
            taken.add(names[at])
    return names, problems
