"""`DatabaseConductor`: each verb is a service or a selector, on a connection of the calling thread."""

import functools
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import ParamSpec, TypeVar

from django.conf import settings
from django.db import InterfaceError, OperationalError, close_old_connections, transaction

from computeagent.conductor import (
    BuildFailure,
    Conductor,
    GuestFacts,
    HostReport,
    InstanceOnHost,
    Lease,
    PolicyVerdict,
    PowerState,
    Registration,
    Ring,
    WorkKind,
    WorkOrder,
)
from controlplane.infra.doorbells import Bell, bell_open
from controlplane.infra.models import Work
from controlplane.infra.work import Lease as RowLease
from controlplane.infra.work import compute_queue, open_work_subjects, untaken_work, work_fence, work_take
from controlplane.kernel.errors import Conflict, Fenced, NotFound, Unavailable
from scheduling.selectors.topologies import topologies_of_instances
from scheduling.selectors.topology_claims import topology_of_instance
from scheduling.services import HypervisorReport, host_register, service_heartbeat
from servers.conductor_api.guest_spec import guest_spec, guest_state
from servers.domain.states import TaskState, VmState
from servers.models import Instance, Port
from servers.selectors.group_check import group_refusal
from servers.selectors.instance import instance_row
from servers.services.build_outcome import build_done, build_failed
from servers.services.console_log import console_logs_store
from servers.services.image_store import image_chunks
from servers.services.instance_delete import delete_done
from servers.services.instance_dispatch import LIMITS
from servers.services.instance_journal import step_close, step_open
from servers.services.instance_power import action_done, action_failed, power_states_sync
from servers.services.instance_state import state_set

P = ParamSpec("P")
R = TypeVar("R")
BUILD_TASKS = {
    "networking": TaskState.NETWORKING,
    "block_device_mapping": TaskState.BLOCK_DEVICE_MAPPING,
    "spawning": TaskState.SPAWNING,
}


def conductor_connect() -> Conductor:
    """The conductor of this installation."""
    return DatabaseConductor()


def _reaching(verb: Callable[P, R]) -> Callable[P, R]:
    """A database that is away becomes Unavailable; stale connections are dropped before each call.

    A state that moved on under the agent's feet (deleted, taken over) is Fenced: it must stop.
    """

    @functools.wraps(verb)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        close_old_connections()
        try:
            return verb(*args, **kwargs)
        except (OperationalError, InterfaceError) as error:
            raise Unavailable(f"the database does not answer: {error}") from error
        except Fenced:
            raise
        except (Conflict, NotFound) as error:
            raise Fenced(error.message) from error

    return call


def _row_lease(lease: Lease) -> RowLease:
    return RowLease(uuid.UUID(lease.work_id), lease.attempt)


