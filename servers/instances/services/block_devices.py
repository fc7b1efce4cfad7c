"""The images, volumes, snapshots and volume types that a request's disks name are looked up and judged here.

Source: `nova.compute.api.API._validate_bdm` and what it raises.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from computeagent.protocol.guest_disks import known_disk_bus_of
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Invalid
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _
from scheduling.domain.request.image_property_names import present_names
from scheduling.domain.snapshots import FlavorSnapshot
from scheduling.fleet.selectors.zones import zone_exists
from servers.catalog.selectors.flavor import flavor_snapshot
from servers.conf import server_options
from servers.fields import Problems
from servers.images.domain.image_disks import disks_merged, has_root_of_its_own, image_disks
from servers.images.selectors import image_for_instance, image_snapshot
from servers.images.services.certificates import trusted_signature_require
from servers.instances.domain.block_device_rules import DiskSurroundings, SourceFound, block_devices_decide
from servers.instances.domain.block_device_words import (
    BlockDeviceWanted,
    block_devices_parse,
)
from servers.models import Flavor, Image, Volume, VolumeSnapshot, VolumeType
from servers.volumes.domain.attachments import max_disks_of, volume_zones_problem, zone_gone, zone_problem
from servers.volumes.domain.block_device_faults import (
    BlockDeviceFault,
    BlockDeviceProblem,
    problems_by_field,
    problems_of_request,
)
from servers.volumes.domain.block_devices import BlockDevice, SourceType, boots_from_volume
from servers.volumes.domain.states import VolumeSnapshotState, VolumeState
from servers.volumes.domain.volumes import gib_of, size_problems
from servers.volumes.selectors.volume_types import type_rules, volume_type_default, volume_types_visible

_F = BlockDeviceFault
NO_IMAGE = _("Name an image, or by block_device_mapping_v2 a volume to boot from.")


@dataclass(frozen=True, slots=True)
class DisksDecided:
    """What came of it. `devices` None: the disks are those of flavor and image. `image` is that of the instance: where
    it boots from a volume, what is known of the image that the volume was or is to be made of, which may be nothing.
    `zone`: that of its volumes, where zones are not crossed and the request asks for none; empty for any.
    """

    devices: tuple[BlockDevice, ...] | None = None
    image: Image | None = None
    image_snapshot: Mapping[str, Any] = field(default_factory=dict)
    zone: str = ""

    @property
    def is_bfv(self) -> bool:
        """Whether the root disk is a volume."""
        return boots_from_volume(self.devices or ())

    @property
    def image_id(self) -> uuid.UUID | None:
        """The image that the host needs for the root disk; none where that is a volume."""
        return None if self.is_bfv or self.image is None else self.image.pk

    @property
    def volume_ids(self) -> tuple[uuid.UUID, ...]:
        """The volumes that are there already."""
        return tuple(one.source_id for one in self.devices or () if one.is_named_volume and one.source_id)

    @property
    def made(self) -> tuple[BlockDevice, ...]:
        """The disks whose volumes are made with each instance."""
        return tuple(one for one in self.devices or () if one.makes_volume)


@dataclass(slots=True)
class _Looked:
    """What was found, by the place in the request, and what was not."""

    sources: dict[int, SourceFound] = field(default_factory=dict)
    types: dict[int, uuid.UUID] = field(default_factory=dict)
    root_image: Image | None = None
    root_snapshot: Mapping[str, Any] = field(default_factory=dict)
    zone: str = ""
    problems: list[BlockDeviceProblem] = field(default_factory=list)

    def wrong(self, one: BlockDeviceWanted, key: str, fault: BlockDeviceFault, text: str) -> None:
        """Note what is wrong with a disk."""
        self.problems.append(BlockDeviceProblem(fault, text, one.number, key))


def disks_found(
    caller: Caller,
    mapping: object,
    *,
    flavor: Flavor | None,
    image: Image | None,
    has_image: bool,
    zone: str = "",
    count: int = 1,
) -> tuple[DisksDecided, Problems]:
    """`mapping` as the request says it, for at most `count` instances in this zone. `has_image`: it names one, whether
    it was found or not. Five queries at most, and one for each image.
    """
    of_image, unfit = image_disks(image.properties) if image else ((), "")
    if unfit:
        return DisksDecided(image=image), {"image": [unfit]}
    if of_image and isinstance(mapping, Sequence | None) and not isinstance(mapping, str):
        return _with_image_disks(caller, of_image, mapping or (), image=image, flavor=flavor, zone=zone, count=count)
    return _disks_found(caller, mapping, flavor=flavor, image=image, has_image=has_image, zone=zone, count=count)


def _with_image_disks(
    caller: Caller,
    of_image: Sequence[Mapping[str, Any]],
    mapping: Sequence[Any],
    *,
    image: Image | None,
    flavor: Flavor | None,
    zone: str,
    count: int,
) -> tuple[DisksDecided, Problems]:
    """The image's own disks and then the request's. One of them is the root disk, or it is made of the image."""
    merged = disks_merged(of_image, mapping)
    mine = [one for one in merged if any(one is each for each in of_image)]
    is_root = image is not None and has_root_of_its_own(image.properties)
    decided, problems = _disks_found(
        caller,
        merged,
        flavor=flavor,
        image=None if is_root else image,
        has_image=not is_root,
        zone=zone,
        count=count,
    )
    found = DisksDecided(decided.devices, image, image_snapshot(image) if image else {}, decided.zone)
    return found, problems_of_request(problems, of_image=len(mine))


def _disks_found(
    caller: Caller,
    mapping: object,
    *,
    flavor: Flavor | None,
    image: Image | None,
    has_image: bool,
    zone: str,
    count: int,
) -> tuple[DisksDecided, Problems]:
    wanted, problems = block_devices_parse(mapping)
    if problems:
        return DisksDecided(image=image), problems_by_field(problems)
    if not wanted:
        if not has_image:
            return DisksDecided(), {"image": [NO_IMAGE]}
        unfit = _flavor_disks_unfit(flavor, image)
        return DisksDecided(image=image, image_snapshot=image_snapshot(image) if image else {}), unfit
    looked = _Looked()
    _images_find(caller, wanted, looked)
    _volumes_find(caller, wanted, looked, zone)
    _snapshots_find(caller, wanted, looked)
    _types_find(caller, wanted, looked)
    if looked.problems or flavor is None or (has_image and image is None):
        return DisksDecided(image=image), problems_by_field(looked.problems)
    chosen = image or looked.root_image
    around = _surroundings(flavor, image_id=image.pk if image else None, bus=_bus_of(chosen), count=count)
    devices, problems = block_devices_decide(wanted, looked.sources, looked.types, around)
    snapshot = image_snapshot(image) if image else looked.root_snapshot
    return DisksDecided(devices or None, chosen, snapshot, looked.zone), problems_by_field(problems)


def _surroundings(flavor: Flavor, *, image_id: uuid.UUID | None, bus: str, count: int) -> DiskSurroundings:
    options = server_options()
    return DiskSurroundings(
        flavor=FlavorSnapshot(**flavor_snapshot(flavor)),
        image_id=image_id,
        bus=bus,
        max_local=options.max_local_block_devices,
        max_disks=max_disks_of(options.max_disk_devices_to_attach),
        count=count,
    )


def _flavor_disks_unfit(flavor: Flavor | None, image: Image | None) -> Problems:
    """Why an instance that names no disk does not get those of its flavor and image; empty when it does."""
    if flavor is None or image is None:
        return {}
    around = _surroundings(flavor, image_id=image.pk, bus=_bus_of(image), count=1)
    _devices, problems = block_devices_decide((), {}, {}, replace(around, max_local=-1))
    return {"flavor": [one.text for one in problems]} if problems else {}


def _bus_of(image: Image | None) -> str:
    known = present_names(image.properties if image else {})
    return known_disk_bus_of({key: str(value) for key, value in known.items()})


def _of_kind(wanted: Sequence[BlockDeviceWanted], kind: SourceType) -> list[BlockDeviceWanted]:
    return [one for one in wanted if one.source_type is kind]


def _images_find(caller: Caller, wanted: Sequence[BlockDeviceWanted], looked: _Looked) -> None:
    for one in _of_kind(wanted, SourceType.IMAGE):
        try:
            image = image_for_instance(caller=caller, reference=one.reference)
            if not one.is_local:
                trusted_signature_require(image, (), project_id=caller.project_id)
        except Invalid as error:
            looked.wrong(one, "uuid", _F.IMAGE, error.message)
            continue
        needed = max(image.min_disk_gib, gib_of(max(image.size_bytes, image.virtual_size_bytes)))
        looked.sources[one.number] = SourceFound(image.pk, min_gib=needed)
        if one.boot_index == 0:
            looked.root_image, looked.root_snapshot = image, image_snapshot(image)


def _volumes_find(caller: Caller, wanted: Sequence[BlockDeviceWanted], looked: _Looked, zone: str) -> None:
    """Volumes of the caller's project that could be given to an instance now."""
    mine = _of_kind(wanted, SourceType.VOLUME)
    rows = Volume.objects.filter(project_id=caller.project_id, pk__in=_ids(mine)) if mine else Volume.objects.none()
    found = {row.pk: row for row in rows}
    may_cross = server_options().cross_az_attach
    for one in mine:
        volume = found.get(parse_uuid(one.reference) or uuid.UUID(int=0))
        if volume is None:
            looked.wrong(one, "uuid", _F.VOLUME, _("There is no volume {reference!r:.80}.", reference=one.reference))
            continue
        free = (VolumeState.AVAILABLE, VolumeState.IN_USE) if volume.is_multiattach else (VolumeState.AVAILABLE,)
        if volume.state not in free:
            text = _(
                "Volume {volume} is {state}; it must be {available}.",
                volume=volume,
                state=volume.state,
                available=VolumeState.AVAILABLE.value,
            )
            looked.wrong(one, "uuid", _F.INVALID_VOLUME, text)
        if volume.pool_id is None:
            looked.wrong(
                one,
                "uuid",
                _F.INVALID_VOLUME,
                _("Volume {volume} is in no pool, so no host reaches it.", volume=volume),
            )
        if not may_cross:
            _zone_look(one, volume, looked, zone)
        looked.sources[one.number] = SourceFound(volume.pk, size_gib=volume.size_gib, is_bootable=volume.is_bootable)
        _root_of(one, volume, looked)


