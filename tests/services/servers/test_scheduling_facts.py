"""What the scheduler is told of instances beside their number."""

import uuid

import pytest

from controlplane.identity.models import Project
from controlplane.infra.db import now_plus
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.policies.services.policies import policy_create
from servers.instances.domain.bodies import SpecBody
from servers.instances.selectors.scheduling_facts import fleet_facts
from servers.models import Instance

pytestmark = pytest.mark.django_db
SMALL, LARGE = uuid.UUID(int=1), uuid.UUID(int=2)


@pytest.fixture(autouse=True)
def instances() -> None:
    """Two flavors on h1, one on h2, and one that is gone."""
    project = Project.objects.create(name="p")
    for host, flavor_id, gone in (
        ("h1", SMALL, False),
        ("h1", LARGE, False),
        ("h2", LARGE, False),
        ("h2", SMALL, True),
    ):
        Instance.objects.create(
            project_id=project.pk,
            user_id=uuid.uuid4(),
            name="vm",
            host=host,
            flavor={},
            flavor_id=flavor_id,
            vcpus=1,
            memory_mib=1,
            deleted_at=now_plus(-1) if gone else None,
        )


def test_flavors_on_a_host_are_told_where_the_policy_asks() -> None:
    policy_create(body={"filters": ["ComputeFilter", "TypeAffinityFilter"]}, activate=True)
    facts = fleet_facts(None, scheduling_inputs())
    assert {host: one.flavor_ids for host, one in facts.hosts.items()} == {
        "h1": {str(SMALL), str(LARGE)},
        "h2": {str(LARGE)},
    }


def test_flavors_are_not_read_for_other_policies() -> None:
    facts = fleet_facts(None, scheduling_inputs())
    assert {one.flavor_ids for one in facts.hosts.values()} == {frozenset()}


def test_trust_without_a_service_is_nobodys() -> None:
    flavor = FlavorSnapshot("f", "m1", 1, 512, extra_specs={"trust:trusted_host": "trusted"})
    assert fleet_facts(SpecBody(flavor, ImageSnapshot()), scheduling_inputs()).trust_levels == {}
