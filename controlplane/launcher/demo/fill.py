"""Fills an empty installation with a demo, from first to last."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from django.db import connection, transaction

from controlplane.kernel.errors import Conflict
from controlplane.launcher.demo.catalogue import MISSING_TRAIT, catalogue_write
from controlplane.launcher.demo.fleet import fleet_write
from controlplane.launcher.demo.history import history_write
from controlplane.launcher.demo.hosts import DemoHost, hosts_planned
from controlplane.launcher.demo.instances import instances_write
from controlplane.launcher.demo.networks import networks_write, ports_write
from controlplane.launcher.demo.people import quotas_write, teams_write
from controlplane.launcher.demo.placing import instances_placed
from controlplane.launcher.demo.plan import DemoPlan
from controlplane.launcher.demo.requests import requests_run
from controlplane.launcher.demo.simulated_agents import SimulatedAgents
from controlplane.launcher.demo.trouble import trouble_write
from controlplane.launcher.demo.volumes import pool_trait_of, volumes_write
from controlplane.work.models import Wakeup
from placement.services.names import trait_ensure
from scheduling.models import ComputeNode

Step = Callable[[str], AbstractContextManager[object]]


def _quiet(_title: str) -> AbstractContextManager[object]:
    return nullcontext()


def demo_fill(plan: DemoPlan, *, admin: str, step: Step = _quiet) -> frozenset[str]:
    """Fill it, with users who have the password of `admin`: the names of the hosts that stay dead.

    Raises Invalid for a size, Conflict where there are hosts.
    """
    plan.check()
    if ComputeNode.objects.exists():
        raise Conflict("There are hosts already: a demo fills an empty installation only.")
    trait_ensure(MISSING_TRAIT)
    with step("Projects, flavors, images"), transaction.atomic():
        teams, offer = teams_write(admin), catalogue_write(plan)
        networks = networks_write(plan, teams)
    with step(f"Places of {plan.instances:,} instances"):
        hosts = hosts_planned(plan)
        placed = instances_placed(plan, hosts, teams, offer)
    with step(f"{plan.hosts:,} hosts"), transaction.atomic():
        fleet_write(plan, hosts, more_traits=frozenset({pool_trait_of(plan)}))
    with step(f"{plan.instances:,} instances"), transaction.atomic():
        instances_write(placed, ports_write(plan, placed, networks))
    with step("Volumes"), transaction.atomic():
        volumes_write(plan, hosts, placed)
    with step("History"), transaction.atomic():
        history_write(plan, placed)
    agents = SimulatedAgents(dead_hosts(hosts))
    agents.heartbeat()
    with step("Requests of the last day"):
        requests_run(plan, teams, agents, pinned_hosts=sum(host.is_pinned for host in hosts))
        agents.heartbeat()
    with step("Drift and failures"):
        trouble_write(plan, hosts, placed, agents)
    quotas_write(plan, teams)
    Wakeup.objects.all().delete()  # nobody waits for them
    _analyze()
    return agents.dead


def dead_hosts(hosts: list[DemoHost]) -> frozenset[str]:
    """The hosts whose heartbeat stays away."""
    return frozenset(host.name for host in hosts if host.condition.is_dead)


def _analyze() -> None:
    """As databases do by themselves soon after: how large what is."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
