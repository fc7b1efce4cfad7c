"""Ways back into a guest: rebuild it, boot it from a rescue disk and back, set its administrator's password.

An agent that starts again begins work that was not done from its first step.
"""

from collections.abc import Callable
from dataclasses import replace

from computeagent.agent.build_volumes import new_volume_images_fetch, volumes_made
from computeagent.agent.context import AgentContext
from computeagent.agent.done_once import DeedNotNoted, done_once
from computeagent.agent.failures import StepFailed, failure_of
from computeagent.agent.first_boot import guest_with_first_boot
from computeagent.agent.held_leases import HeldLease
from computeagent.agent.images import image_fetch, images_fetch
from computeagent.agent.power import report_done, report_failure
from computeagent.agent.shut_down import guest_shut_down
from computeagent.agent.steps import StepRecorder
from computeagent.drivers.base import DriverError
from computeagent.drivers.rescue_image import of_rescue_image
from computeagent.protocol.guests import GuestFacts, GuestSpec
from computeagent.protocol.power import PowerState
from computeagent.protocol.steps import FailureClass

ADMIN_USER = "os_admin_user"
ADMIN_OF_OS = {"windows": "Administrator"}
ADMIN_OF_OTHERS = "root"


def rebuild(context: AgentContext, held: HeldLease) -> None:
    """New disks from the image that the instance has now. The claims of its host stay. Raises Fenced.

    The images and what the config drive says are here before anything is destroyed. A guest that shall be off
    afterwards is defined and not started.
    """
    guest, driver = held.guest, context.driver

    def made(steps: StepRecorder) -> GuestFacts:
        with steps.step("rebuilding"):
            images_fetch(context, held)
            new_volume_images_fetch(context, held)
        with steps.step("rebuild_block_device_mapping"):
            complete = guest_with_first_boot(context, held)
            held.check()
            driver.destroy(guest.uuid)
            renewed = volumes_made(context, held, guest, is_anew=True)
            driver.prepare_disks(complete)
        with steps.step("rebuild_spawning"):
            stays_off = held.order.power_state_wanted is PowerState.SHUTDOWN
            return driver.define(renewed) if stays_off else driver.spawn(renewed)

    _act(context, held, made)


def rescue(context: AgentContext, held: HeldLease) -> None:
    """Boot from the rescue image, which finds the password on its config drive. Raises Fenced."""

    def booted(steps: StepRecorder) -> GuestFacts:
        with steps.step("rescue_image"):
            image_fetch(context, held, of_rescue_image(held.guest))
        with steps.step("rescuing"):
            complete = guest_with_first_boot(context, held)
            held.check()
            guest_shut_down(context, held, steps)
            return context.driver.rescue(complete)

    _act(context, held, booted)


def unrescue(context: AgentContext, held: HeldLease) -> None:
    """Boot from its own disks again. Raises Fenced."""

    def booted(steps: StepRecorder) -> GuestFacts:
        with steps.step("unrescuing"):
            return context.driver.hard_reboot(replace(held.guest, rescue=None))

    _act(context, held, booted)


def change_password(context: AgentContext, held: HeldLease) -> None:
    """Of the guest's administrator, by its own agent. Raises Fenced."""
    guest, driver = held.guest, context.driver

    def changed(steps: StepRecorder) -> GuestFacts:
        with steps.step("updating_password"):
            password = held.order.arguments.get("password", "")
            if not password:
                raise DriverError("no password came with the order", failure_class=FailureClass.USER)
            driver.set_password(guest, user=admin_user(guest), password=password)
            return driver.facts(guest.uuid) or GuestFacts(PowerState.NOSTATE)

    _act(context, held, changed)


def admin_user(guest: GuestSpec) -> str:
    """Who is its administrator: what the image says, else by its operating system, as in Nova."""
    properties = guest.image_properties
    return properties.get(ADMIN_USER) or ADMIN_OF_OS.get(properties.get("os_type", "").lower(), ADMIN_OF_OTHERS)


def _act(context: AgentContext, held: HeldLease, work: Callable[[StepRecorder], GuestFacts]) -> None:
    steps = StepRecorder(context, held)
    try:
        facts = done_once(context, held, lambda: work(steps))
    except StepFailed as failed:
        report_failure(context, held, steps, failed)
        return
    except DeedNotNoted as refused:  # before the first step
        report_failure(context, held, steps, StepFailed(failure_of(held.order.kind, refused)))
        return
    report_done(context, held, steps, facts)
