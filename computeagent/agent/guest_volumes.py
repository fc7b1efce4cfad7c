"""Volumes of a guest that is there: give one, take one away, do something to one that it has. All may be done twice."""

from dataclasses import replace

from computeagent.agent.context import AgentContext
from computeagent.agent.held_leases import HeldLease
from computeagent.agent.power import act_in_step
from computeagent.agent.volumes import backend_errors
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.volume_work import VolumeOrder
from computeagent.protocol.volumes import NO_QOS, PoolKind, VolumeFacts, VolumeSpec
from computeagent.volumes.base import VolumeBackend, VolumeProgress
from controlplane.kernel.units import GIB

VOLUME_ID = "volume_id"
SHARES_BLOCKS = (PoolKind.RBD,)
"""Kinds of pools whose snapshots copy nothing, so that a guest may stand still for as long as one takes."""


def attach_volume(context: AgentContext, held: HeldLease) -> None:
    """The order's guest has the volume already. One that could not be given is not there afterwards. Raises Fenced."""
    guest, volume_id = held.guest, held.order.arguments.get(VOLUME_ID, "")
    act_in_step(context, held, "block_device_mapping", lambda: context.driver.attach_volume(guest, volume_id))


def detach_volume(context: AgentContext, held: HeldLease) -> None:
    """The order's guest has the volume still, and keeps it where it does not let go of it in time. Raises Fenced."""
    guest, volume_id = held.guest, held.order.arguments.get(VOLUME_ID, "")
    timeout_s = context.options.unplug_timeout_s
    act_in_step(
        context,
        held,
        "block_device_mapping",
        lambda: context.driver.detach_volume(guest, volume_id, timeout_s=timeout_s),
    )


def has_volume(context: AgentContext, guest: GuestSpec | None, volume: VolumeSpec) -> bool:
    """Whether the guest is on and has the volume, so that its hypervisor has to be asked. Raises DriverError."""
    return guest is not None and volume.id in context.driver.volumes_of_guests().get(guest.uuid, ())


def extend_of_guest(context: AgentContext, guest: GuestSpec, volume: VolumeSpec) -> VolumeFacts:
    """Have it as large as `size_gib` says, which its guest sees at once, with the limits of that size. Raises
    DriverError.
    """
    size_bytes = volume.size_gib * GIB
    context.driver.resize_volume(guest, volume.id, size_bytes)
    if any(one.qos != NO_QOS for one in guest.volumes if one.volume.id == volume.id):
        context.driver.limit_volume(guest, volume.id)
    return VolumeFacts(size_bytes=size_bytes)


def snapshot_of_guest(
    context: AgentContext, guest: GuestSpec, order: VolumeOrder, *, backend: VolumeBackend, progress: VolumeProgress
) -> VolumeFacts:
    """Have the volume's bytes of one moment: copied by the guest's own hypervisor, unless the pool can do it itself.
    Where that takes but a moment, the guest's file systems stand still. Raises DriverError, VolumeBackendError.
    """
    volume, snapshot_id = order.volume, order.snapshot_id
    target = backend.snapshot_target(volume, snapshot_id)
    if target is None:

        def take() -> VolumeFacts:
            with backend_errors():
                return backend.snapshot_create(volume, snapshot_id, progress)

        return context.driver.quiesce(guest, take) if volume.kind in SHARES_BLOCKS else take()
    copied = context.driver.copy_volume(guest, volume.id, target, progress)
    stored = backend.snapshot_keep(volume, snapshot_id)
    return replace(stored, is_consistent=copied.is_consistent, frozen_ms=copied.frozen_ms)
