"""`DatabaseConductor`: each verb is a service or a selector, on the calling thread's own connection."""

import functools
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Concatenate, ParamSpec, TypeVar

from django.db import InterfaceError, OperationalError, close_old_connections, transaction

from computeagent.protocol.conductor import GroupVerdict
from computeagent.protocol.guests import GuestCounters, GuestFacts, GuestOnHypervisor, GuestReturn, InstanceOnHost
from computeagent.protocol.hosts import HostReport, HostUsage, Registration
from computeagent.protocol.power import PowerState
from computeagent.protocol.steps import BuildFailure, StepEnd
from computeagent.protocol.work import AgentLease, WorkKind, WorkOrder, WorkWakeup
from controlplane.kernel.errors import Conflict, Fenced, Invalid, NotFound, Unavailable
from controlplane.kernel.ids import parse_uuid
from controlplane.work.host_ownership import Ownership, ownership_lock
from controlplane.work.wakeups import WakeupWaiter, waiter_open
from controlplane.work.work import WorkLease as RowLease
from controlplane.work.work import (
    compute_queue,
    leases_void,
    open_work_subjects,
    untaken_work,
    work_fence,
    work_give_back,
    work_take,
    work_take_again,
)
from scheduling.fleet.services.hosts import host_register, host_usage_report, service_heartbeat
from scheduling.topology.selectors.claims import topologies_of_instances
from servers.agent_api.console_log import console_logs_store
from servers.agent_api.group_check import group_refusal
from servers.agent_api.guest_spec import guest_spec
from servers.agent_api.host_ownership import host_ownership, host_ownership_claim
from servers.agent_api.orders import work_order
from servers.agent_api.recovery import guests_returned
from servers.images.services.image_store import image_chunks
from servers.images.stores.store import ImageBytes
from servers.instances.actions.table import ACTION_OF_WORK
from servers.instances.selectors.instances import instance_row
from servers.instances.services.act import action_done, action_failed
from servers.instances.services.adoption import instances_adopt
from servers.instances.services.build_outcome import build_done, build_failed
from servers.instances.services.delete import delete_done
from servers.instances.services.guest_counters import guest_counters_store
from servers.instances.services.journal import StepReport, StepTrack, steps_write
from servers.instances.services.state import step_task_set
from servers.models import Instance, Port
from servers.repair.services.orphan_guests import orphan_guest_release, orphan_guests_report
from servers.repair.services.power_sync import power_states_sync
from servers.repair.services.task_heal import lost_tasks_heal

P = ParamSpec("P")
R = TypeVar("R")

NOBODY = uuid.UUID(int=0)
OWNER_MAX = 200


def conductor_connect() -> "DatabaseConductor":
    """The conductor of this installation, in-process: what tests ask."""
    return DatabaseConductor()


@contextmanager
def database_reached() -> Iterator[None]:
    """On a connection that is alive as far as is known; a database that is away becomes Unavailable."""
    try:
        close_old_connections()
        yield
    except (OperationalError, InterfaceError) as error:
        raise Unavailable(f"the database does not answer: {error}") from error


def _reaching(
    verb: "Callable[Concatenate[DatabaseConductor, P], R]",
) -> "Callable[Concatenate[DatabaseConductor, P], R]":
    """Conflicts and things that are not there are told as they are."""

    @functools.wraps(verb)
    def call(conductor: "DatabaseConductor", /, *args: P.args, **kwargs: P.kwargs) -> R:
        with database_reached():
            return verb(conductor, *args, **kwargs)

    return call


