"""Volumes that a guest's build makes: on its host, before the guest is. Done twice they are there once."""

from dataclasses import replace

from computeagent.agent.context import AgentContext
from computeagent.agent.held_leases import HeldLease
from computeagent.agent.volume_image import volume_image
from computeagent.agent.volumes import backend_errors
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.volumes import GuestVolume, VolumeSourceKind
from controlplane.kernel.kill_points import reach


def volumes_made(context: AgentContext, held: HeldLease, guest: GuestSpec, *, is_anew: bool = False) -> GuestSpec:
    """The guest, its new volumes made and where they are written down. Raises DriverError, Fenced.

    `is_anew`: they take the place of what is there. What is left when a build fails is removed as work on volumes of
    its own, which the control plane asks for.
    """
    volumes = tuple(_made(context, held, each, is_anew=is_anew) for each in guest.volumes)
    return replace(guest, volumes=volumes)


def new_volume_images_fetch(context: AgentContext, held: HeldLease) -> None:
    """Have the images of its new volumes here, before what they replace goes. Raises DriverError, Fenced."""
    for each in held.guest.volumes:
        if each.make is not None and each.make.kind is VolumeSourceKind.IMAGE:
            with volume_image(context, held, each.make) as image_file:
                image_file()


def _made(context: AgentContext, held: HeldLease, each: GuestVolume, *, is_anew: bool) -> GuestVolume:
    if each.make is None:
        return each
    with volume_image(context, held, each.make) as image_file, context.volumes.turn(each.volume.id):
        if is_anew:
            with backend_errors():
                context.volumes.backend(each.volume.pool).delete(each.volume)
            reach("computeagent.build_volumes:emptied")
        facts = context.volumes.make(
            each.volume, each.make, image_file=image_file, progress=lambda done, total: held.check()
        )
    reach("computeagent.build_volumes:made")
    context.retry.call(lambda: context.conductor.volume_made(lease=held.lease, volume_id=each.volume.id, facts=facts))
    return replace(each, volume=replace(each.volume, location=facts.location), make=None)
