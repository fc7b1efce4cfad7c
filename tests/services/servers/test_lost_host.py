"""An agent whose host passed to another agent: nothing that it says takes effect any more."""

import uuid
from collections.abc import Callable
from dataclasses import replace

import pytest

from computeagent.protocol.guests import GuestFacts, GuestOnHypervisor, GuestReturn
from computeagent.protocol.hosts import HostUsage
from computeagent.protocol.power import PowerState
from computeagent.protocol.steps import BuildFailure, FailureClass
from computeagent.protocol.work import AgentLease
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Conflict, Fenced, NotFound
from controlplane.work.models import Heal, NamedLease, Work
from scheduling.models import ComputeNode
from servers.agent_api import conductor_connect
from servers.agent_api.connection import DatabaseConductor
from servers.instances.services.act import instance_act
from servers.models import ConsoleLog, OrphanGuest
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)

FIRST, SECOND = str(uuid.uuid4()), str(uuid.uuid4())
FAILURE = BuildFailure(failure_class=FailureClass.HOST, step="spawning", message="no disk")


def agent(agent_id: str = FIRST, *guests: str) -> DatabaseConductor:
    """The conductor of an agent that serves h1."""
    conductor = conductor_connect()
    conductor.host_own(host="h1", agent_id=agent_id, guests=guests)
    return conductor


def pass_host(*guests: str) -> DatabaseConductor:
    """The first agent is silent for too long, and another one gets its host."""
    NamedLease.objects.update(until=now_plus(-1))
    return agent(SECOND, *guests)


def waiting_build() -> str:
    world.create(world.cloud().member)
    world.pump()
    return str(Work.objects.get(queue="compute.h1").pk)


def test_agent_that_owns_its_host_builds() -> None:
    work_id = waiting_build()
    mine = agent()
    order = mine.take(host="h1", work_id=work_id, owner="h1:1")
    assert order is not None
    mine.record_steps(lease=order.lease, begins="spawning")
    mine.build_done(lease=order.lease, facts=world.RUNNING)
    assert world.instance_of(uuid.UUID(order.guest.uuid)).vm_state == "active"


def test_work_is_not_taken_by_an_agent_that_lost_its_host() -> None:
    work_id = waiting_build()
    lost = agent()
    other = pass_host(str(Work.objects.get(pk=work_id).subject))
    assert lost.take(host="h1", work_id=work_id, owner="h1:1") is None
    assert other.take(host="h1", work_id=work_id, owner="h1:2") is not None


VERBS: list[Callable[[DatabaseConductor, AgentLease], object]] = [
    lambda lost, lease: lost.renew(lease=lease),
    lambda lost, lease: lost.record_steps(lease=lease, begins="spawning"),
    lambda lost, lease: lost.build_done(lease=lease, facts=world.RUNNING),
    lambda lost, lease: lost.build_failed(lease=lease, failure=FAILURE),
    lambda lost, lease: lost.deleted(lease=lease),
    lambda lost, lease: lost.give_back(lease=lease, reason="The agent was stopped."),
    lambda lost, lease: list(lost.image_chunks(lease=lease)),
]


@pytest.mark.parametrize("verb", VERBS)
def test_lease_is_over_for_an_agent_that_lost_its_host(verb: Callable[[DatabaseConductor, AgentLease], object]) -> None:
    work_id = waiting_build()
    lost = agent()
    lease = lost_lease(lost, work_id)
    with pytest.raises(Fenced):
        verb(lost, lease)
    work = Work.objects.get(pk=work_id)
    assert (work.state, world.instance_of(work.subject).vm_state) == ("running", "building")


def test_action_is_not_ended_by_an_agent_that_lost_its_host() -> None:
    who = world.cloud()
    instance = world.active(who.member)
    instance_act(caller=who.member, instance_id=instance.pk, action="stop")
    lost = agent()
    lease = lost_lease(lost, str(Work.objects.get(kind="stop").pk))
    with pytest.raises(Fenced):
        lost.action_done(lease=lease, facts=world.OFF)
    with pytest.raises(Fenced):
        lost.action_failed(lease=lease, step="powering-off", message="no")
    assert world.instance_of(instance.pk).task_state == "powering-off"


def test_what_a_lost_agent_reports_changes_nothing() -> None:
    instance = world.active(world.cloud().member)
    lost = agent()
    pass_host(str(instance.pk))
    uid = str(instance.pk)
    lost.power_states(host="h1", facts={uid: GuestFacts(PowerState.SHUTDOWN)})
    lost.console_outputs(host="h1", outputs={uid: "old"})
    lost.usage(host="h1", usage=HostUsage(9, 9, 9, 9))
    for verb in (
        lambda: lost.register(host="h1", report=replace(world.REPORT, hypervisor_hostname="h1")),
        lambda: lost.orphan_guests(host="h1", guests=[GuestOnHypervisor(str(uuid.uuid4()), "x", PowerState.RUNNING)]),
        lambda: lost.release_guest(host="h1", guest_uuid=str(uuid.uuid4())),
        lambda: lost.guests_returned(host="h1", returns=[GuestReturn(uid, PowerState.SHUTDOWN)]),
    ):
        with pytest.raises(Conflict, match="served by another agent"):
            verb()
    assert world.instance_of(instance.pk).vm_state == "active"
    assert not ConsoleLog.objects.exists()
    assert not OrphanGuest.objects.exists()
    assert not Heal.objects.exists()
    assert ComputeNode.objects.get().vcpus_used == 0


def test_hypervisor_of_another_host_is_a_conflict_of_its_own() -> None:
    world.host("h1")
    report = replace(world.REPORT, hypervisor_hostname="h1")
    with pytest.raises(Conflict, match="belongs to host h1 already") as refused:
        conductor_connect().register(host="h2", report=report)
    assert not isinstance(refused.value, Fenced)


def test_host_that_never_registered_is_not_found() -> None:
    with pytest.raises(NotFound):
        conductor_connect().heartbeat(host="h9")


def lost_lease(lost: DatabaseConductor, work_id: str) -> AgentLease:
    """The lease on the work of an agent whose host passes to another one right after."""
    order = lost.take(host="h1", work_id=work_id, owner="h1:1")
    assert order is not None
    pass_host(order.guest.uuid)
    return order.lease