def _zone_look(one: BlockDeviceWanted, volume: Volume, looked: _Looked, zone: str) -> None:
    """Where zones are not crossed the volume is in the zone that is asked for; where none is, all volumes are in one
    zone, and the instance with them. One without a zone goes anywhere.

    Source: `nova.compute.api.API._validate_vol_az_for_create`, which leaves the default zone unsaid: so an instance
    might get a host of another one.
    """
    own = volume.availability_zone
    if zone or not own:
        text = zone_problem(volume, volume_zone=own, zone=zone, is_crossing_allowed=False)
    elif looked.zone:
        text = volume_zones_problem(volume, volume_zone=own, zone=looked.zone)
    else:
        looked.zone = own
        text = "" if zone_exists(name=own) else zone_gone(volume, volume_zone=own)
    if text:
        looked.wrong(one, "uuid", _F.ZONE, text)


def _snapshots_find(caller: Caller, wanted: Sequence[BlockDeviceWanted], looked: _Looked) -> None:
    mine = _of_kind(wanted, SourceType.SNAPSHOT)
    rows = VolumeSnapshot.objects.select_related("volume").filter(project_id=caller.project_id, pk__in=_ids(mine))
    found = {row.pk: row for row in rows} if mine else {}
    for one in mine:
        snapshot = found.get(parse_uuid(one.reference) or uuid.UUID(int=0))
        if snapshot is None:
            looked.wrong(
                one,
                "uuid",
                _F.SNAPSHOT_NOT_FOUND,
                _("There is no snapshot {reference!r:.80}.", reference=one.reference),
            )
            continue
        if snapshot.state != VolumeSnapshotState.AVAILABLE:
            text = _(
                "Snapshot {snapshot} is {state}; it must be {available}.",
                snapshot=snapshot,
                state=snapshot.state,
                available=VolumeSnapshotState.AVAILABLE.value,
            )
            looked.wrong(one, "uuid", _F.SNAPSHOT, text)
        size, volume = snapshot.size_gib, snapshot.volume
        looked.sources[one.number] = SourceFound(snapshot.pk, size, size, is_bootable=volume.is_bootable)
        if volume.volume_type_id and not one.volume_type:
            looked.types[one.number] = volume.volume_type_id
        _root_of(one, volume, looked)


