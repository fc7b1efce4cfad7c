"""Build one guest: claim, late group check, network, disks, spawn. Nova's exception matrix decides how it ends.

A second attempt runs the same steps: what is there is success, and a guest that runs is never given new disks.
"""

import logging
import re

from computeagent.agent.build_volumes import volumes_made
from computeagent.agent.context import AgentContext
from computeagent.agent.delete import destroy_surely
from computeagent.agent.failures import CleanupFailed, GroupPolicyViolated, NetworkRefused, StepFailed
from computeagent.agent.first_boot import guest_with_first_boot
from computeagent.agent.held_leases import HeldLease
from computeagent.agent.images import images_fetch
from computeagent.agent.steps import StepRecorder
from computeagent.protocol.guests import GuestFacts, GuestSpec
from computeagent.protocol.power import PowerState
from computeagent.protocol.steps import BuildFailure

log = logging.getLogger(__name__)

MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", re.IGNORECASE)


def build(context: AgentContext, held: HeldLease) -> None:
    """Make the guest and say so, or leave nothing of it and say why. Raises Fenced, CleanupFailed."""
    steps = StepRecorder(context, held)
    try:
        facts = guest_make(context, held, steps)
    except StepFailed as failed:
        _undo(context, held, steps, failed.failure)
        return
    steps.write(lambda ended: context.conductor.build_done(lease=held.lease, facts=facts, ended=ended))
    context.instance_mutex.reported(held.guest.uuid, facts)
    log.info("instance %s runs", held.guest.uuid)


def guest_make(context: AgentContext, held: HeldLease, steps: StepRecorder) -> GuestFacts:
    """The steps of a build. Raises StepFailed, after which something may be left here; Fenced."""
    try:
        return _make_claimed(context, held, steps)
    except BaseException:
        context.tracker.abort(held.guest.uuid)
        raise


def _make_claimed(context: AgentContext, held: HeldLease, steps: StepRecorder) -> GuestFacts:
    guest = held.guest
    with steps.step("claim", can_hang=_is_again(held) or not context.reports.is_known_for(guest)):
        context.tracker.claim(guest, context.reports.for_claim(guest), held.order.limits)
        runs = _runs_already(context, held)
    if not runs:
        guest = _prepare(context, held, steps)
    with steps.step("spawning"):
        facts = context.driver.spawn(guest)
    context.tracker.settle(guest.uuid)
    context.changes.note(guest.uuid)
    return facts


def _prepare(context: AgentContext, held: HeldLease, steps: StepRecorder) -> GuestSpec:
    """The guest, with what its ports are joined to, and where its new volumes are."""
    guest = held.guest
    if held.order.is_grouped:
        with steps.step("group_check", can_hang=False):
            verdict = context.retry.call(lambda: context.conductor.group_check(lease=held.lease))
            if not verdict.allowed:
                raise GroupPolicyViolated(verdict.reason or "the server group does not allow this host")
    with steps.step("networking", can_hang=any(port.is_tapped for port in guest.ports)):
        check_ports(guest)
        guest = context.networking.plugged(guest)
    with steps.step("block_device_mapping"):
        images_fetch(context, held)
        guest = volumes_made(context, held, guest)
        held.check()
        context.driver.prepare_disks(guest_with_first_boot(context, held))
    return guest


def _is_again(held: HeldLease) -> bool:
    """Whether an earlier attempt may have left something here, for which the hypervisor is asked."""
    return held.lease.attempt > 1


def _runs_already(context: AgentContext, held: HeldLease) -> bool:
    """Whether an earlier attempt came as far as a running guest; its disks must be left alone."""
    if not _is_again(held):
        return False
    facts = context.driver.facts(held.guest.uuid)
    return facts is not None and facts.power_state is PowerState.RUNNING


def check_ports(guest: GuestSpec) -> None:
    """Every port names a network and has a MAC address of its own. Raises NetworkRefused."""
    seen: set[str] = set()
    for port in guest.ports:
        mac = port.mac.lower()
        if MAC.fullmatch(mac) is None or mac in seen or not port.network:
            raise NetworkRefused(f"port with MAC {port.mac!r} on network {port.network!r} cannot be plugged")
        seen.add(mac)


def _undo(context: AgentContext, held: HeldLease, steps: StepRecorder, failure: BuildFailure) -> None:
    """First nothing of the guest is left here, then the control plane hears of it: another host may try now."""
    log.warning("instance %s failed at %s: %s", held.guest.uuid, failure.step, failure.message)
    try:
        with steps.step("clean_up"):
            destroy_surely(context, held.guest.uuid)
    except CleanupFailed:
        steps.report()
        raise
    context.changes.note(held.guest.uuid)
    steps.write(lambda ended: context.conductor.build_failed(lease=held.lease, failure=failure, ended=ended))
