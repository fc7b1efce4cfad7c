"""The agents of simulated hosts: they are alive, and say at once that what was asked of them is done."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from django.db.models import F, Q
from django.db.models.functions import Now

from computeagent.protocol.guests import GuestFacts
from computeagent.protocol.power import PowerState
from computeagent.protocol.steps import BuildFailure
from computeagent.protocol.work import WorkKind, WorkOrder
from controlplane.kernel.errors import KilonovaError
from controlplane.work import jobs
from controlplane.work.models import Work, WorkState
from controlplane.work.wakeups import WakeupWaiter, waiter_open
from controlplane.work.work import CONDUCTOR_QUEUE, compute_queue
from scheduling.fleet.services.hosts import services_alive
from scheduling.models import ComputeNode, Service
from servers.agent_api import conductor_connect
from servers.models import HostNetworkState

log = logging.getLogger(__name__)
AT_ONCE = 200
"""Pieces of work that are looked at together."""
NO_DISK = "This host is simulated: its guests have no disks that an image could be made of."
WITHOUT_DISK = frozenset({WorkKind.SNAPSHOT, WorkKind.BACKUP, WorkKind.SHELVE})
POWER_AFTER = {
    WorkKind.STOP: PowerState.SHUTDOWN,
    WorkKind.SOFT_DELETE: PowerState.SHUTDOWN,
    WorkKind.PAUSE: PowerState.PAUSED,
    WorkKind.SUSPEND: PowerState.SUSPENDED,
    WorkKind.SHELVE_OFFLOAD: PowerState.NOSTATE,
}
"""The others leave the guest running."""

FailBuild = Callable[[WorkOrder], BuildFailure | None]


def _no_failure(_order: WorkOrder) -> BuildFailure | None:
    return None


@dataclass(slots=True)
class SimulatedAgents:
    """The agents of all hosts but the `dead` ones. Not thread-safe: one thread asks it."""

    dead: frozenset[str]
    owner: str = "simulated"

    def heartbeat(self) -> int:
        """Be alive, all of them. Returns how many are."""
        hosts = Service.objects.exclude(host__in=self.dead).filter(forced_down=False).values_list("host", flat=True)
        self._networks_applied()
        return services_alive(ago_s=dict.fromkeys(hosts, 0.0))

    def _networks_applied(self) -> None:
        """Hosts without a problem have their networks at once."""
        behind = HostNetworkState.objects.filter(problems=[], applied_revision__lt=F("wanted_revision"))
        behind.exclude(host__in=self.dead).update(applied_revision=F("wanted_revision"), applied_at=Now())

    def measure(self) -> None:
        """What the hosts measured of themselves is of now."""
        ComputeNode.objects.exclude(host__in=self.dead).update(metrics_at=Now())

    def work(self, fails: FailBuild = _no_failure) -> int:
        """Do all that waits for them: how much it was. `fails` says of a build why it fails."""
        queues = [compute_queue(host) for host in self.dead]
        waiting = Work.objects.filter(Q(queue__startswith=compute_queue("")), state=WorkState.WAITING)
        done = 0
        for pk, queue in waiting.exclude(queue__in=queues).order_by("created_at").values_list("pk", "queue")[:AT_ONCE]:
            done += self._do(str(pk), queue.removeprefix(compute_queue("")), fails)
        return done

    def _do(self, work_id: str, host: str, fails: FailBuild) -> int:
        conductor = conductor_connect()
        try:
            order = conductor.take(host=host, work_id=work_id, owner=f"{host}:{self.owner}")
            if order is None:
                return 0
            if order.kind is WorkKind.BUILD and (failure := fails(order)) is not None:
                conductor.build_failed(lease=order.lease, failure=failure)
            elif order.kind is WorkKind.BUILD:
                conductor.build_done(lease=order.lease, facts=_facts(order, PowerState.RUNNING))
            elif order.kind is WorkKind.DELETE:
                conductor.deleted(lease=order.lease)
            elif order.kind is WorkKind.SCREENSHOT:
                conductor.screenshot_done(lease=order.lease, png=b"", error="A simulated host has no screens.")
            elif order.kind in WITHOUT_DISK:
                conductor.action_failed(lease=order.lease, step=order.kind.value, message=NO_DISK)
            else:
                power = POWER_AFTER.get(order.kind, PowerState.RUNNING)
                conductor.action_done(lease=order.lease, facts=_facts(order, power))
        except KilonovaError as error:
            log.warning("simulated host %s could not do %s: %s", host, work_id, error.message)
            return 0
        return 1


def _facts(order: WorkOrder, power: PowerState) -> GuestFacts:
    ports = order.guest.ports
    addresses = {port.network_name: tuple(one.address for one in port.addresses) for port in ports if port.addresses}
    return GuestFacts(power_state=power, addresses=addresses)


class SimulatedConductor:
    """Answers the conductor's wake-ups in the thread that made it."""

    def __init__(self) -> None:
        self._waiter: WakeupWaiter = waiter_open(CONDUCTOR_QUEUE)

    def answer(self, wait_s: float = 0.0) -> int:
        """Answer what came within so many seconds, and what came of that. Returns how many wake-ups it were."""
        answered = 0
        while wakeups := self._waiter.wait(0.0 if answered else wait_s):
            for wakeup in wakeups:
                jobs.answer(wakeup.code, wakeup.ref)
                answered += 1
        return answered

    def close(self) -> None:
        """Wait for nothing any more."""
        self._waiter.close()