class DatabaseConductor:
    """See `computeagent.conductor.Conductor` for what each verb promises."""

    def __init__(self) -> None:
        self._bells: dict[str, Bell] = {}

    @_reaching
    def register(self, *, host: str, report: HostReport) -> Registration:
        """See Conductor."""
        answer = host_register(host=host, report=HypervisorReport(**asdict(report)))
        return Registration(
            service_id=answer.service_id,
            compute_node_uuid=answer.compute_node_uuid,
            disabled=answer.disabled,
            report_interval_s=answer.report_interval_s,
            lease_s=settings.KILONOVA["LEASE_S"],
        )

    @_reaching
    def heartbeat(self, *, host: str) -> Registration:
        """See Conductor."""
        answer = service_heartbeat(host=host)
        return Registration(
            service_id=answer.service_id,
            compute_node_uuid=answer.compute_node_uuid,
            disabled=answer.disabled,
            report_interval_s=answer.report_interval_s,
            lease_s=settings.KILONOVA["LEASE_S"],
        )

    @_reaching
    def doorbells(self, *, host: str, timeout_s: float) -> list[Ring]:
        """See Conductor. Called from one thread only: a bell belongs to it."""
        bell = self._bells.get(host) or self._bells.setdefault(host, bell_open(compute_queue(host)))
        return _rings((ring.code, ring.ref) for ring in bell.wait(timeout_s))

    @_reaching
    def waiting_work(self, *, host: str) -> list[Ring]:
        """See Conductor."""
        return _rings((kind, str(pk)) for kind, pk in untaken_work(queue=compute_queue(host)))

    @_reaching
    def take(self, *, host: str, work_id: str, owner: str) -> WorkOrder | None:
        """See Conductor."""
        taken = work_take(work_id=work_id, owner=owner, queue=compute_queue(host))
        if taken is None:
            return None
        work, lease = taken
        instance = instance_row(work.subject)
        wanted = PowerState.SHUTDOWN if work.kind in {WorkKind.STOP, WorkKind.DELETE} else PowerState.RUNNING
        return WorkOrder(
            lease=Lease(str(work.pk), lease.attempt, owner, settings.KILONOVA["LEASE_S"]),
            kind=WorkKind(work.kind),
            guest=guest_spec(
                instance,
                list(Port.objects.filter(instance_uuid=instance.pk)),
                topology_of_instance(instance.pk),
            ),
            request_id=work.request_id,
            power_state_wanted=wanted,
            arguments={key: value for key, value in work.arguments.items() if key != LIMITS},
            limits=work.arguments.get(LIMITS, {}),
        )

    @_reaching
    def renew(self, *, lease: Lease) -> None:
        """See Conductor."""
        work_fence(lease=_row_lease(lease))

    @_reaching
    def step_started(self, *, lease: Lease, step: str) -> None:
        """See Conductor."""
        with transaction.atomic():
            work_fence(lease=_row_lease(lease), step=step)
            work = _work(lease)
            instance = instance_row(work.subject)
            step_open(instance_id=instance.pk, name=step, attempt=max(1, instance.attempts), host=instance.host)
            if work.kind == WorkKind.BUILD and step in BUILD_TASKS:
                state_set(instance.pk, vm_in={VmState.BUILDING}, task_state=BUILD_TASKS[step])

    @_reaching
    def step_finished(self, *, lease: Lease, step: str, error: str = "") -> None:
        """See Conductor."""
        with transaction.atomic():
            work_fence(lease=_row_lease(lease))
            instance = instance_row(_work(lease).subject)
            step_close(instance_id=instance.pk, name=step, attempt=max(1, instance.attempts), error=error)

    @_reaching
    def group_check(self, *, lease: Lease) -> PolicyVerdict:
        """See Conductor."""
        reason = group_refusal(instance_row(_work(lease).subject))
        return PolicyVerdict(allowed=not reason, reason=reason)

    def image_chunks(self, *, lease: Lease) -> Iterator[bytes]:
        """See Conductor."""
        image_id = self._image_of(lease)
        if image_id is None:
            raise NotFound("The instance was made without an image.")
        return image_chunks(image_id)

    @_reaching
    def _image_of(self, lease: Lease) -> uuid.UUID | None:
        return instance_row(_work(lease).subject).image_id

    @_reaching
    def build_done(self, *, lease: Lease, facts: GuestFacts) -> None:
        """See Conductor."""
        build_done(lease=_row_lease(lease), work=_work(lease), guest=guest_state(facts))

    @_reaching
    def build_failed(self, *, lease: Lease, failure: BuildFailure) -> None:
        """See Conductor."""
        build_failed(
            lease=_row_lease(lease),
            work=_work(lease),
            failure_class=failure.failure_class.value,
            step=failure.step,
            message=failure.message,
            details=failure.details,
        )

    @_reaching
    def action_done(self, *, lease: Lease, facts: GuestFacts) -> None:
        """See Conductor."""
        action_done(lease=_row_lease(lease), work=_work(lease), guest=guest_state(facts))

    @_reaching
    def action_failed(self, *, lease: Lease, step: str, message: str, details: str = "") -> None:
        """See Conductor."""
        action_failed(lease=_row_lease(lease), work=_work(lease), step=step, message=message, details=details)

    @_reaching
    def deleted(self, *, lease: Lease) -> None:
        """See Conductor."""
        delete_done(lease=_row_lease(lease), work=_work(lease))

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
        power_states_sync(host=host, guests={uuid.UUID(pk): guest_state(each) for pk, each in facts.items()})

    @_reaching
    def console_outputs(self, *, host: str, outputs: dict[str, str]) -> None:
        """See Conductor."""
        console_logs_store(host=host, outputs={uuid.UUID(pk): text for pk, text in outputs.items()})


def _work(lease: Lease) -> Work:
    return Work.objects.get(pk=lease.work_id)


def _rings(pairs: "Iterator[tuple[str, str]]") -> list[Ring]:
    """Codes outside the allow-list are dropped: whoever can write a doorbell can write nonsense."""
    rings = []
    for code, ref in pairs:
        with suppress(ValueError):
            rings.append(Ring(WorkKind(code), str(uuid.UUID(ref))))
    return rings
