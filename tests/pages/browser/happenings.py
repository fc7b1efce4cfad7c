"""What can happen beside the web server, by name. Needs Django to be set up."""

import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.test import Client

from controlplane.identity.domain import Caller
from controlplane.identity.models import Project, User
from controlplane.identity.selectors import caller_for_user
from controlplane.infra.db import db_now
from controlplane.launcher.demo.simulated_agents import SimulatedAgents, SimulatedConductor
from controlplane.work.hints import changed
from scheduling.fleet.services.aggregates import aggregate_create, aggregate_host_add
from scheduling.fleet.services.service_states import service_disable, service_enable
from scheduling.models import Service
from servers.bulk.services.run import bulk_items_follow
from servers.instances.services.act import instance_act
from servers.models import Instance
from tests.pages.every_page import drawn_pages
from tests.worlds import cloud, networks
from tests.worlds.demo_fleet import demo_fleet

HEARTBEAT_S = 2.0


class Fleet:
    """Hosts that are alive through this program; none until it is told so."""

    def __init__(self) -> None:
        self._agents: SimulatedAgents | None = None
        self._conductor: SimulatedConductor | None = None
        self._beat_at = 0.0

    @property
    def is_tended(self) -> bool:
        return self._agents is not None

    def tend(self) -> None:
        """From now on they are."""
        self._agents, self._conductor = SimulatedAgents(frozenset()), SimulatedConductor()

    def kill(self, name: str) -> None:
        """Its heartbeat stops, and the last one was a while ago."""
        assert self._agents is not None
        self._agents.dead |= {name}
        Service.objects.filter(host=name).update(last_seen_up=db_now() - timedelta(minutes=10))
        changed("hosts")

    def turn(self, wait_s: float) -> None:
        """Be alive, and do what was asked for since the last turn or comes within so many seconds."""
        assert self._agents is not None
        assert self._conductor is not None
        if time.monotonic() >= self._beat_at:
            self._agents.heartbeat()
            self._beat_at = time.monotonic() + HEARTBEAT_S
        if self._conductor.answer(wait_s) + self._agents.work():
            bulk_items_follow()


FLEET = Fleet()


def world(*hosts: str) -> None:
    """The small cloud of tests."""
    cloud.cloud(*hosts)


def living_world(*hosts: str) -> None:
    """The same with a network, and hosts that do what they are asked for."""
    networks.cloud_with_networks(*hosts)
    networks.network("inner", project=Project.objects.get(name="demo"))
    FLEET.tend()


def demo(hosts: str, instances: str) -> None:
    """A demo's fleet as it is, alive for a minute."""
    demo_fleet(int(hosts), int(instances)).heartbeat()


def pages(username: str) -> list[dict[str, Any]]:
    """What each page of the dashboard is for this person."""
    client = Client()
    client.force_login(User.objects.get(username=username))
    return [asdict(one) for one in drawn_pages(client)]


def host(name: str, zone: str) -> None:
    """One more, alone in a zone of its own."""
    cloud.host(name, traits=networks.CARRIES)
    made = aggregate_create(name=f"hosts of {zone}", availability_zone=zone)
    aggregate_host_add(aggregate_id=made.pk, host=name)


def create(name: str) -> str:
    """Root asks for an instance: its id."""
    return create_in("", name, "root")


def create_in(zone: str, name: str, username: str) -> str:
    """Somebody asks for an instance in a zone, or in any; hosts that live build it. Its id."""
    made = cloud.create(_caller(username), name, availability_zone=zone)[0].pk
    while FLEET.is_tended and not Instance.objects.filter(pk=made).exclude(vm_state="building").exists():
        FLEET.turn(0.0)
    return str(made)


def protect(instance: str, username: str) -> None:
    """Nobody deletes it."""
    instance_act(caller=_caller(username), instance_id=UUID(instance), action="protect", arguments={})


def build() -> int:
    """Everything that waits to be built is, by hosts that are alive. How many became active."""
    Service.objects.update(last_seen_up=db_now())
    cloud.pump()
    return cloud.finish_builds()


def burst(topic: str, seconds: str) -> None:
    """Something changes a hundred times a second."""
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        changed(topic)
        time.sleep(0.01)


def disable(name: str) -> None:
    """A host takes no new instances."""
    service_disable(host=name)


def enable(name: str) -> None:
    """It does again."""
    service_enable(host=name)


def kill(name: str) -> None:
    """A host of the living world is silent, and has been."""
    FLEET.kill(name)


def _caller(username: str) -> Caller:
    return caller_for_user(user=User.objects.get(username=username))


ACTS: dict[str, Callable[..., Any]] = {
    one.__name__: one
    for one in (
        world, living_world, demo, pages, host, create, create_in, protect, build, burst, disable, enable, kill,
    )
}  # fmt: skip
