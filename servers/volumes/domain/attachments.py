"""Which instance may have which volume: the rules, and what a volume is by who has it. Pure."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass

from controlplane.kernel.texts import phrase as _
from servers.volumes.domain.states import AttachmentState, VolumeState

MAX_GUEST_DISKS = 26
"""As many as there are letters for the names of disks."""


def max_disks_of(limit: int) -> int:
    """How many disks an instance may have by the operator's `limit`; below 0 there is none."""
    return MAX_GUEST_DISKS if limit < 0 else min(limit, MAX_GUEST_DISKS)


def zone_problem(volume: object, *, volume_zone: str, zone: str, is_crossing_allowed: bool) -> str:
    """Why an instance of this zone may not have the volume; empty when it may, and where either is in no zone.

    Source: Nova's `cross_az_attach`.
    """
    if is_crossing_allowed or not zone or not volume_zone or volume_zone == zone:
        return ""
    return _(
        "Volume {volume} is in zone {availability_zone}, and the instance in {zone}.",
        volume=volume,
        availability_zone=volume_zone,
        zone=zone,
    )


def volume_zones_problem(volume: object, *, volume_zone: str, zone: str) -> str:
    """Why an instance may not have the volume beside those of this zone; empty when it may."""
    if volume_zone == zone:
        return ""
    return _(
        "Volume {volume} is in zone {availability_zone}, and another volume of the instance in {zone}.",
        volume=volume,
        availability_zone=volume_zone,
        zone=zone,
    )


def zone_gone(volume: object, *, volume_zone: str) -> str:
    """Why an instance may not follow the volume into its zone."""
    return _("Volume {volume} is in zone {zone}, which there is no more.", volume=volume, zone=volume_zone)


@dataclass(frozen=True, slots=True)
class AttachmentRequest:
    """A volume that an instance is to have. `device` is the name that it is likely to get there (vdb). `is_being_made`:
    the instance's own build makes it.
    """

    volume_id: uuid.UUID
    device: str = ""
    is_read_only: bool = False
    is_being_made: bool = False


ATTACHMENT_STATES = frozenset(
    {
        VolumeState.AVAILABLE,
        VolumeState.RESERVED,
        VolumeState.ATTACHING,
        VolumeState.IN_USE,
        VolumeState.DETACHING,
    }
)
"""The states that say who has the volume, and nothing else."""

_A = AttachmentState
_FIRST = (
    ({_A.DETACHING}, VolumeState.DETACHING),
    ({_A.ATTACHED, _A.ERROR}, VolumeState.IN_USE),
    ({_A.ATTACHING}, VolumeState.ATTACHING),
    ({_A.RESERVED}, VolumeState.RESERVED),
)


def volume_state_of(attachments: Collection[AttachmentState]) -> VolumeState:
    """What a volume is whose attachments are in these states. As in Cinder, one that goes is seen until it is gone: who
    waits for the others' `in-use` waits for its end. Else the furthest counts.
    """
    return next((state for among, state in _FIRST if among.intersection(attachments)), VolumeState.AVAILABLE)


def why_not_reserved(state: VolumeState, *, is_multiattach: bool, is_being_made: bool) -> str:
    """Why an instance cannot be promised a volume in this state; empty when it can."""
    if is_being_made:
        return "" if state is VolumeState.CREATING else f"is {state}, though it was to be made for this instance"
    if state is VolumeState.AVAILABLE:
        return ""
    if state not in ATTACHMENT_STATES:
        return f"is {state}; only one that is available can be attached"
    if not is_multiattach:
        return f"is {state}: another instance has it, and its type lets one alone have it"
    return ""
