"""`zone::node` and `zone:host:node` force a node as `zone:host` forces a host."""

import pytest

from computeagent.protocol.steps import FailureClass
from controlplane.kernel.errors import Forbidden, InvalidFields
from servers.models import BuildRequest, RequestSpec
from tests.fixtures.remembering import remembered
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
@remembered
def who() -> world.People:
    """Hosts whose nodes have names of their own."""
    found = world.people()
    world.flavor()
    world.image()
    for name in ("h1", "h2", "h3"):
        world.conductor_connect().register(
            host=name, report=world.replace(world.REPORT, hypervisor_hostname=f"node-of-{name}")
        )
    return found


@pytest.mark.parametrize("zone", ["nova::node-of-h2", "::node-of-h2", "nova:h2:node-of-h2", ":h2:node-of-h2"])
def test_forced_node_is_used_and_never_left(who: world.People, zone: str) -> None:
    made = [world.create(who.admin, f"vm{at}", availability_zone=zone)[0] for at in range(3)]
    world.pump()
    assert {world.instance_of(one.pk).host for one in made} == {"h2"}
    world.fail_build("h2", FailureClass.HOST)
    world.pump()
    assert sorted(world.instance_of(one.pk).vm_state for one in made) == ["building", "building", "error"]


@pytest.mark.parametrize(
    ("zone", "words"),
    [
        ("nova::node-of-h9", "There is no node 'node-of-h9'."),
        ("nova:h1:node-of-h2", "There is no node 'node-of-h2' on host 'h1'."),
        ("nova:h9:node-of-h2", "There is no host 'h9'."),
    ],
)
def test_node_that_does_not_exist_refuses_the_whole_batch(who: world.People, zone: str, words: str) -> None:
    with pytest.raises(InvalidFields) as refused:
        world.create(who.admin, availability_zone=zone, min_count=3)
    assert refused.value.errors == {"availability_zone": [words]}
    assert (RequestSpec.objects.count(), BuildRequest.objects.count()) == (0, 0)


def test_forcing_a_node_is_for_admins(who: world.People) -> None:
    with pytest.raises(Forbidden):
        world.create(who.member, availability_zone="nova::node-of-h2")
