"""Networks of this host: fetched from the control plane, carried out by the host's plug, and told how far they are.

The control plane has one document for a host. It is fetched when a wake-up says that it changed, when a guest is to
start whose ports are not in it, and now and then whatever was said. It is carried out again now and then too, so that
what somebody changed on the host is put right.
"""

import logging
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

from computeagent.agent.asking import Asking
from computeagent.agent.retry import JITTER, Retry
from computeagent.drivers.base import DriverError
from computeagent.networks.base import HostPlug, NetworkError
from computeagent.protocol.conductor import Conductor
from computeagent.protocol.guests import GuestSpec, PortSpec
from computeagent.protocol.hosts import HostReport
from computeagent.protocol.network_traits import network_traits
from computeagent.protocol.networks import (
    HostNetworks,
    NetworkProblem,
    NetworksApplied,
)
from computeagent.protocol.steps import FailureClass
from controlplane.kernel.complaints import Complaints
from controlplane.kernel.errors import KilonovaError, NotFound, Unavailable
from controlplane.kernel.kill_points import Injected, reach

log = logging.getLogger(__name__)

WHOLE_EVERY_S = 600.0
"""How often the document is fetched though its revision is the known one."""


class Networking:
    """Called by the thread that ticks, and by those that start and destroy guests; of one guest by one at a time."""

    def __init__(
        self,
        *,
        host: str,
        conductor: Conductor,
        plug: HostPlug,
        retry: Retry,
        clock: Callable[[], float],
        interval_s: float,
    ) -> None:
        self.asking = Asking(clock)
        self.changed = self.asking.wake
        """Set when a tick has something to do before its time."""
        self._host = host
        self._conductor = conductor
        self._plug = plug
        self._retry = retry
        self._clock = clock
        self._interval_s = interval_s
        self._complaints = Complaints()
        self._lock = threading.Lock()
        self._wanted: HostNetworks | None = None
        self._applied: NetworksApplied | None = None
        self._reported: NetworksApplied | None = None
        self._fetched_at = self._applied_at = 0.0
        self._plugged: dict[str, set[str]] = defaultdict(set)
        # Held for moments: a guest's build waits for a document that is carried out, and for no request of a tick.
        self._state_lock = threading.Lock()
        self._plugged_lately: set[str] = set()
        self._refused_by: str | None = None

    def open(self) -> None:
        """Find out what this host can. Raises DriverError that says what it lacks."""
        try:
            self._plug.open()
        except NetworkError as error:
            raise DriverError(str(error)) from error

    def in_report(self, report: HostReport) -> HostReport:
        """The host's report, with what it carries of networks."""
        abilities = self._plug.abilities()
        traits = network_traits(abilities.kinds, abilities.physical_networks)
        return replace(report, traits=tuple(sorted({*report.traits, *traits})), networks_lack=abilities.lack)

    def close(self) -> None:
        """Let go; what was made stays."""
        try:
            self._plug.close()
        except NetworkError as error:
            log.warning("the networks of this host were not let go of: %s", error)

    def tick(self, control_plane: str, *, look_s: float = 0.0) -> bool:
        """Have what is wanted now, and tell how far that is. It is asked for when a wake-up came, and every `look_s`
        seconds. `control_plane` is the version that it told last. Returns whether guests may have to be told of it.
        """
        if self._refused_by == control_plane:
            return True
        with self._lock:
            is_whole = self._clock() - self._fetched_at >= WHOLE_EVERY_S
            is_asked = is_whole or self.asking.is_due(look_s)
            try:
                is_new = is_asked and self._fetch(is_whole=is_whole)
            except NotFound:
                self._refused_by = control_plane
                log.info("the control plane is of an earlier release and says nothing about networks")
                return True
            if is_new or self._clock() - self._applied_at >= (1 - JITTER) * self._interval_s:
                self._apply()
            applied = self._applied
        is_other = applied is not None and applied != self._reported
        if applied is not None and (is_whole or is_other):  # builds do not wait for the answer
            self._conductor.networks_applied(host=self._host, applied=applied)
            self._reported = applied
        return is_asked or is_other

    def plugged(self, guest: GuestSpec) -> GuestSpec:
        """The guest, its ports joined to their networks, so that it may be started. Raises DriverError, Unavailable."""
        ports = [port for port in guest.ports if port.is_tapped and not port.tap]
        if not ports:
            return guest
        self._have(ports)
        done = {port.id: self._port_plug(port, guest.uuid) for port in ports}
        self.changed.set()
        return replace(guest, ports=tuple(done.get(port.id, port) for port in guest.ports))

    def unplug(self, guest_uuid: str) -> None:
        """Nothing joins the guest to a network any more. Raises DriverError."""
        with self._lock:
            wanted = self._wanted.ports if self._wanted is not None else ()
            ports = self._plugged.pop(guest_uuid, set()) | {one.id for one in wanted if one.instance_uuid == guest_uuid}
            for port_id in sorted(ports):
                try:
                    self._plug.unplug(port_id)
                except NetworkError as error:
                    raise DriverError(f"port {port_id} cannot be unplugged: {error}") from error
            if self._applied is not None and ports.intersection(self._applied.active_ports):
                with self._state_lock:
                    left = tuple(port for port in self._applied.active_ports if port not in ports)
                    self._applied = replace(self._applied, active_ports=left)
                self.changed.set()

    def _have(self, ports: list[PortSpec]) -> None:
        """Have a document in force that has these ports: that of now, if the one that is known will not do."""
        with self._lock:
            if self._why_not(ports):
                try:
                    self._retry.call(lambda: self._fetch(is_whole=True))
                except Unavailable:
                    raise
                except KilonovaError as error:
                    raise _refused(f"what this host is to have of networks cannot be had: {error.message}") from error
                self._apply()
            if why := self._why_not(ports):
                raise _refused(why)

    def _why_not(self, ports: list[PortSpec]) -> str:
        """Why these ports cannot be plugged by what is in force; empty when they can."""
        if self._wanted is None or self._applied is None:
            return "this host was not told yet what it is to have of networks"
        known = {port.id for port in self._wanted.ports}
        problems = {problem.id: problem.message for problem in self._applied.problems}
        for port in ports:
            if port.id not in known:
                return f"{_named(port)} is not bound to this host"
            if said := problems.get(port.id) or problems.get(port.network) or problems.get(""):
                return f"{_named(port)}: {said}"
        return ""

    def _port_plug(self, port: PortSpec, guest_uuid: str) -> PortSpec:
        self._plugged[guest_uuid].add(port.id)
        try:
            reach("computeagent.networks.plug:before")
            tap = self._plug.plug(port)
            reach("computeagent.networks.plug:after")
        except (NetworkError, Injected) as error:
            raise _refused(f"{_named(port)}: {error}") from error
        with self._state_lock:
            self._plugged_lately.add(port.id)
            if self._applied is not None and port.id not in self._applied.active_ports:
                active = tuple(sorted({*self._applied.active_ports, port.id}))
                self._applied = replace(self._applied, active_ports=active)
        return replace(port, tap=tap.name, mtu=tap.mtu, has_offloads=tap.has_offloads)

    def _fetch(self, *, is_whole: bool) -> bool:
        """Whether the document is another one than before. Raises NotFound, Unavailable."""
        known = -1 if is_whole or self._wanted is None else self._wanted.revision
        with self.asking.asked():
            wanted = self._conductor.networks_wanted(host=self._host, known_revision=known)
        self._fetched_at = self._clock() if known < 0 else self._fetched_at
        if wanted is None or wanted == self._wanted:
            return False
        self._wanted = wanted
        return True

    def _apply(self) -> None:
        """Carry out what is known. A host that cannot is a problem, which is told."""
        if self._wanted is None:
            return
        self._applied_at = self._clock()
        with self._state_lock:
            self._plugged_lately.clear()
        try:
            reach("computeagent.networks.apply:before")
            applied = self._plug.apply(self._wanted)
            reach("computeagent.networks.apply:after")
        except (NetworkError, OSError, Injected) as error:
            before = self._applied or NetworksApplied(0)
            applied = replace(before, problems=(NetworkProblem("host", "", str(error)),))
        with self._state_lock:  # what was plugged while the document was carried out may not have been seen by that
            known = {port.id for port in self._wanted.ports}
            active = {*applied.active_ports, *self._plugged_lately & known}
            self._applied = replace(applied, active_ports=tuple(sorted(active)))
        for problem in applied.problems:
            if self._complaints.is_due(problem.message):
                log.warning("networks: %s %s: %s", problem.kind, problem.id, problem.message)


def _named(port: PortSpec) -> str:
    return f"port {port.id} in network {port.network_name or port.network}"


def _refused(message: str) -> DriverError:
    return DriverError(message, failure_class=FailureClass.NETWORK)
