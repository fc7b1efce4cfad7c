"""Networks in trials: those hosts that carry them, with a way to the physical ones, as a create would get them."""

import pytest

from computeagent.protocol.network_traits import network_traits
from computeagent.protocol.networks import NetworkBackendKind
from controlplane.kernel.errors import Conflict, InvalidFields
from servers.instances.services.create import InstanceCreate, instances_create
from servers.models import Instance
from servers.networks.domain.names import PortOwner
from servers.trials.schedule_trial import TrialWanted, trial_simulate
from tests.fixtures.remembering import remembered
from tests.worlds import cloud
from tests.worlds import networks as world

pytestmark = pytest.mark.django_db(transaction=True)
KINDS = (NetworkBackendKind.BRIDGE,)


@pytest.fixture
@remembered
def who() -> cloud.People:
    """h1 carries no networks, h2 does, and h3 has a way to physnet1 as well."""
    who = cloud.cloud("h1")
    cloud.host("h2", traits=tuple(network_traits(KINDS, ())))
    cloud.host("h3", traits=tuple(network_traits(KINDS, ("physnet1",))))
    return who


def chosen(who: cloud.People, **more: object) -> set[str]:
    """Where it could go."""
    wanted = TrialWanted(flavor="m1.tiny", image="demo", **more)  # type: ignore[arg-type]
    report = trial_simulate(caller=who.admin, wanted=wanted)
    return {one["host"] for one in report["scores"]}


def test_hosts_that_carry_the_network_alone_come_into_question(who: cloud.People) -> None:
    assert chosen(who) == {"h1", "h2", "h3"}
    net = world.network("blue", project_id=who.admin.project_id)
    assert chosen(who, networks=[{"network": "blue"}]) == {"h2", "h3"}
    assert chosen(who) == {"h2", "h3"}  # it is the only one that the project has
    assert chosen(who, networks="none") == {"h1", "h2", "h3"}
    world.network("red", project_id=who.admin.project_id)
    assert chosen(who) == {"h1", "h2", "h3"}  # a create would have to say which
    given = world.port(net, project_id=who.admin.project_id, owner=PortOwner.NOBODY)
    assert chosen(who, networks=[{"port": str(given.pk)}]) == {"h2", "h3"}


def test_network_outside_needs_a_host_with_a_way_there(who: cloud.People) -> None:
    world.network("lan", project_id=who.member.project_id, physical_network="physnet1", segment=None)
    assert chosen(who, networks=[{"network": "lan"}]) == {"h3"}
    body = InstanceCreate(name="vm", flavor="m1.tiny", image="demo", networks=[{"network": "lan"}])
    (made,) = instances_create(caller=who.member, wanted=body)
    cloud.pump()
    assert Instance.objects.get(pk=made.pk).host == "h3"


def test_what_a_create_refuses_a_trial_refuses(who: cloud.People) -> None:
    with pytest.raises(InvalidFields, match="There is no network"):
        chosen(who, networks=[{"network": "nowhere"}])
    net = world.network("blue", project_id=who.admin.project_id)
    taken = world.port(net, project_id=who.admin.project_id)
    with pytest.raises(Conflict, match="in use"):
        chosen(who, networks=[{"port": str(taken.pk)}])
