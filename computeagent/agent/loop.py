"""The agent: starts its threads, watches over them, and ends as a whole."""

import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from computeagent.agent.console import ConsoleShipper
from computeagent.agent.context import AgentContext
from computeagent.agent.counters import CountersReporter
from computeagent.agent.driver_guard import GuardedDriver
from computeagent.agent.guest_events import GuestEvents
from computeagent.agent.guest_metadata import MetadataService
from computeagent.agent.handover import give_all_back
from computeagent.agent.host_report import HostReports
from computeagent.agent.image_prefetch import ImagePrefetch
from computeagent.agent.instance_lock import AgentAlreadyRunning, host_lock
from computeagent.agent.io_errors import IoErrorRelief
from computeagent.agent.live_consoles import ConsoleDialer, LiveConsoles
from computeagent.agent.networking import Networking
from computeagent.agent.options import AgentOptions
from computeagent.agent.orphans import NOT_REMOVED_BY_DOUBT, NOT_REMOVED_BY_OPTION, Orphans, node_is_known
from computeagent.agent.ownership import HostOwnershipLost, HostRefused, host_name_keep, host_name_require
from computeagent.agent.periodic import SETTLE_S, Periodic
from computeagent.agent.pool_contents import PoolContents
from computeagent.agent.power_sync import PowerSync
from computeagent.agent.recovery import recover
from computeagent.agent.retry import Retry
from computeagent.agent.safe_mode import MARK_FILE, SafeMode
from computeagent.agent.threads import ThreadGroup, ThreadHeartbeats
from computeagent.agent.upkeep import RegistrationState, Upkeep
from computeagent.agent.volume_work import SILENT_S, VolumeWork
from computeagent.agent.volumes import HostVolumes
from computeagent.agent.work_queues import WorkQueue
from computeagent.agent.worker import RequestScope, Worker, no_scope
from computeagent.agent.worker_pool import MAX_WORKERS, WorkerPool
from computeagent.drivers.base import Driver, DriverError
from computeagent.networks.absent import NoPlug
from computeagent.networks.base import HostPlug
from computeagent.protocol.conductor import Conductor
from computeagent.protocol.refusals import DoorRefused
from computeagent.volumes.base import VolumeBackend
from controlplane.kernel.errors import Conflict, Forbidden

log = logging.getLogger(__name__)

WORK_PREFIX = "work-"
POLL_EVERY_S = 0.1
CLOSE_S = 2.0
WATCHDOG_EVERY_S = 1.0
CONSOLES_EVERY_S = 30.0
EVENTS_SETTLE_S = 0.1
"""How long the first event of a burst waits for the others."""
NETWORKS_SETTLE_S, METADATA_SETTLE_S = 0.02, 0.3
"""A guest that was not started yet asks for no metadata: what starts it goes first on a machine with few cores."""
NETWORKS_TAKE_S = 300.0
"""How long a host's networks may take to be put right at most."""
OWNER_SEPARATOR = ":"


