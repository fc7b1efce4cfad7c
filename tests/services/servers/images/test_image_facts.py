"""What the scheduler is told of the images that run on each host."""

import uuid

import pytest

from controlplane.identity.models import Project
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.policies.services.policies import policy_create
from servers.instances.selectors.scheduling_facts import fleet_facts
from servers.models import Instance

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def instances() -> None:
    """Two on h1, one of them without an image."""
    project = Project.objects.create(name="p")
    for image in (
        {"properties": {"os_type": "linux", "hw_cpu_cores": 2, "architecture": "amd64", "my_property": "a"}},
        {},
    ):
        Instance.objects.create(
            project_id=project.pk,
            user_id=uuid.uuid4(),
            name="vm",
            host="h1",
            flavor={},
            vcpus=1,
            memory_mib=1,
            image=image,
        )


def test_image_properties_are_counted_as_text_where_the_weigher_is_on() -> None:
    policy_create(body={"weighers": {"ImagePropertiesWeigher": 1.0}}, activate=True)
    facts = fleet_facts(None, scheduling_inputs())
    assert facts.of("h1").image_properties == {
        ("os_type", "linux"): 1,
        ("hw_cpu_cores", "2"): 1,
        ("hw_architecture", "x86_64"): 1,
    }


def test_image_properties_are_not_read_while_the_weigher_is_off() -> None:
    assert fleet_facts(None, scheduling_inputs()).of("h1").image_properties == {}