def _leased(
    verb: "Callable[Concatenate[DatabaseConductor, P], R]",
) -> "Callable[Concatenate[DatabaseConductor, P], R]":
    """The same for a verb under a lease: a state that moved on under the agent's feet (deleted, taken over) is Fenced,
    since the agent must stop this work.
    """
    reaching = _reaching(verb)

    @functools.wraps(verb)
    def call(conductor: "DatabaseConductor", /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return reaching(conductor, *args, **kwargs)
        except Fenced:
            raise
        except (Conflict, NotFound) as error:
            raise Fenced(error.message) from error

    return call


def row_lease(lease: AgentLease, ownership: Ownership | None = None) -> RowLease:
    """As the work's row has it; a context that is not of this lease finds no row, which is Fenced."""
    work_context = lease.work_context
    subject = uuid.UUID(work_context.instance_uuid) if work_context.instance_uuid else NOBODY
    return RowLease(uuid.UUID(lease.work_id), lease.attempt, work_context.kind, subject, ownership)


def _step_report(lease: AgentLease, ended: Sequence[StepEnd]) -> StepReport:
    work_context = lease.work_context
    subject = row_lease(lease).subject
    track = StepTrack(work_context.action_id, work_context.number, work_context.host, subject)
    return StepReport(track, tuple(ended))


class DatabaseConductor:
    """See `computeagent.protocol.conductor.Conductor` for what each verb promises."""

    def __init__(self, ownership: Ownership | None = None) -> None:
        """`ownership`: who must own the host for a write to take effect, where that was told before."""
        self._waiters: dict[str, WakeupWaiter] = {}
        self._ownership = ownership

    @_reaching
    def host_own(self, *, host: str, agent_id: str, guests: Collection[str]) -> None:
        """See Conductor. One that was never told whose agent it serves (tests do without) demands nothing."""
        self._ownership = host_ownership(host=host, agent_id=agent_id)
        host_ownership_claim(host=host, agent_id=agent_id, guests={uuid.UUID(guest) for guest in guests})

    @_reaching
    def void_leases(self, *, host: str, owner_prefix: str) -> None:
        """See Conductor. A task of this host whose work is lost ends by the rule for restarts, as nobody else is there
        to end it.
        """
        with self._owned(host):
            leases_void(queue=compute_queue(host), owner_prefix=owner_prefix)
        lost_tasks_heal(host=host)

    def _row_lease(self, lease: AgentLease) -> RowLease:
        return row_lease(lease, self._ownership)

    @contextmanager
    def _owned(self, host: str) -> Iterator[None]:
        """One transaction during which the host stays this agent's. Raises Conflict when it is another one's."""
        if self._ownership is None:
            yield
            return
        with transaction.atomic():
            if not ownership_lock(self._ownership):
                raise Conflict(f"Host {host} is served by another agent now.", host=host)
            yield

    @_reaching
    def register(self, *, host: str, report: HostReport) -> Registration:
        """See Conductor."""
        with self._owned(host):
            registration = host_register(host=host, report=report)
            # Of a host that was removed with instances on it and comes back, these are on its new node.
            instances_adopt(host=host, compute_node_uuid=uuid.UUID(registration.compute_node_uuid))
            return registration

    @_reaching
    def heartbeat(self, *, host: str) -> Registration:
        """See Conductor. An agent asks for its host, by `host_own`, right before each of these."""
        return service_heartbeat(host=host)

    @_reaching
    def usage(self, *, host: str, usage: HostUsage) -> None:
        """See Conductor."""
        host_usage_report(host=host, usage=usage, ownership=self._ownership)

    def wakeups(self, *, host: str, timeout_s: float) -> list[WorkWakeup]:
        """See Conductor. Called from one thread only: a waiter belongs to it."""
        close_old_connections()
        waiter = self._waiters.get(host) or self._waiters.setdefault(host, waiter_open(compute_queue(host)))
        return pending_wakeups((wakeup.code, wakeup.ref) for wakeup in waiter.wait(timeout_s))

    @_reaching
    def waiting_work(self, *, host: str) -> list[WorkWakeup]:
        """See Conductor."""
        return pending_wakeups((kind, str(pk)) for kind, pk in untaken_work(queue=compute_queue(host)))

    @_reaching
    def take(self, *, host: str, work_id: str, owner: str, token: str = "") -> WorkOrder | None:
        """See Conductor. The owner of the row is the owner with the token, so that no other taking is taken for it."""
        owner = f"{owner}:{token}" if token else owner
        if len(owner) > OWNER_MAX:
            raise Invalid(f"An owner and its token have at most {OWNER_MAX - 1} characters.", field="owner")
        queue = compute_queue(host)
        taken = work_take(work_id=work_id, owner=owner, queue=queue, ownership=self._ownership)
        if taken is None and token:
            taken = work_take_again(work_id=work_id, owner=owner, queue=queue, ownership=self._ownership)
        if taken is None:
            return None
        work, lease = taken
        return work_order(work, lease, owner=owner)

    @_leased
    def renew(self, *, lease: AgentLease) -> None:
        """See Conductor."""
        work_fence(lease=self._row_lease(lease))

    @_leased
    def record_steps(self, *, lease: AgentLease, ended: Sequence[StepEnd] = (), begins: str = "") -> None:
        """See Conductor."""
        held = self._row_lease(lease)
        with transaction.atomic():
            work_fence(lease=held, step=begins or None)
            rule = ACTION_OF_WORK[held.kind]
            if (task := rule.step_task(begins)) is not None:
                step_task_set(held.subject, rule, task)
            step_report = _step_report(lease, ended)
            steps_write(step_report.track, ended=step_report.ended, begins=begins)

    @_leased
    def group_check(self, *, lease: AgentLease) -> GroupVerdict:
        """See Conductor."""
        reason = group_refusal(instance_row(self._row_lease(lease).subject))
        return GroupVerdict(allowed=not reason, reason=reason)

    def image_chunks(self, *, lease: AgentLease, offset: int = 0) -> ImageBytes:
        """See Conductor."""
        image_id = self._image_of(lease)
        if image_id is None:
            raise NotFound("The instance was made without an image.")
        with database_reached():
            return image_chunks(image_id, offset=offset)

    @_leased
    def _image_of(self, lease: AgentLease) -> uuid.UUID | None:
        """Only whoever holds the lease reads the image: it may be another project's secret."""
        held = self._row_lease(lease)
        work_fence(lease=held)
        return instance_row(held.subject).image_id

    @_leased
    def build_done(self, *, lease: AgentLease, facts: GuestFacts, ended: Sequence[StepEnd] = ()) -> None:
        """See Conductor."""
        build_done(
            lease=self._row_lease(lease),
            guest=facts,
            steps=_step_report(lease, ended),
            has_devices=lease.work_context.has_devices,
        )

    @_leased
    def build_failed(self, *, lease: AgentLease, failure: BuildFailure, ended: Sequence[StepEnd] = ()) -> None:
        """See Conductor."""
        build_failed(lease=self._row_lease(lease), failure=failure, steps=_step_report(lease, ended))

    @_leased
    def action_done(self, *, lease: AgentLease, facts: GuestFacts, ended: Sequence[StepEnd] = ()) -> None:
        """See Conductor."""
        action_done(lease=self._row_lease(lease), guest=facts, steps=_step_report(lease, ended))

    @_leased
    def action_failed(
        self, *, lease: AgentLease, step: str, message: str, details: str = "", ended: Sequence[StepEnd] = ()
    ) -> None:
        """See Conductor."""
        action_failed(
            lease=self._row_lease(lease), step=step, message=message, details=details, steps=_step_report(lease, ended)
        )

    @_leased
    def deleted(self, *, lease: AgentLease, ended: Sequence[StepEnd] = ()) -> None:
        """See Conductor."""
        delete_done(lease=self._row_lease(lease), steps=_step_report(lease, ended))

    @_reaching
    def instances_on_host(self, *, host: str) -> list[InstanceOnHost]:
        """See Conductor. Four queries, however many instances."""
        instances = list(Instance.objects.filter(host=host, deleted_at__isnull=True))
        ids = [instance.pk for instance in instances]
        busy = open_work_subjects(subjects=ids)
        ports: dict[uuid.UUID, list[Port]] = defaultdict(list)
        for port in Port.objects.filter(instance_uuid__in=ids):
            ports[port.instance_uuid].append(port)
        placed = topologies_of_instances(ids)
        return [
            InstanceOnHost(
                uuid=str(instance.pk),
                name=instance.name,
                vm_state=instance.vm_state,
                task_state=instance.task_state,
                power_state=PowerState(instance.power_state),
                has_open_work=instance.pk in busy,
                guest=guest_spec(instance, ports[instance.pk], placed.get(instance.pk)),
            )
            for instance in instances
        ]

    @_reaching
    def power_states(self, *, host: str, facts: dict[str, GuestFacts]) -> None:
        """See Conductor."""
        guests = {uuid.UUID(pk): each for pk, each in facts.items()}
        power_states_sync(host=host, guests=guests, ownership=self._ownership)

    @_reaching
    def guest_counters(self, *, host: str, counters: dict[str, GuestCounters]) -> None:
        """See Conductor."""
        by_id = {pk: each for name, each in counters.items() if (pk := parse_uuid(name)) is not None}
        guest_counters_store(host=host, counters=by_id, ownership=self._ownership)

    @_reaching
    def console_outputs(self, *, host: str, outputs: dict[str, str]) -> None:
        """See Conductor."""
        texts = {uuid.UUID(pk): text for pk, text in outputs.items()}
        console_logs_store(host=host, outputs=texts, ownership=self._ownership)

    @_leased
    def give_back(self, *, lease: AgentLease, reason: str) -> None:
        """See Conductor."""
        work_give_back(lease=self._row_lease(lease), reason=reason)

    @_reaching
    def orphan_guests(
        self, *, host: str, guests: Sequence[GuestOnHypervisor], not_removed_because: str = ""
    ) -> list[str]:
        """See Conductor."""
        with self._owned(host):
            return [
                str(pk)
                for pk in orphan_guests_report(host=host, guests=guests, not_removed_because=not_removed_because)
            ]

    @_reaching
    def release_guest(self, *, host: str, guest_uuid: str) -> bool:
        """See Conductor."""
        with self._owned(host):
            return orphan_guest_release(host=host, guest_uuid=uuid.UUID(guest_uuid))

    @_reaching
    def guests_returned(self, *, host: str, returns: Sequence[GuestReturn]) -> None:
        """See Conductor."""
        with self._owned(host):
            guests_returned(host=host, returns=returns)


def pending_wakeups(pairs: "Iterator[tuple[str, str]]") -> list[WorkWakeup]:
    """Codes outside the allow-list are dropped: whoever can write a wake-up can write nonsense."""
    wakeups = []
    for code, ref in pairs:
        with suppress(ValueError):
            wakeups.append(WorkWakeup(WorkKind(code), str(uuid.UUID(ref))))
    return wakeups