class Agent:
    """One host's agent. `run` blocks; `stop` may be called from a signal handler or another thread.

    `open_driver` gives the opened driver; it is called once, under the host's lock. `plug` carries networks; without,
    guests have the networks of their hypervisor alone. `clock` is monotonic seconds,
    `sleep` rests for seconds (by default it ends early on stop). `request_scope` is entered with the request id around
    each piece of work, for logs. `dial_console` opens the way outward for a console; without it there are none.
    """

    def __init__(
        self,
        *,
        host: str,
        conductor: Conductor,
        open_driver: Callable[[], Driver],
        state_dir: Path,
        plug: HostPlug | None = None,
        pools: Mapping[str, VolumeBackend] | None = None,
        options: AgentOptions | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] | None = None,
        request_scope: RequestScope = no_scope,
        dial_console: ConsoleDialer | None = None,
    ) -> None:
        options = options or AgentOptions()
        self._stop_asked = False
        self._open_error: DriverError | AgentAlreadyRunning | HostRefused | None = None
        self._stopping = threading.Event()
        pause = sleep or self._stopping.wait
        retry = Retry(stopping=self._stopping.is_set, pause=pause)
        plug = plug or NoPlug()
        self._metadata = MetadataService(host, conductor, state_dir, plug.service_prefix)
        networking = Networking(
            host=host,
            conductor=conductor,
            plug=plug,
            retry=retry,
            clock=clock,
            interval_s=options.networks_interval_s,
        )
        connected = state_dir / "volumes.json"
        volumes = HostVolumes(host=host, conductor=conductor, pools=pools or {}, retry=retry, state_file=connected)
        driver = GuardedDriver(open_driver, networking, volumes)
        self._context = AgentContext(
            host=host,
            owner=f"{host}{OWNER_SEPARATOR}{os.getpid()}:{secrets.token_hex(4)}",
            conductor=conductor,
            driver=driver,
            reports=HostReports(driver),
            state_dir=state_dir,
            options=options,
            clock=clock,
            pause=pause,
            retry=retry,
            guest_events=GuestEvents(clock),
            networking=networking,
            volumes=volumes,
            safe_mode=SafeMode(state_dir / MARK_FILE),
        )
        self._request_scope = request_scope
        self._thread_group = ThreadGroup(self._stopping)
        self._heartbeats = ThreadHeartbeats(clock)
        self._registration_state = RegistrationState()
        self._pools: list[WorkerPool] = []
        self._consoles = None if dial_console is None else LiveConsoles(self._context, dial_console)
        self._upkeep = Upkeep(self._context, self._registration_state)
        self._volume_work = VolumeWork(self._context, request_scope, self._start_work)

    @property
    def context(self) -> AgentContext:
        """The shared state, for those who look at a running agent: its counts, its holds."""
        return self._context

    def stop(self) -> None:
        """Ask to end: no new work, what runs may take `options.shutdown_s` to end. Only sets a flag."""
        self._stop_asked = True

    def run(self) -> int:
        """Serve until stopped (0) or until a thread dies (1). Raises AgentAlreadyRunning, HostRefused, DriverError.

        After it returned, a thread may still hang in a call that does not come back: end the process at once.
        """
        with host_lock(self._context.state_dir, self._context.host):
            host_name_require(self._context.state_dir, self._context.host)
            self._thread_group.start("start-up", self._open_and_start, may_end=True)
            while not self._stop_asked and not self._thread_group.died.wait(POLL_EVERY_S):
                pass
            code = self._end()
        if self._open_error is not None:
            raise self._open_error
        return code

    def _open_and_start(self) -> None:
        """Opening a hypervisor may take many seconds, in which the process must still hear a signal to stop."""
        try:
            self._context.networking.open()
            self._start_metadata()
            self._context.driver.open()
            self._context.retry.until_let_in(self._own_host)
            self._register()
        except (DriverError, AgentAlreadyRunning, HostRefused) as error:
            self._open_error = error
            self._stop_asked = True
            return
        try:
            self._start_up()
        except Conflict as error:
            raise HostOwnershipLost(error.message) from error

    def _start_metadata(self) -> None:
        """Guests are answered before the control plane is reached."""
        self._metadata.open()
        self._periodic(
            "metadata",
            lambda: self._metadata.tick(self._registration_state.version),
            lambda: self._context.options.metadata_interval_s,
            wake=self._metadata.wake,
            settle_s=METADATA_SETTLE_S,
        )

    def _have_networks(self) -> None:
        """Who is in which network is another thing to tell guests, too."""
        registered = self._registration_state
        if self._context.networking.tick(registered.registration.version, look_s=registered.look_s(0.0)):
            self._metadata.wake.set()

    def _register(self) -> None:
        """Say what this host is, for the first time. Raises HostRefused: the hypervisor is another host's."""
        host_name_keep(self._context.state_dir, self._context.host)  # not sooner: it may have been a mistake
        try:
            self._context.retry.call(self._upkeep.register)
        except Conflict as error:
            raise HostRefused(error.message) from error

    def _own_host(self) -> None:
        try:
            self._upkeep.claim_host(frozenset(guest.uuid for guest in self._context.driver.guests()))
        except DoorRefused:
            raise
        except Conflict as error:
            raise AgentAlreadyRunning(error.message) from error
        except Forbidden as error:  # its secret is another host's
            raise HostRefused(error.message) from error

    def _start_up(self) -> None:
        """Be alive, recover, and only then take work and tell power states."""
        context = self._context
        # Earlier runs on this host are dead: this one holds the host's lock and its ownership.
        prefix = context.host + OWNER_SEPARATOR
        context.retry.call(lambda: context.conductor.void_leases(host=context.host, owner_prefix=prefix))
        log.info("host %s is registered", context.host)
        self._start_vital_threads()
        guests = {guest.uuid for guest in context.driver.guests()}
        placed = context.retry.call(lambda: context.conductor.instances_on_host(host=context.host))
        orphan_guests = guests - {instance.uuid for instance in placed}
        if context.options.trust_listing:
            context.safe_mode.leave("the agent was started with --trust-listing")
        if not self._upkeep.contradicts(guests, placed):
            context.retry.call(lambda: recover(context))
        self._start_workers()
        self._start_reporters(Orphans(context, not_removed_because=self._not_removed_because(len(orphan_guests))))

    def _not_removed_because(self, orphan_guests: int) -> str:
        """Why orphan guests are not removed by this agent; empty when they are."""
        node = self._registration_state.registration.compute_node_uuid
        if not node_is_known(self._context.state_dir, node, orphan_guests=orphan_guests):
            log.error(
                "the control plane calls this node %s, which this state directory does not know, and %d guests here "
                "are strangers to it: is it the right database? No guest is removed by this agent",
                node,
                orphan_guests,
            )
            return NOT_REMOVED_BY_DOUBT
        return "" if self._context.options.reap_orphans else NOT_REMOVED_BY_OPTION

    def _start_vital_threads(self) -> None:
        self._periodic(
            "heartbeat", self._upkeep.heartbeat, lambda: self._registration_state.registration.report_interval_s
        )
        self._periodic("leases", self._upkeep.renew_leases, lambda: self._registration_state.registration.lease_s / 3)
        self._thread_group.start("watchdog", self._watch)

    def _start_workers(self) -> None:
        options = self._context.options
        for queue_name, count in (
            (WorkQueue.BUILDS, options.max_concurrent_builds),
            (WorkQueue.ACTIONS, options.concurrent_actions),
            (WorkQueue.IMAGES, options.concurrent_snapshots),
        ):
            make = partial(Worker, self._context, queue_name, self._request_scope)
            pool = WorkerPool(count, make, self._starter(queue_name), slow_s=options.slow_work_s)
            pool.begin()
            if queue_name is WorkQueue.ACTIONS:  # how many build at a time is a limit of the host
                self._pools.append(pool)

    def _starter(self, queue_name: WorkQueue) -> Callable[[int, Worker], None]:
        def start(number: int, worker: Worker) -> None:
            self._thread_group.start(f"{WORK_PREFIX}{queue_name.value}-{number}", worker.run)

        return start

    def _start_reporters(self, orphans: Orphans) -> None:
        options, upkeep = self._context.options, self._upkeep
        self._periodic("wakeups", upkeep.wait_for_wakeups, lambda: 0.0, max_s=options.wakeup_wait_s)
        look_s = self._registration_state.look_s
        self._periodic("own-work", upkeep.poll_for_work, lambda: look_s(options.reconcile_interval_s))
        events, power = self._context.guest_events, PowerSync(self._context)
        self._context.driver.watch(events.note)
        self._periodic("power", power.tick, power.rest_s, wake=events.happened, settle_s=EVENTS_SETTLE_S)
        self._periodic("console", ConsoleShipper(self._context).tick, lambda: options.console_interval_s)
        self._periodic("resources", lambda: upkeep.report_resources(orphans), lambda: options.resource_interval_s)
        wake = self._context.changes.happened
        if options.counters_interval_s:
            counters = CountersReporter(self._context)
            self._periodic(
                "counters",
                lambda: counters.tick(self._registration_state.registration.version),
                lambda: options.counters_interval_s,
            )
        networking = self._context.networking
        self._periodic(
            "networks",
            self._have_networks,
            lambda: options.networks_interval_s,
            max_s=NETWORKS_TAKE_S,
            wake=networking.changed,
            settle_s=NETWORKS_SETTLE_S,
        )
        images = ImagePrefetch(self._context)
        self._periodic(
            "images",
            lambda: images.tick(self._registration_state.registration.version, look_s(0.0)),
            lambda: options.images_interval_s,
            max_s=options.images_take_s,
            wake=self._context.images_wanted.wake,
        )
        if self._consoles is not None:
            wanted = self._context.consoles_wanted
            self._periodic("consoles", self._consoles.ask, lambda: look_s(CONSOLES_EVERY_S), wake=wanted, settle_s=0.0)
        self._start_volumes()
        self._periodic("usage", upkeep.report_usage, lambda: options.resource_interval_s, wake=wake)

    def _start_work(self, name: str, body: Callable[[], None]) -> None:
        self._thread_group.start(WORK_PREFIX + name, body)

    def _start_volumes(self) -> None:
        """A host without pools has no such work, and asks for none."""
        context, registered = self._context, self._registration_state
        if not context.volumes.pools:
            return
        self._periodic(
            "volumes",
            lambda: self._volume_work.ask(registered.registration.version, registered.look_s(0.0)),
            lambda: min(context.options.reconcile_interval_s, SILENT_S),
            wake=context.volumes_wanted.wake,
            settle_s=0.0,
        )
        self._periodic("io-errors", IoErrorRelief(context).tick, lambda: context.options.power_sync_interval_s)
        contents = PoolContents(context)
        self._periodic(
            "pool-contents",
            lambda: contents.tick(self._registration_state.registration.version),
            lambda: context.options.volumes_present_interval_s,
            max_s=context.options.images_take_s,
        )

    def _periodic(
        self,
        name: str,
        tick: Callable[[], None],
        interval_s: Callable[[], float],
        *,
        max_s: float = 0.0,
        wake: threading.Event | None = None,
        settle_s: float = SETTLE_S,
    ) -> None:
        periodic = Periodic(
            self._context,
            name=name,
            tick=tick,
            interval_s=interval_s,
            tick_takes_s=max_s,
            stopping=self._stopping,
            heartbeats=self._heartbeats,
            wake=wake,
            settle_s=settle_s,
        )
        self._thread_group.start(name, periodic.run)

    def _watch(self) -> None:
        while not self._stopping.is_set():
            self._heartbeats.check(allowance_s=self._context.options.watchdog_s)
            for pool in self._pools:
                pool.relieve()
            self._context.pause(WATCHDOG_EVERY_S)

    def _end(self) -> int:
        options = self._context.options
        self._stopping.set()
        context = self._context
        events = (context.changes.happened, context.guest_events.happened, context.networking.changed)
        wanted = (context.consoles_wanted, context.volumes_wanted.wake, context.images_wanted.wake)
        for event in (*events, *wanted, self._metadata.wake):
            event.set()
        self._volume_work.close()
        readers = (options.max_concurrent_builds, options.concurrent_actions, options.concurrent_snapshots, MAX_WORKERS)
        self._context.inbox.close(readers=max(readers))
        if self._thread_group.died.is_set():
            log.critical("the agent ends: %s", self._thread_group.cause)
            return 1
        if self._thread_group.wait_for(WORK_PREFIX, seconds=options.shutdown_s - CLOSE_S):
            self._close_driver()
        else:
            log.warning("work is cut off; it is given back, to be taken again after the next start")
        self._thread_group.start("give-back", lambda: give_all_back(self._context), may_end=True)
        self._thread_group.wait_for("give-back", seconds=CLOSE_S)
        return 0

    def _close_driver(self) -> None:
        self._thread_group.start("close", self._close_quietly, may_end=True)
        self._thread_group.wait_for("close", seconds=CLOSE_S)

    def _close_quietly(self) -> None:
        try:
            self._context.driver.close()
        except DriverError as error:
            log.warning("the driver did not close: %s", error.message)
        self._metadata.close()
        self._context.networking.close()