def _root_of(one: BlockDeviceWanted, volume: Volume, looked: _Looked) -> None:
    """What the volume's own image says of the hardware counts for the instance that boots from it."""
    if one.boot_index == 0:
        looked.root_snapshot, looked.root_image = volume.image, image_of_volume(volume)


def image_of_volume(volume: Volume) -> Image:
    """The image as it was when the volume was made of it, to be judged by the rules of images; it is no row, and has
    neither properties nor demands where the volume was made of none.
    """
    names = ("min_disk_gib", "min_ram_mib", "properties")
    said = {name: volume.image[name] for name in names if name in volume.image}
    return Image(
        name=volume.image.get("name", ""),
        status=volume.image.get("status", "active"),
        disk_format=volume.image.get("disk_format", "raw"),
        project_id=volume.project_id,
        **said,
    )


def _types_find(caller: Caller, wanted: Sequence[BlockDeviceWanted], looked: _Looked) -> None:
    """The type of each volume that is made: the one that is named, else that of its source, else the default one."""
    makes = [one for one in wanted if not one.is_local and one.source_type is not SourceType.VOLUME]
    if not makes:
        return
    visible = {str(row.pk): row for row in volume_types_visible(caller)}
    by_name = {row.name: row for row in visible.values()}
    default = volume_type_default()
    for one in makes:
        named: VolumeType | None = by_name.get(one.volume_type) or visible.get(one.volume_type)
        if one.volume_type and named is None:
            text = _("There is no volume type {volume_type!r:.80}.", volume_type=one.volume_type)
            looked.wrong(one, "volume_type", _F.TYPE_NOT_FOUND, text)
            continue
        of_source = visible.get(str(looked.types.get(one.number)))
        chosen = named or of_source or default
        if chosen is None:
            looked.types.pop(one.number, None)
            continue
        looked.types[one.number] = chosen.pk
        source = looked.sources.get(one.number)
        size = one.size or (source.size_gib if source else 0)
        for reason in size_problems(size, rules=type_rules(chosen)).get("size_gib", []) if size else ():
            looked.wrong(one, "volume_size", _F.BDM, reason)


def _ids(wanted: Sequence[BlockDeviceWanted]) -> list[uuid.UUID]:
    return [pk for one in wanted if (pk := parse_uuid(one.reference)) is not None]
