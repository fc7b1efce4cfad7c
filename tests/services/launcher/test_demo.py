"""`manage.py demo`: a fleet of rows that keeps every invariant, with trouble in it that is meant."""

import pytest

from controlplane.identity.services import admin_ensure
from controlplane.infra.db import db_now
from controlplane.kernel.errors import Conflict, Invalid
from controlplane.launcher.demo.fill import demo_fill
from controlplane.launcher.demo.hosts import Condition, hosts_planned
from controlplane.launcher.demo.plan import DemoPlan
from controlplane.launcher.demo.simulated_agents import SimulatedAgents
from scheduling.fleet.selectors.liveness import hosts_silent
from scheduling.models import ComputeNode, SchedulingDecision
from servers.models import DriftSighting, Instance, InstanceFault
from servers.repair.services.audit import audit_findings

HOSTS, INSTANCES = 40, 200


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_a_demo_keeps_every_invariant_and_shows_failures_of_every_kind() -> None:
    admin_ensure("correct horse battery")
    plan = DemoPlan(HOSTS, INSTANCES, 1, db_now())

    dead = demo_fill(plan, admin="admin")

    assert audit_findings() == []
    assert Instance.objects.count() > INSTANCES
    assert set(hosts_silent()) == dead
    kinds = set(DriftSighting.objects.values_list("kind", flat=True))
    assert {"orphan_guest", "guest_crashed", "guest_off", "safe_mode", "inventory", "network_problem"} <= kinds
    outcomes = set(SchedulingDecision.objects.values_list("outcome", flat=True))
    assert outcomes == {"selected", "no_valid_host"}
    steps = set(InstanceFault.objects.values_list("step", flat=True))
    assert {"select_destinations", "block_device_mapping", "spawning", "crash"} <= steps
    assert SimulatedAgents(dead).heartbeat() == HOSTS - len(dead)
    with pytest.raises(Conflict, match="There are hosts already"):
        demo_fill(plan, admin="admin")
    assert ComputeNode.objects.count() == HOSTS


@pytest.mark.django_db
def test_the_same_seed_plans_the_same_hosts_and_another_one_others() -> None:
    now = db_now()
    first, again, other = (hosts_planned(DemoPlan(200, 1000, seed, now)) for seed in (7, 7, 8))

    assert first == again
    assert [host.condition for host in first] != [host.condition for host in other]
    assert {host.condition for host in first} == set(Condition)
    assert len({host.zone for host in first}) == DemoPlan(200, 1000, 7, now).zones


@pytest.mark.django_db
@pytest.mark.parametrize(("hosts", "instances"), [(1, 0), (100, 100_000)])
def test_a_demo_of_another_size_is_refused(hosts: int, instances: int) -> None:
    with pytest.raises(Invalid):
        DemoPlan(hosts, instances, 1, db_now()).check()
