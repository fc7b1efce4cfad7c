"""Snapshots: copy the root disk of a guest, running or not, and send the copy as an image.

The copy is a file that a second attempt finds, so an agent that is started again goes on with sending it.
"""

import logging
import os
from contextlib import ExitStack, closing

from computeagent.agent.context import AgentContext
from computeagent.agent.failures import StepFailed
from computeagent.agent.held_leases import HeldLease
from computeagent.agent.image_upload import StepProgress, file_facts, image_send
from computeagent.agent.power import report_failure
from computeagent.agent.steps import StepRecorder
from computeagent.drivers.base import DriverError
from computeagent.protocol.guests import GuestFacts
from computeagent.protocol.power import PowerState
from computeagent.protocol.work import WorkKind

log = logging.getLogger(__name__)

COPY, CHECKSUM, SEND = "image_snapshot_pending", "image_pending_upload", "image_uploading"


def snapshot(context: AgentContext, held: HeldLease) -> None:
    """Make the image; the guest is as it was. Raises Fenced."""
    steps = StepRecorder(context, held)
    copy = "image_backup" if held.order.kind is WorkKind.BACKUP else COPY
    try:
        facts = image_make(context, held, steps, names=(copy, CHECKSUM, SEND))
    except StepFailed as failed:
        copy_remove(context, held)
        report_failure(context, held, steps, failed)
        return
    steps.write(lambda ended: context.conductor.action_done(lease=held.lease, facts=facts, ended=ended))
    copy_remove(context, held)
    log.info("instance %s: image %s is made", held.guest.uuid, image_of(held))


def image_of(held: HeldLease) -> str:
    """The image that the order asks for."""
    return held.order.arguments.get("image_id", "")


def image_make(
    context: AgentContext, held: HeldLease, steps: StepRecorder, *, names: tuple[str, str, str]
) -> GuestFacts:
    """Copy, checksum and sending, under these names of steps; what the guest was then. Raises StepFailed, Fenced."""
    guest, image_id = held.guest, image_of(held)
    copying, summing, sending = names
    with steps.step(copying):
        context.driver.snapshot(guest, image_id, StepProgress(context, held, copying))
        found = context.driver.facts(guest.uuid)
    with ExitStack() as files:
        with steps.step(summing):
            file = files.enter_context(closing(context.driver.snapshot_open(guest.uuid, image_id)))
            size_bytes = file.seek(0, os.SEEK_END)
            facts = file_facts(file, size_bytes, StepProgress(context, held, summing))
        with steps.step(sending):
            image_send(context, held, file, facts, StepProgress(context, held, sending))
    return found or GuestFacts(PowerState.SHUTDOWN)


def copy_remove(context: AgentContext, held: HeldLease) -> None:
    """What cannot be removed now goes with the next copy, or with the guest."""
    try:
        context.driver.snapshot_remove(held.guest.uuid, image_of(held))
    except DriverError as error:
        log.warning("the copy of the disk of %s stays for now: %s", held.guest.uuid, error.message)
