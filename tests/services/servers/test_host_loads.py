"""Instances that come, go or get busy are counted at the next look, and nobody else is."""

import uuid
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from controlplane.identity.models import Project
from controlplane.infra.db import now_plus
from scheduling.destinations.selectors.inputs import scheduling_inputs
from servers.instances.selectors.scheduling_facts import fleet_facts
from servers.models import Instance
from servers.states import TaskState, VmState

pytestmark = pytest.mark.django_db(transaction=True)


def instance(host: str, **values: Any) -> Instance:
    project, _ = Project.objects.get_or_create(name="p")
    given = {"vm_state": VmState.ACTIVE, **values}
    return Instance.objects.create(
        project_id=project.pk, user_id=uuid.uuid4(), name="vm", host=host, flavor={}, vcpus=1, memory_mib=1, **given
    )


def counts() -> dict[str, tuple[int, int]]:
    facts = fleet_facts(None, scheduling_inputs())
    return {host: (one.num_instances, one.num_io_ops) for host, one in facts.hosts.items()}


def test_instance_that_starts_building_is_counted_at_the_next_look() -> None:
    instance("h1")
    assert counts() == {"h1": (1, 0)}
    instance("h1", vm_state=VmState.BUILDING)
    instance("h2", vm_state=VmState.BUILDING)
    assert counts() == {"h1": (2, 1), "h2": (1, 1)}


def test_instance_that_moves_leaves_its_host() -> None:
    moved = instance("h1")
    assert counts() == {"h1": (1, 0)}
    Instance.objects.filter(pk=moved.pk).update(host="h2", task_state=TaskState.RESIZE_PREP)
    assert counts() == {"h2": (1, 1)}
    Instance.objects.filter(pk=moved.pk).update(deleted_at=now_plus(-1))
    assert counts() == {}


def test_only_hosts_that_changed_are_counted_again() -> None:
    for host in ("h1", "h2", "h3"):
        instance(host)
    before = fleet_facts(None, scheduling_inputs()).hosts
    instance("h2")
    with CaptureQueriesContext(connection) as queries:
        after = fleet_facts(None, scheduling_inputs()).hosts
    assert len(queries) == 2
    assert after["h1"] is before["h1"]
    assert after["h2"].num_instances == 2


def test_nothing_is_counted_while_nothing_changes() -> None:
    instance("h1")
    before = fleet_facts(None, scheduling_inputs()).hosts
    with CaptureQueriesContext(connection) as queries:
        after = fleet_facts(None, scheduling_inputs()).hosts
    assert after is before
    assert len(queries) == 1
