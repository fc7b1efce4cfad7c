"""The last day of a demo: requests that go the real way, so that decisions, journeys and failures are true ones."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import F, Model, QuerySet

from computeagent.protocol.steps import BuildFailure, FailureClass
from computeagent.protocol.work import WorkOrder
from controlplane.identity.domain import Caller
from controlplane.infra.request_id import request_id_scope
from controlplane.launcher.demo.catalogue import HUGE_FLAVOR, METAL_FLAVOR, PINNED_FLAVOR, TRAINING_FLAVOR
from controlplane.launcher.demo.people import Team
from controlplane.launcher.demo.plan import DemoPlan
from controlplane.launcher.demo.simulated_agents import FailBuild, SimulatedAgents, SimulatedConductor
from controlplane.work.models import Work
from scheduling.models import SchedulingDecision
from servers.instances.domain.instance_create import InstanceCreate
from servers.instances.services.create import instances_create
from servers.models import AttemptRecord, Instance, InstanceAction, InstanceActionEvent, InstanceFault

NO_SPACE = BuildFailure(
    FailureClass.HOST, "block_device_mapping", "No space left on the host's disk.", "write /var/lib/kilonova: ENOSPC"
)
NO_BOOT = BuildFailure(
    FailureClass.USER, "spawning", "The image is no bootable disk: it has no boot sector.", "first 512 bytes are zero"
)
MANY_TIMES = 10


@dataclass(frozen=True, slots=True)
class DemoRequest:
    """One request: of which project, when (hours ago), what, and how its builds fail on so many hosts."""

    team: str
    hours_ago: float
    name: str
    flavor: str
    count: int = 1
    image: str = "debian-13"
    more: dict[str, Any] = field(default_factory=dict)
    failure: BuildFailure | None = None
    failing_hosts: int = 0


FAILED = (
    DemoRequest("ml", 21.5, "train-a100", TRAINING_FLAVOR, 4),
    DemoRequest("ml", 3.2, "train-a100-retry", TRAINING_FLAVOR, 2),
    DemoRequest("analytics", 9.1, "inmemory", HUGE_FLAVOR, 2),
    DemoRequest("billing", 6.4, "latency", METAL_FLAVOR),
    DemoRequest("ci", 1.3, "runner-big", "m1.large", 3, failure=NO_SPACE, failing_hosts=MANY_TIMES),
    DemoRequest("staging", 2.6, "imported", "m1.small", image="alpine-3.23", failure=NO_BOOT, failing_hosts=MANY_TIMES),
)
SECOND_TRY = DemoRequest("shop", 0.7, "checkout-canary", "m1.medium", 2, failure=NO_SPACE, failing_hosts=1)
FLAVORS = ("m1.small", "m1.medium", "m1.large", "c1.large")


def requests_run(plan: DemoPlan, teams: Sequence[Team], agents: SimulatedAgents, *, pinned_hosts: int) -> None:
    """All of them, one after the other."""
    rng = plan.rng("requests")
    usual = [
        DemoRequest(
            team.kind.name,
            0.2 + 23 * rng.random(),
            rng.choice(team.kind.services),
            rng.choice(FLAVORS),
            rng.randint(1, 5),
        )
        for team in teams
        for _ in range(3)
    ]
    pinned = [
        DemoRequest("billing", 20.0 - number / 7, "ledger-rt", PINNED_FLAVOR, 6)
        for number in range(min(30, pinned_hosts))
    ]
    conductor = SimulatedConductor()
    by_name = {team.kind.name: team for team in teams}
    oldest_first = sorted((*usual, *pinned, *FAILED, SECOND_TRY), key=lambda one: -one.hours_ago)
    for number, asked in enumerate(oldest_first):
        members = by_name[asked.team].members
        with request_id_scope(plan.request_id("asked", number)):
            made = _made(asked, f"{asked.name}-{number + 1}", members[number % len(members)])
            fails = _failing(asked)
            while conductor.answer() + agents.work(fails):
                pass
        backdate(plan.ago(hours=asked.hours_ago), [one.pk for one in made], made[0].reservation_id)
    conductor.close()


def _made(asked: DemoRequest, name: str, caller: Caller) -> list[Instance]:
    wanted = InstanceCreate(
        name=name,
        flavor=asked.flavor,
        image=asked.image,
        min_count=asked.count,
        tags=("demo",),
        networks=[{"network": f"{asked.team}-net"}],
        **asked.more,
    )
    return instances_create(caller=caller, wanted=wanted)


def _failing(asked: DemoRequest) -> FailBuild:
    """Builds fail on the first hosts that try them."""
    failed: Counter[str] = Counter()

    def fails(order: WorkOrder) -> BuildFailure | None:
        failed[order.guest.uuid] += 1
        return asked.failure if failed[order.guest.uuid] <= asked.failing_hosts else None

    return fails


def backdate(at: datetime, instances: Sequence[UUID], reservation: UUID | None = None) -> None:
    """Let what was done to these instances have been done at this time, with all its steps."""
    subjects = [*instances, *([reservation] if reservation else [])]
    actions = InstanceAction.objects.filter(instance_uuid__in=instances)
    first = actions.order_by("started_at").first()
    if first is None:
        return
    by = first.started_at - at
    _shift(InstanceActionEvent.objects.filter(action__in=list(actions)), by, "started_at", "finished_at")
    _shift(actions, by, "started_at", "finished_at")
    _shift(AttemptRecord.objects.filter(instance_uuid__in=instances), by, "started_at", "finished_at")
    _shift(InstanceFault.objects.filter(instance_uuid__in=instances), by, "created_at")
    _shift(Work.objects.filter(subject__in=subjects), by, "created_at", "started_at", "finished_at", "woken_at")
    _shift(SchedulingDecision.objects.filter(subject__in=subjects), by, "created_at")
    _shift(Instance.objects.filter(pk__in=instances), by, "created_at", "updated_at", "launched_at", "task_since")


def _shift(rows: QuerySet[Model], by: timedelta, *columns: str) -> None:
    rows.update(**{name: F(name) - by for name in columns})
