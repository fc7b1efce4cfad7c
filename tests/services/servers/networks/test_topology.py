"""The network that is made for a project which has none."""

from dataclasses import replace

import pytest

from computeagent.protocol.network_traits import network_traits
from computeagent.protocol.networks import NetworkBackendKind
from controlplane.identity.models import Project
from controlplane.kernel.errors import InvalidFields
from servers.instances.domain.instance_create import InstanceCreate
from servers.instances.services.create import instances_create, instances_create_check
from servers.models import Network, Port, Router, Subnet
from servers.networks.domain.routing_errors import UnableToAutoAllocateNetwork
from servers.networks.services.topology import AUTO_NAME, topology_ensure
from tests.worlds import routing
from tests.worlds.cloud import People, cloud, people

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def crowd(settings) -> People:
    settings.KILONOVA = {**settings.KILONOVA, "NETWORK_KIND": "bridge"}
    return people()


def test_network_subnet_and_router_are_made_once(crowd):
    routing.carrying_host("hv1", "physnet1")
    public = routing.outside()
    made = topology_ensure(caller=crowd.member)
    assert topology_ensure(caller=crowd.member).pk == made.pk
    router, subnet = Router.objects.get(), Subnet.objects.get(network=made)
    assert (router.external_network_id, router.host, subnet.cidr) == (public.pk, "hv1", "10.64.0.0/24")
    assert router.ports.filter(network=made).get().addresses == [subnet.gateway]
    other = topology_ensure(caller=crowd.stranger)
    assert (other.pk != made.pk, other.project_id) == (True, crowd.stranger.project_id)


def test_refused_with_its_reason_nothing_is_left(crowd):
    with pytest.raises(UnableToAutoAllocateNetwork, match="there is no external network"):
        topology_ensure(caller=crowd.member)
    one, two = routing.outside(), routing.outside("198.51.100.0/24", "other")
    with pytest.raises(UnableToAutoAllocateNetwork, match="several external networks"):
        topology_ensure(caller=crowd.member)
    two.subnets.all().delete()
    Network.objects.filter(pk=two.pk).delete()
    Project.objects.filter(pk=crowd.member.project_id).update(quota_routers=0)
    with pytest.raises(UnableToAutoAllocateNetwork, match="routers: 1 asked for, 0 of 0 in use"):
        topology_ensure(caller=crowd.member)
    assert set(Network.objects.values_list("pk", flat=True)) == {one.pk}
    assert not Port.objects.exists()


def test_request_for_auto_gets_it_made_unless_the_request_is_refused(settings):
    settings.KILONOVA = {**settings.KILONOVA, "NETWORK_KIND": "bridge"}
    who = cloud("hv1", traits=tuple(network_traits([NetworkBackendKind.BRIDGE], ["physnet1"])))
    routing.outside()
    refused = InstanceCreate(name="vm", flavor="m1.tiny", image="nothing", networks="auto")
    with pytest.raises(InvalidFields):
        instances_create(caller=who.member, wanted=refused)
    assert not Network.objects.filter(name=AUTO_NAME).exists()
    instances_create_check(caller=who.member, wanted=replace(refused, image="demo"))
    assert not Network.objects.filter(name=AUTO_NAME).exists()
    for name in ("one", "two"):
        instances_create(caller=who.member, wanted=replace(refused, name=name, image="demo"))
    assert Network.objects.filter(name=AUTO_NAME).count() == 1
