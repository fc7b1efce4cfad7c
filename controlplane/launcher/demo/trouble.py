"""What goes wrong in a demo beside builds: what waits for silent hosts, what hangs, and what drifted."""

from collections.abc import Sequence
from datetime import timedelta

from django.db.models import F

from controlplane.infra.request_id import request_id_scope
from controlplane.launcher.demo.guest_states import GuestState
from controlplane.launcher.demo.hosts import Condition, DemoHost
from controlplane.launcher.demo.placing import Placed
from controlplane.launcher.demo.plan import DemoPlan
from controlplane.launcher.demo.simulated_agents import SimulatedAgents, SimulatedConductor
from controlplane.work.models import Work
from scheduling.models import ComputeNode
from servers.agent_api import conductor_connect
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.models import DriftSighting, HostNetworkState, Instance, InstanceAction, OrphanGuest
from servers.repair.services.drift import LOOKS, drift_check_run

LONG_S = 6 * 3600.0
"""How long work that waits here may go on waiting: for as long as somebody looks at the demo."""
NETWORK_PROBLEM = {"kind": "network", "message": "cannot add the VXLAN device: too many open files"}


def trouble_write(plan: DemoPlan, hosts: Sequence[DemoHost], placed: Sequence[Placed], agents: SimulatedAgents) -> None:
    """All of it, and then the look that finds what drifted."""
    _deleted(plan, placed, agents)
    _waiting_for_silent_hosts(plan, placed)
    _hanging(plan, placed)
    agents.heartbeat()
    _drifted(plan, hosts)
    for name in LOOKS:
        drift_check_run(name)
    lasting = plan.rng("drift")
    for row in DriftSighting.objects.all():
        row.first_seen_at = plan.ago(minutes=lasting.uniform(2.0, 600.0))
        row.save(update_fields=["first_seen_at"])


def _deleted(plan: DemoPlan, placed: Sequence[Placed], agents: SimulatedAgents) -> None:
    """Somebody removed a few this morning."""
    rng = plan.rng("deleted")
    chosen = [one for one in placed if one.host and not one.host.condition.is_dead and one.state is GuestState.STOPPED]
    conductor = SimulatedConductor()
    for number, one in enumerate(rng.sample(chosen, min(4, len(chosen)))):
        with request_id_scope(plan.request_id("delete", number)):
            instance_delete(caller=one.user, instance_id=one.id)
        conductor.answer()
        agents.work()
        actions = InstanceAction.objects.filter(instance_uuid=one.id, action="delete")
        by = timedelta(minutes=rng.uniform(15.0, 300.0))
        actions.update(started_at=F("started_at") - by, finished_at=F("finished_at") - by)
    conductor.close()


def _waiting_for_silent_hosts(plan: DemoPlan, placed: Sequence[Placed]) -> None:
    """People asked for things that only a host that is silent could do."""
    there = [
        one for one in placed if one.host and one.host.condition is Condition.SILENT and one.state is GuestState.RUNNING
    ]
    for number, (one, action) in enumerate(zip(there, ("stop", "reboot", "delete"), strict=False)):
        with request_id_scope(plan.request_id("waiting", number)):
            if action == "delete":
                instance_delete(caller=one.user, instance_id=one.id)
            else:
                instance_act(caller=one.user, instance_id=one.id, action=action, arguments={})
        _since(plan, one, minutes=11.0 + 3 * number)


def _hanging(plan: DemoPlan, placed: Sequence[Placed]) -> None:
    """A host took work, and has said nothing of it since."""
    well = [
        one for one in placed if one.host and one.host.condition is Condition.WELL and one.state is GuestState.RUNNING
    ]
    if not well:
        return
    one = plan.rng("hanging").choice(well)
    with request_id_scope(plan.request_id("hanging", 0)):
        instance_act(caller=one.user, instance_id=one.id, action="reboot", arguments={})
    work = Work.objects.get(subject=one.id, state="waiting")
    host = one.host.name if one.host else ""
    order = conductor_connect().take(host=host, work_id=str(work.pk), owner=f"{host}:simulated")
    if order is not None:
        conductor_connect().record_steps(lease=order.lease, begins="rebooting_hard")
    _since(plan, one, minutes=9.0)


def _since(plan: DemoPlan, one: Placed, *, minutes: float) -> None:
    """The open work on this instance was asked for so long ago, and may take its time."""
    at = plan.ago(minutes=minutes)
    Work.objects.filter(subject=one.id, finished_at=None).update(
        created_at=at,
        woken_at=at,
        started_at=None if one.host and one.host.condition.is_dead else at,
        lease_until=None if one.host and one.host.condition.is_dead else at + timedelta(minutes=1),
        deadline_at=plan.now + timedelta(seconds=LONG_S),
    )
    InstanceAction.objects.filter(instance_uuid=one.id, finished_at=None).update(started_at=at)
    Instance.objects.filter(pk=one.id).update(task_since=at)


def _drifted(plan: DemoPlan, hosts: Sequence[DemoHost]) -> None:
    """Guests that nobody explains, a host that lost CPUs, and one that could not do its networks."""
    rng = plan.rng("drifted")
    well = [host for host in hosts if host.condition is Condition.WELL and not host.is_pinned]
    chosen = rng.sample(well, min(6, len(well)))
    for number, host in enumerate(chosen[:3]):
        OrphanGuest.objects.create(
            host=host.name,
            guest_uuid=plan.uuid("orphan", number),
            name=f"instance-{number:08x}",
            power_state="running",
            first_seen_at=plan.ago(hours=2 + number),
            last_seen_at=plan.ago(seconds=20),
            not_removed_because="Somebody else's mark is on its disk" if number == 0 else "",
        )
    for host in chosen[3:5]:
        ComputeNode.objects.filter(host=host.name).update(memory_mib=F("memory_mib") - 65536)
    for host in chosen[5:]:
        HostNetworkState.objects.update_or_create(
            host=host.name,
            defaults={
                "wanted_revision": 12,
                "applied_revision": 12,
                "applied_at": plan.ago(minutes=4),
                "problems": [{**NETWORK_PROBLEM, "id": str(plan.uuid("network", "shop-net"))}],
            },
        )
