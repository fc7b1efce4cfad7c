"""A control plane in memory, faithful to the Conductor Protocol: leases, attempts, fencing, lossy wake-ups."""

import threading
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from computeagent.protocol.conductor import GroupVerdict
from computeagent.protocol.guest_config import NO_FIRST_BOOT, FirstBoot
from computeagent.protocol.guests import (
    GuestCounters,
    GuestFacts,
    GuestOnHypervisor,
    GuestReturn,
    GuestSpec,
    InstanceOnHost,
)
from computeagent.protocol.hosts import HostReport, Registration
from computeagent.protocol.power import PowerState
from computeagent.protocol.refusals import DoorRefused
from computeagent.protocol.steps import BuildFailure, FailureClass, StepEnd
from computeagent.protocol.work import AgentLease, Wakeup, WorkKind, WorkOrder, WorkWakeup
from controlplane.kernel.errors import Conflict, Fenced, Forbidden, Invalid, NotFound, Unavailable
from tests.units.computeagent.agent.documents_asked import DocumentsAsked
from tests.units.computeagent.agent.images_asked import ImagesAsked
from tests.units.computeagent.agent.measures_asked import MeasuresAsked
from tests.units.computeagent.agent.networks_asked import NetworksAsked
from tests.units.computeagent.agent.volumes_asked import VolumesAsked, VolumeWorkRow


@dataclass
class WorkRow:
    """One piece of work and its lease."""

    work_id: str
    kind: WorkKind
    instance_uuid: str
    arguments: dict[str, str]
    state: str = "waiting"
    attempt: int = 0
    owner: str = ""
    lease_until: float = 0.0


@dataclass
class InstanceRow:
    """One instance and all that was written about it."""

    guest: GuestSpec
    host: str
    vm_state: str = "building"
    task_state: str = ""
    power_state: PowerState = PowerState.NOSTATE
    is_guest_gone: bool = False
    steps: list[tuple[str, str]] = field(default_factory=list)
    failures: list[BuildFailure] = field(default_factory=list)
    action_failures: list[str] = field(default_factory=list)
    guests_on_hypervisor_at_report: bool | None = None

    def end_steps(self, ended: Sequence[StepEnd]) -> None:
        """A step that was not begun as a row begins now."""
        for step in ended:
            if self.steps[-1:] != [(step.name, "started")]:
                self.steps.append((step.name, "started"))
            self.steps.append((step.name, step.error or "finished"))


