"""The images that a guest is made from come into the driver's cache: its disk's, and those that it boots by."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

from computeagent.agent.context import AgentContext
from computeagent.agent.held_leases import HeldLease, HeldWork
from computeagent.agent.retry import Retry
from computeagent.drivers.base import DriverError, ImageSource
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.steps import FailureClass
from controlplane.kernel.errors import Fenced, KilonovaError, Unavailable

Answer = TypeVar("Answer")
RESUME_TRIES = 5
"""Within one reading, which holds the lock of the cache; then it is begun anew, as often as the work has time for."""


def images_fetch(context: AgentContext, held: HeldLease) -> None:
    """Have them all, verified. Raises DriverError, and Fenced."""
    boots, driver = held.guest.direct_boot, context.driver
    if held.guest.has_local_root:
        image_fetch(context, held, held.guest)
    for file in () if boots is None else (boots.kernel, boots.ramdisk):
        if file is not None:
            prepare = partial(driver.prepare_boot_file, file, _source(context, held, file.image_id))
            bytes_had(context.retry, held, prepare)


def image_fetch(context: AgentContext, held: HeldLease, guest: GuestSpec) -> None:
    """Have the image of this guest's disk: the one that the control plane gives for this work. Raises as above."""
    bytes_had(context.retry, held, lambda: context.driver.prepare_image(guest, _source(context, held)))


def _source(context: AgentContext, held: HeldLease, image_id: str = "") -> ImageSource:
    """The bytes of the image, of the guest's own without an id. When the control plane goes away while they are read,
    it goes on where it was; a control plane that sends too many images now is asked again until the build's time is
    over.
    """

    def chunks(offset: int = 0) -> Iterator[bytes]:
        began = asked_from = offset
        named = {"image_id": image_id} if image_id else {}  # as a control plane of the release before understands

        def ask() -> Iterator[bytes]:
            held.check()
            return context.conductor.image_chunks(lease=held.lease, offset=offset, **named)

        while True:
            # The first time it is asked again with the cache unlocked.
            pieces = context.retry.call(ask, tries=RESUME_TRIES) if offset != began else ask()
            try:
                for chunk in pieces:
                    held.check()
                    offset += len(chunk)
                    yield chunk
                return
            except Unavailable:
                if offset == asked_from:
                    raise
                asked_from = offset

    return chunks


def bytes_had(retry: Retry, held: HeldWork, read: Callable[[], Answer]) -> Answer:
    """What `read` gives, which asks the control plane for what a guest or volume is made of. While that or its image
    store is away, it is asked again until the work's time is over: no host is at fault for what it cannot be sent.

    Raises DriverError (USER) where the control plane is there and does not give it; Fenced; Unavailable where the
    agent ends.
    """

    def once() -> Answer:
        held.check()
        return read()

    try:
        return retry.call(once)
    except (Fenced, Unavailable):
        raise
    except KilonovaError as error:
        raise DriverError(error.message, failure_class=FailureClass.USER) from error
