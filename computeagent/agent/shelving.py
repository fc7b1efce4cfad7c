"""Shelving: off and into an image, off the host, and back, on this host or on another."""

import logging

from computeagent.agent.build import guest_make
from computeagent.agent.context import AgentContext
from computeagent.agent.delete import destroy_surely
from computeagent.agent.failures import CleanupFailed, StepFailed, failure_of
from computeagent.agent.held_leases import HeldLease
from computeagent.agent.power import report_failure
from computeagent.agent.shut_down import guest_shut_down
from computeagent.agent.snapshots import copy_remove, image_make
from computeagent.agent.steps import StepRecorder
from computeagent.drivers.base import DriverError
from computeagent.protocol.guests import GuestFacts
from computeagent.protocol.power import PowerState
from controlplane.kernel.errors import Invalid

log = logging.getLogger(__name__)

NAMES = ("shelving_image_copy", "shelving_image_pending_upload", "shelving_image_uploading")
RAN = "ran"
"""Argument of the order: the guest ran when it was asked for, whatever an earlier attempt made of it."""


def shelve(context: AgentContext, held: HeldLease) -> None:
    """Power off, and make the image. A guest that ran runs again when that fails. Raises Fenced."""
    steps, guest = StepRecorder(context, held), held.guest
    try:
        with steps.step("shelving"):
            facts = guest_shut_down(context, held, steps)
        context.changes.note(guest.uuid)
        image_make(context, held, steps, names=NAMES)
        _tell_shelved(context, held, steps, facts)
    except StepFailed as failed:
        copy_remove(context, held)
        if RAN in held.order.arguments:
            _start_again(context, held)
        report_failure(context, held, steps, failed)
        return
    copy_remove(context, held)
    log.info("instance %s is shelved", guest.uuid)


def _tell_shelved(context: AgentContext, held: HeldLease, steps: StepRecorder, facts: GuestFacts) -> None:
    """The control plane takes it only while the image is there. Raises StepFailed, Fenced."""
    try:
        steps.write(lambda ended: context.conductor.action_done(lease=held.lease, facts=facts, ended=ended))
    except Invalid as error:
        raise StepFailed(failure_of(NAMES[-1], error)) from error


def _start_again(context: AgentContext, held: HeldLease) -> None:
    """One that the hypervisor has lost is defined and started, from the disks that it has."""
    held.check()
    try:
        facts = context.driver.facts(held.guest.uuid)
        if facts is None or facts.power_state is PowerState.NOSTATE:
            context.driver.spawn(held.guest)
        else:
            context.driver.start(held.guest)
    except DriverError as error:  # the power sync says that it is off
        log.warning("instance %s could not be started again: %s", held.guest.uuid, error.message)
    context.changes.note(held.guest.uuid)


def shelve_offload(context: AgentContext, held: HeldLease) -> None:
    """Leave nothing of the guest here. Raises Fenced, or CleanupFailed: then it is tried again.

    One that boots from a volume was not shut down before, since no image was made of it.
    """
    steps = StepRecorder(context, held)
    try:
        with steps.step("shelving_offloading"):
            if not held.guest.has_local_root:
                _shut_down(context, held, steps)
            destroy_surely(context, held.guest.uuid)
    except CleanupFailed:
        steps.report()
        raise
    context.changes.note(held.guest.uuid)
    facts = GuestFacts(PowerState.NOSTATE)
    steps.write(lambda ended: context.conductor.action_done(lease=held.lease, facts=facts, ended=ended))
    log.info("instance %s left this host", held.guest.uuid)


def _shut_down(context: AgentContext, held: HeldLease, steps: StepRecorder) -> None:
    """What the guest has in memory comes onto its volumes. One that does not listen loses its power."""
    try:
        guest_shut_down(context, held, steps)
    except DriverError as error:
        log.warning("instance %s could not be shut down: %s", held.guest.uuid, error.message)


def unshelve(context: AgentContext, held: HeldLease) -> None:
    """Start the guest that is here, or build it from the image of its order. Raises Fenced, CleanupFailed."""
    steps, is_built = StepRecorder(context, held), "from_image" in held.order.arguments
    try:
        if is_built:
            facts = guest_make(context, held, steps)
        else:
            with steps.step("spawning"):
                facts = context.driver.start(held.guest)
    except StepFailed as failed:
        if is_built:
            _leave_nothing(context, held, steps)
        report_failure(context, held, steps, failed)
        return
    context.changes.note(held.guest.uuid)
    steps.write(lambda ended: context.conductor.action_done(lease=held.lease, facts=facts, ended=ended))
    log.info("instance %s is unshelved", held.guest.uuid)


def _leave_nothing(context: AgentContext, held: HeldLease, steps: StepRecorder) -> None:
    """Before the control plane hears of it and gives what was claimed here to others."""
    try:
        with steps.step("clean_up"):
            destroy_surely(context, held.guest.uuid)
    except CleanupFailed:
        steps.report()
        raise
    context.changes.note(held.guest.uuid)
