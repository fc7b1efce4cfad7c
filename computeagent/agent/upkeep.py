"""The ticks of the agent's periodic threads: heartbeat, leases, wake-ups, own work, resources, usage."""

import logging
import threading
import time
from collections.abc import Collection, Sequence
from dataclasses import replace

from computeagent.agent.clock_skew import ClockWatch
from computeagent.agent.context import AgentContext
from computeagent.agent.host_metrics import HostMetrics
from computeagent.agent.host_report import (
    measures_of,
    usage_of_host,
    with_accelerators,
    with_usage,
    without_measures,
)
from computeagent.agent.orphans import Orphans
from computeagent.agent.ownership import HostOwnershipLost, agent_id
from computeagent.agent.poll_wait import PollWait
from computeagent.agent.telling import power_states_tell
from computeagent.agent.versions import with_versions
from computeagent.drivers.base import DriverError
from computeagent.protocol.guests import GuestFacts, InstanceOnHost
from computeagent.protocol.hosts import HostReport, HostUsage, Registration
from computeagent.protocol.power import PowerState
from computeagent.protocol.work import HostWakeup, HostWakeupKind
from controlplane.kernel.errors import Conflict, Fenced, NotFound, Unavailable

log = logging.getLogger(__name__)

MAX_LOST_AT_ONCE = 3
"""Guests that vanish between two listings and are still believed to be gone."""
MAX_NAMED = 5
"""So many of them stand in the reason of safe mode."""
SPARING_LOOK_S = 300.0
"""How often is asked for what a wake-up is sent again for."""
WHOLE_REPORT_EVERY_S = 600.0
"""How often a host is registered again of which nothing but measures changed: its provider may have been changed."""


