"""The ticks of the agent's periodic threads: heartbeat, leases, doorbells, own work, resources, usage."""

import logging
import threading

from computeagent.agent.context import AgentContext
from computeagent.agent.host_report import usage_of_host, with_usage
from computeagent.agent.orphans import Orphans
from computeagent.protocol.conductor import GuestFacts, HostUsage, InstanceOnHost, PowerState, Registration
from controlplane.kernel.errors import Fenced, NotFound

log = logging.getLogger(__name__)


class Standing:
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

    @property
    def registration(self) -> Registration:
        """The last answer; the agent registers before anything asks for it."""
        with self._lock:
            if self._registration is None:
                raise RuntimeError("not registered yet")
            return self._registration


class Upkeep:
    """One method per periodic thread; each is one tick."""

    def __init__(self, context: AgentContext, standing: Standing) -> None:
        self._context = context
        self._standing = standing
        # From the count to the end of its write, so that no older count is written over a newer one.
        self._telling_usage = threading.Lock()
        self._told_usage: HostUsage | None = None

    def register(self) -> None:
        """Report what this host is and has, and how much of it is taken."""
        context = self._context
        report = context.reports.fresh()
        with self._telling_usage:
            usage = self._usage()
            self._standing.set(context.conductor.register(host=context.host, report=with_usage(report, usage)))
            self._told_usage = usage

    def report_usage(self) -> None:
        """Tell how much is taken, if that is another amount than was told last."""
        context = self._context
        with self._telling_usage:
            usage = self._usage()
            if usage != self._told_usage:
                context.conductor.usage(host=context.host, usage=usage)
                self._told_usage = usage

    def _usage(self) -> HostUsage:
        return usage_of_host(self._context.tracker.used(), self._context.driver.guests())

    def report_resources(self, orphans: Orphans) -> None:
        """Count from zero, look for orphans, tell which guests are missing, register again."""
        context = self._context
        mark = context.turns.mark()
        guests = context.driver.guests()
        here = {guest.uuid for guest in guests}
        placed = context.conductor.instances_on_host(host=context.host)
        context.tracker.rebuild(instance.guest for instance in placed)
        orphans.look(guests, [instance.uuid for instance in placed])
        self._tell_missing([instance for instance in placed if instance.uuid not in here], mark)
        self.register()

    def _tell_missing(self, missing: list[InstanceOnHost], mark: int) -> None:
        """Power states speak of guests that are there; one that vanished has to be named by its instance."""
        nothing = GuestFacts(power_state=PowerState.NOSTATE)
        quiet = self._context.turns.undisturbed_since
        facts = {
            instance.uuid: nothing
            for instance in missing
            if not instance.has_open_work
            and instance.power_state is not PowerState.NOSTATE
            and quiet(mark, instance.uuid)
        }
        if facts:
            self._context.conductor.power_states(host=self._context.host, facts=facts)

    def heartbeat(self) -> None:
        """Say 'alive'. A control plane that does not know this host any more gets a new registration."""
        try:
            self._standing.set(self._context.conductor.heartbeat(host=self._context.host))
        except (Fenced, NotFound) as error:
            log.warning("this host is not known to the control plane, registering again: %s", error.message)
            self.register()

    def renew_leases(self) -> None:
        """Prolong every lease held; what is fenced stops at its next look."""
        for hold in self._context.holds.all():
            if hold.is_fenced:
                continue
            try:
                self._context.conductor.renew(lease=hold.lease)
            except Fenced as error:
                hold.fence()
                if hold in self._context.holds.all():  # else it has just ended
                    log.warning("%s of %s is fenced: %s", hold.order.kind, hold.guest.uuid, error.message)

    def listen(self) -> None:
        """Wait for doorbells, and pass them on."""
        context = self._context
        for ring in context.conductor.doorbells(host=context.host, timeout_s=context.options.doorbell_wait_s):
            context.inbox.put(ring)

    def look_for_work(self) -> None:
        """Ask for work that nobody holds: what a lost doorbell or a crash left behind."""
        for ring in self._context.conductor.waiting_work(host=self._context.host):
            if self._context.inbox.put(ring):
                self._context.counts.add("found")