class ConductorDouble(ImagesAsked, NetworksAsked, DocumentsAsked, VolumesAsked, MeasuresAsked):
    """Rows under one lock. `sends_wakeups=False` loses every wake-up; `away` makes every call Unavailable,
    `refusal` is why every call is refused."""

    def __init__(self, *, lease_s: float = 60.0, report_interval_s: float = 0.05) -> None:
        for verbs in (ImagesAsked, NetworksAsked, DocumentsAsked, VolumesAsked, MeasuresAsked):
            verbs.__init__(self)
        self.changed = threading.Condition(threading.RLock())
        self.works: dict[str, WorkRow] = {}
        self.instances: dict[str, InstanceRow] = {}
        self.pending_wakeups: list[Wakeup] = []
        self.sends_wakeups = True
        self.away = False
        self.refusal = self.door_refusal = self.secret_of = ""
        self.turned_away = 0
        self.is_grouped = True
        self.group_allows = True
        self.fail_heartbeat: Exception | None = None
        self.fail_register: Exception | None = None
        self.node_uuid = "node-1"
        self.forced_down = False
        self.lease_s = lease_s
        self.report_interval_s = report_interval_s
        self.reports: list[HostReport] = []
        self.reported_steps: list[tuple[tuple[str, ...], str]] = []
        self.heartbeats = self.takes = self.lost_answers_of_take = self.writes = 0
        self.reported: list[dict[str, GuestFacts]] = []
        self.counters: list[dict[str, GuestCounters]] = []
        self.knows_counters = True
        self.version = "1"
        self.time_ahead_s = 0.0
        self.screenshots: list[tuple[bytes, str]] = []
        self.consoles: list[dict[str, str]] = []
        self.power_state_wanted = PowerState.RUNNING
        self.image = b"image bytes"
        self.image_cuts: list[tuple[int, Unavailable]] = []
        self.image_asked: list[int] = []
        self.boot_files_asked: list[str] = []
        self.first_boot_said = NO_FIRST_BOOT
        self.seen_orphans: dict[str, float] = {}
        self.more_orphans = 0
        self.first_boot_refusal = self.not_removed_because = self.given_back_because = ""
        self.orphan_grace_s = 0.2
        self.returns: list[GuestReturn] = []
        self.given_back: list[str] = []

    # ---- the test's side -------------------------------------------------------------------------------------

    def place(self, guest: GuestSpec, *, host: str = "h1", vm_state: str = "active") -> InstanceRow:
        """An instance that exists on the host, without work."""
        with self.changed:
            row = InstanceRow(guest=guest, host=host, vm_state=vm_state)
            self.instances[guest.uuid] = row
            return row

    def order(self, kind: WorkKind, guest: GuestSpec, *, wakeups: int = 1, **arguments: str) -> WorkRow:
        """Write down work and wake it. A delete cancels the open build, as the control plane does."""
        with self.changed:
            if guest.uuid not in self.instances:
                self.place(guest, vm_state="building")
            if kind is WorkKind.DELETE:
                for other in self._open_of(guest.uuid):
                    other.state = "cancelled"
            work = WorkRow(f"{kind}-{guest.uuid}-{len(self.works)}", kind, guest.uuid, arguments)
            self.works[work.work_id] = work
            if self.sends_wakeups:
                self.pending_wakeups += [WorkWakeup(kind, work.work_id)] * wakeups
            self.changed.notify_all()
            return work

    def fence(self, work: WorkRow) -> None:
        """Another attempt took the work over: the present lease is void."""
        with self.changed:
            work.attempt += 1
            work.owner = "somebody else"
            work.lease_until = time.monotonic() + 3600

    # ---- the Protocol ----------------------------------------------------------------------------------------

    def host_own(self, *, host: str, agent_id: str, guests: Collection[str]) -> None:
        """See Conductor. Nobody else has the host's name; while the door refuses, it counts whom it turned away."""
        with self.changed:
            self._reach()
            self.claims += 1
            if self.door_refusal:
                self.turned_away += 1
                raise DoorRefused(self.door_refusal)
            if self.secret_of not in ("", host):
                raise Forbidden(f"The secret of host {self.secret_of} says nothing about host {host}.")

    def void_leases(self, *, host: str, owner_prefix: str) -> None:
        """See Conductor."""
        with self.changed:
            for work in self.works.values():
                if work.owner.startswith(owner_prefix):
                    work.lease_until = 0.0

    def register(self, *, host: str, report: HostReport) -> Registration:
        """See Conductor."""
        with self.changed:
            self._reach()
            if self.fail_register is not None:
                raise self.fail_register
            self.reports.append(report)
            return self._registration(host)

    def heartbeat(self, *, host: str) -> Registration:
        """See Conductor."""
        with self.changed:
            self._reach()
            if self.fail_heartbeat is not None:
                raise self.fail_heartbeat
            self.heartbeats += 1
            return self._registration(host)

    def wakeups(self, *, host: str, timeout_s: float) -> list[Wakeup]:
        """See Conductor."""
        with self.changed:
            self._reach()
            self.changed.wait_for(lambda: bool(self.pending_wakeups) or self.away, timeout=timeout_s)
            wakeups, self.pending_wakeups = self.pending_wakeups, []
            return wakeups

    def waiting_work(self, *, host: str) -> list[WorkWakeup]:
        """See Conductor."""
        with self.changed:
            self._reach()
            return [WorkWakeup(work.kind, work.work_id) for work in self.works.values() if self._takeable(work, host)]

    def take(self, *, host: str, work_id: str, owner: str, token: str = "") -> WorkOrder | None:
        """See Conductor."""
        with self.changed:
            self._reach()
            work = self.works[work_id]
            owner = f"{owner}:{token}"
            if self._takeable(work, host):
                self.takes += 1
                work.state, work.owner, work.attempt = "running", owner, work.attempt + 1
            elif (work.state, work.owner) != ("running", owner):
                return None
            work.lease_until = time.monotonic() + self.lease_s
            if self.lost_answers_of_take:
                self.lost_answers_of_take -= 1
                raise Unavailable("the answer was lost")
            lease = AgentLease(work_id, work.attempt, owner, self.lease_s)
            guest = self.instances[work.instance_uuid].guest
            return WorkOrder(
                lease,
                work.kind,
                guest,
                f"req-{work_id}",
                self.power_state_wanted,
                dict(work.arguments),
                is_grouped=self.is_grouped,
            )

    def renew(self, *, lease: AgentLease) -> None:
        """See Conductor."""
        with self.changed:
            self._any_held(lease)

    def record_steps(self, *, lease: AgentLease, ended: Sequence[StepEnd] = (), begins: str = "") -> None:
        """See Conductor."""
        row = self._row(lease)
        self._end_steps(row, ended, begins)
        if begins:
            row.steps.append((begins, "started"))

    def group_check(self, *, lease: AgentLease) -> GroupVerdict:
        """See Conductor."""
        with self.changed:
            self._reach()
            return GroupVerdict(True) if self.group_allows else GroupVerdict(False, "group g: 1 of 1 on this host")

    def first_boot(self, *, lease: AgentLease) -> FirstBoot:
        """See Conductor."""
        with self.changed:
            self._held(lease)
        if self.first_boot_refusal:
            raise Invalid(self.first_boot_refusal)
        return self.first_boot_said

    def image_chunks(self, *, lease: AgentLease, offset: int = 0, image_id: str = "") -> Iterator[bytes]:
        """See Conductor."""
        with self.changed:
            self._any_held(lease)
            self.image_asked.append(offset)
            if image_id in self.backups and not self.image_cuts:
                return iter([self.backups[image_id][offset:]])
            if image_id:
                self.boot_files_asked.append(image_id)
            cut_at, error = self.image_cuts.pop(0) if self.image_cuts else (None, None)
        if cut_at == 0 and error is not None:
            raise error
        return self._image_until(offset, cut_at, error)

    def _image_until(self, offset: int, cut_at: int | None, error: Unavailable | None) -> Iterator[bytes]:
        yield self.image[offset:] if cut_at is None else self.image[offset : offset + cut_at]
        if error is not None:
            raise error

    def build_done(self, *, lease: AgentLease, facts: GuestFacts, ended: Sequence[StepEnd] = ()) -> None:
        """See Conductor."""
        self._end_steps(self._row(lease), ended)
        self._close(lease, "done", vm_state="active", power_state=facts.power_state)

    def build_failed(self, *, lease: AgentLease, failure: BuildFailure, ended: Sequence[StepEnd] = ()) -> None:
        """See Conductor. USER ends in ERROR; all else goes to another host, which is no longer this agent's."""
        row = self._row(lease)
        self._end_steps(row, ended)
        row.failures.append(failure)
        retried = failure.failure_class in ("host", "policy")
        self._close(lease, "failed", vm_state="building" if retried else "error")
        if retried:
            row.host = "another"

    def screenshot_done(self, *, lease: AgentLease, png: bytes, error: str = "") -> None:
        """See Conductor."""
        with self.changed:
            self._held(lease).state = "failed" if error else "done"
            self.screenshots.append((png, error))
            self.changed.notify_all()

    def action_done(self, *, lease: AgentLease, facts: GuestFacts, ended: Sequence[StepEnd] = ()) -> None:
        """See Conductor."""
        self._end_steps(self._row(lease), ended)
        vm_state = "active" if facts.power_state is PowerState.RUNNING else "stopped"
        self._close(lease, "done", vm_state=vm_state, power_state=facts.power_state)

    def action_failed(
        self,
        *,
        lease: AgentLease,
        step: str,
        message: str,
        details: str = "",
        ended: Sequence[StepEnd] = (),
        failure_class: FailureClass = FailureClass.HOST,
        is_guest_gone: bool = False,
    ) -> None:
        """See Conductor."""
        row = self._row(lease)
        self._end_steps(row, ended)
        row.action_failures.append(f"{step}: {message}")
        row.is_guest_gone = is_guest_gone
        self._close(lease, "failed", vm_state=row.vm_state)

    def deleted(self, *, lease: AgentLease, ended: Sequence[StepEnd] = ()) -> None:
        """See Conductor."""
        self._end_steps(self._row(lease), ended)
        self._close(lease, "done", vm_state="deleted")

    def instances_on_host(self, *, host: str) -> list[InstanceOnHost]:
        """See Conductor."""
        with self.changed:
            self._reach()
            return [
                InstanceOnHost(
                    uuid=uuid,
                    name=row.guest.name,
                    vm_state=row.vm_state,
                    task_state=row.task_state,
                    power_state=row.power_state,
                    has_open_work=bool(self._open_of(uuid)),
                    guest=row.guest,
                )
                for uuid, row in self.instances.items()
                if row.host == host and row.vm_state != "deleted"
            ]

    def power_states(self, *, host: str, facts: dict[str, GuestFacts]) -> None:
        """See Conductor."""
        with self.changed:
            self._reach()
            self.reported.append(facts)
            for uuid, known in facts.items():
                if uuid in self.instances and not self._open_of(uuid):
                    self.instances[uuid].power_state = known.power_state
            self.changed.notify_all()

    def guest_counters(self, *, host: str, counters: dict[str, GuestCounters]) -> None:
        """See Conductor. `knows_counters`: without, this is a control plane of an earlier release."""
        with self.changed:
            self._reach()
            self.counters.append(counters)
            if not self.knows_counters:
                raise NotFound("There is no verb 'guest_counters' here.")
            self.changed.notify_all()

    def console_outputs(self, *, host: str, outputs: dict[str, str]) -> None:
        """See Conductor."""
        with self.changed:
            self._reach()
            self.consoles.append(outputs)
            self.changed.notify_all()

    def give_back(self, *, lease: AgentLease, reason: str) -> None:
        """See Conductor."""
        with self.changed:
            work = self._any_held(lease)
            work.state, work.owner, work.lease_until = "waiting", "", 0.0
            self.given_back.append(lease.work_id)
            self.given_back_because = reason

    def orphan_guests(
        self, *, host: str, guests: Sequence[GuestOnHypervisor], not_removed_because: str = "", more: int = 0
    ) -> list[str]:
        """See Conductor."""
        with self.changed:
            self._reach()
            now = time.monotonic()
            self.seen_orphans = {one.uuid: self.seen_orphans.get(one.uuid, now) for one in guests}
            self.not_removed_because, self.more_orphans = not_removed_because, more
            return [] if not_removed_because else [one.uuid for one in guests if self._is_due(one.uuid)]

    def release_guest(self, *, host: str, guest_uuid: str) -> bool:
        """See Conductor."""
        with self.changed:
            self._reach()
            owner = self.instances.get(guest_uuid)
            is_ours = owner is not None and owner.host == host and owner.vm_state != "deleted"
            return self._is_due(guest_uuid) and not is_ours

    def guests_returned(self, *, host: str, returns: Sequence[GuestReturn]) -> None:
        """See Conductor."""
        with self.changed:
            self._reach()
            self.returns += returns

    # ---- inside ----------------------------------------------------------------------------------------------

    def _is_due(self, guest_uuid: str) -> bool:
        return time.monotonic() - self.seen_orphans.get(guest_uuid, time.monotonic()) >= self.orphan_grace_s

    def _end_steps(self, row: InstanceRow, ended: Sequence[StepEnd], begins: str = "") -> None:
        self.reported_steps.append((tuple(step.name for step in ended), begins))
        row.end_steps(ended)

    def _reach(self) -> None:
        if self.away:
            raise Unavailable("the control plane is away")
        if self.refusal:
            raise Conflict(self.refusal)

    def _registration(self, host: str) -> Registration:
        return Registration(
            f"service-{host}",
            self.node_uuid,
            False,
            self.report_interval_s,
            self.lease_s,
            forced_down=self.forced_down,
            time_s=time.time() + self.time_ahead_s,
            version=self.version,
            is_sparing=self.is_sparing,
        )

    def _open_of(self, instance_uuid: str) -> list[WorkRow]:
        return [
            work
            for work in self.works.values()
            if work.instance_uuid == instance_uuid and work.state in ("waiting", "running")
        ]

    def _takeable(self, work: WorkRow, host: str) -> bool:
        mine = self.instances[work.instance_uuid].host == host
        leased = work.state == "running" and work.lease_until > time.monotonic()
        return mine and work.state in ("waiting", "running") and not leased

    def _any_held(self, lease: AgentLease) -> WorkRow | VolumeWorkRow:
        self._reach()
        return self.volume_held(lease) if lease.work_id in self.volume_works else self._held(lease)

    def _held(self, lease: AgentLease) -> WorkRow:
        self._reach()
        work = self.works[lease.work_id]
        valid = work.state == "running" and work.lease_until > time.monotonic()
        if not valid or (work.attempt, work.owner) != (lease.attempt, lease.owner):
            raise Fenced(f"work {lease.work_id}: attempt {lease.attempt} is not the one that holds it")
        work.lease_until = time.monotonic() + self.lease_s
        return work

    def _row(self, lease: AgentLease) -> InstanceRow:
        with self.changed:
            work = self._held(lease)
            self.writes += 1
            self.changed.notify_all()
            return self.instances[work.instance_uuid]

    def _close(
        self, lease: AgentLease, state: str, *, vm_state: str, power_state: PowerState = PowerState.NOSTATE
    ) -> None:
        with self.changed:
            row = self._row(lease)
            row.vm_state, row.power_state = vm_state, power_state
            self.works[lease.work_id].state = state
            self.changed.notify_all()