class RegistrationState:
    """How the control plane answered last: intervals, and whether the host is disabled."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._registration: Registration | None = None

    def set(self, registration: Registration) -> None:
        """A newer answer."""
        with self._lock:
            before, self._registration = self._registration, registration
        if before is not None and before.disabled != registration.disabled:
            log.info("this host is %s now", "disabled" if registration.disabled else "enabled")
        if registration.forced_down and (before is None or not before.forced_down):
            log.warning(
                "an admin forced this host down: it counts as dead, and no work is taken until an admin takes that back"
            )
        if before is not None and before.forced_down and not registration.forced_down:
            log.info("this host is no longer forced down")

    @property
    def version(self) -> str | None:
        """That of the control plane, as it said last; None before the first registration."""
        with self._lock:
            return None if self._registration is None else self._registration.version

    def look_s(self, seconds: float) -> float:
        """How often to ask what waits for this host, which is every `seconds` where a wake-up is sent only once."""
        with self._lock:
            is_sparing = self._registration is not None and self._registration.is_sparing
        return max(seconds, SPARING_LOOK_S) if is_sparing else seconds

    @property
    def registration(self) -> Registration:
        """The last answer; the agent registers before anything asks for it."""
        with self._lock:
            if self._registration is None:
                raise RuntimeError("not registered yet")
            return self._registration


class Upkeep:
    """One method per periodic thread; each is one tick."""

    def __init__(self, context: AgentContext, registration_state: RegistrationState) -> None:
        self._context = context
        self._registration_state = registration_state
        # From the count to the end of its write, so that no older count is written over a newer one; and two threads
        # that register know of the same registration what the control plane has.
        self._usage_lock = threading.Lock()
        self._reported_usage: HostUsage | None = None
        self._poll_wait = PollWait(context.options.wakeup_wait_s)
        self._metrics = HostMetrics(context.state_dir)
        self._clock_watch = ClockWatch(time.time, time.monotonic)
        self._registered: HostReport | None = None
        self._registered_at = 0.0

    def register(self) -> None:
        """Report what this host is and has, how much of it is taken, how busy it is, and what runs on it."""
        self._register(self._report())

    def _report(self) -> HostReport:
        return self._with_measures(with_accelerators(with_versions(self._context.reports.fresh())))

    def _register(self, report: HostReport) -> None:
        context = self._context
        with self._usage_lock:
            usage = self._usage()
            self._registration_state.set(
                context.conductor.register(host=context.host, report=with_usage(report, usage))
            )
            self._reported_usage = usage
            self._registered, self._registered_at = without_measures(report), context.clock()

    def report_again(self) -> None:
        """Tell the measures alone where nothing else is another than what was registered, and not long ago."""
        context, report = self._context, self._report()
        is_old = context.clock() - self._registered_at >= WHOLE_REPORT_EVERY_S
        is_sparing = self._registration_state.registration.is_sparing
        if is_old or not is_sparing or without_measures(report) != self._registered:
            self._register(report)
            return
        self.report_usage()
        try:
            context.conductor.measures(host=context.host, measures=measures_of(report, self._usage()))
        except NotFound:  # the host was removed
            self._register(report)

    def _with_measures(self, report: HostReport) -> HostReport:
        metrics: dict[str, object] = {**report.metrics, **self._metrics.measured()}
        reason = self._context.safe_mode.reason
        report = self._context.volumes.in_report(self._context.networking.in_report(report))
        return replace(report, metrics=metrics, clock_skew=self._clock_watch.best(), safe_mode=reason)

    def report_usage(self) -> None:
        """Tell how much is taken, if that is another amount than was told last."""
        context = self._context
        with self._usage_lock:
            usage = self._usage()
            if usage != self._reported_usage:
                context.conductor.usage(host=context.host, usage=usage)
                self._reported_usage = usage

    def _usage(self) -> HostUsage:
        return usage_of_host(self._context.tracker.used(), self._context.driver.guests())

    def report_resources(self, orphans: Orphans) -> None:
        """Count from zero, look for orphans, tell which guests are missing, report again."""
        context = self._context
        checkpoint = context.instance_mutex.checkpoint()
        guests = context.driver.guests()
        here = {guest.uuid for guest in guests}
        placed = context.conductor.instances_on_host(host=context.host)
        context.tracker.rebuild(instance.guest for instance in placed)
        self._judge(here, placed)
        orphans.report_and_remove(guests, [instance.uuid for instance in placed])
        self._report_missing([instance for instance in placed if instance.uuid not in here], checkpoint)
        self.report_again()

    def contradicts(self, here: Collection[str], placed: Sequence[InstanceOnHost]) -> bool:
        """At the start: whether safe mode of an earlier run goes on, for the listing is still what it was not believed
        for. A listing that lost guests while no agent ran is believed: a host that was set up anew has none.
        """
        return bool(self._context.safe_mode.reason) and not self._judge(here, placed)

    def _judge(self, here: Collection[str], placed: Sequence[InstanceOnHost]) -> bool:
        """Whether the listing is believed. Where many guests are gone at once that nobody worked on, it is more likely
        that it is wrong: safe mode begins, and ends with the first listing that has them again.
        """
        context = self._context
        # Work that waits for the end of safe mode says nothing of where its guest is.
        lost = sorted(one.uuid for one in _lost(placed, here, with_work=bool(context.safe_mode.reason)))
        if len(lost) <= MAX_LOST_AT_ONCE:
            context.safe_mode.leave("the hypervisor lists the guests again that it is to have")
            return True
        context.counts.add("listing_not_believed")
        shown = ", ".join(lost[:MAX_NAMED]) + (", ..." if len(lost) > MAX_NAMED else "")
        context.safe_mode.enter(
            f"{len(lost)} of {len(placed)} guests are gone from the hypervisor's listing at once, which is not "
            f"believed: {shown}."
        )
        return False

    def _report_missing(self, missing: list[InstanceOnHost], checkpoint: int) -> None:
        """Power states speak of guests that are there; one that vanished has to be named by its instance.

        What follows is that the guest is started again, so a listing alone is no evidence: the driver is asked for
        each.
        """
        context = self._context
        if context.safe_mode.reason:
            return
        lost = [one.uuid for one in _lost(missing, ())]
        gone = [
            uuid for uuid in lost if self._is_gone(uuid) and context.instance_mutex.undisturbed_since(checkpoint, uuid)
        ]
        if not gone:
            return
        nothing = GuestFacts(power_state=PowerState.NOSTATE)
        try:
            power_states_tell(context, dict.fromkeys(gone, nothing))
        finally:
            context.changes.note_missing(gone)

    def _is_gone(self, uuid: str) -> bool:
        try:
            return self._context.driver.facts(uuid) is None
        except DriverError as error:
            self._context.counts.add("guest_unreadable")
            log.warning("whether guest %s is there cannot be read: %s", uuid, error.message)
            return False

    def claim_host(self, guests: frozenset[str]) -> None:
        """Before the control plane hears anything else of this agent. Raises Conflict."""
        context = self._context
        context.conductor.host_own(host=context.host, agent_id=agent_id(context.state_dir), guests=guests)

    def heartbeat(self) -> None:
        """Alive, and still the only one: who stays the owner needs no guests as evidence. A control plane that does not
        know this host any more gets a new registration. Raises HostOwnershipLost.
        """
        conductor, host = self._context.conductor, self._context.host
        try:
            if not self._registration_state.registration.is_sparing:
                self.claim_host(frozenset())
            self._registration_state.set(self._clock_watch.exchange(lambda: conductor.heartbeat(host=host)))
        except Conflict as error:
            raise HostOwnershipLost(error.message) from error
        except NotFound as error:
            log.warning("this host is not known to the control plane, registering again: %s", error.message)
            self.register()

    @property
    def _takes_no_work(self) -> bool:
        return self._registration_state.registration.forced_down or bool(self._context.safe_mode.reason)

    def renew_leases(self) -> None:
        """Prolong every lease held; what is fenced stops at its next look."""
        for held in self._context.held_leases.all():
            if held.is_fenced:
                continue
            asked_at = self._context.clock()
            try:
                self._context.conductor.renew(lease=held.lease)
            except Fenced as error:
                held.fence()
                if held in self._context.held_leases.all():  # else it has just ended
                    log.warning("%s is fenced: %s", held.about, error.message)
            else:
                held.renewed(asked_at)

    def wait_for_wakeups(self) -> None:
        """Wait for wake-ups, and pass them on. A host that is forced down, or in safe mode, takes no work."""
        context = self._context
        began = context.clock()
        try:
            wakeups = context.conductor.wakeups(host=context.host, timeout_s=self._poll_wait.seconds)
        except Unavailable:
            self._poll_wait.was_cut(context.clock() - began)
            raise
        self._poll_wait.was_answered(context.clock() - began)
        for wakeup in wakeups:
            if isinstance(wakeup, HostWakeup):
                self._wake(wakeup.kind)
            elif not self._takes_no_work:
                context.inbox.put(wakeup)

    def _wake(self, kind: HostWakeupKind) -> None:
        context = self._context
        {
            HostWakeupKind.CONSOLES: context.consoles_wanted.set,
            HostWakeupKind.NETWORKS: context.networking.asking.wakeup,
            HostWakeupKind.VOLUMES: context.volumes_wanted.wakeup,
            HostWakeupKind.IMAGES: context.images_wanted.wakeup,
        }[kind]()

    def poll_for_work(self) -> None:
        """Ask for work that nobody holds: what a lost wake-up, a crash, or being forced down left behind."""
        if self._takes_no_work:
            return
        for wakeup in self._context.conductor.waiting_work(host=self._context.host):
            if self._context.inbox.put(wakeup):
                self._context.counts.add("found")


def _lost(placed: Sequence[InstanceOnHost], here: Collection[str], *, with_work: bool = False) -> list[InstanceOnHost]:
    """Those that had a guest when it was last told of, on which nobody works, and that are not listed."""
    return [
        one
        for one in placed
        if one.uuid not in here and (with_work or not one.has_open_work) and one.power_state is not PowerState.NOSTATE
    ]
