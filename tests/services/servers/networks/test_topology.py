"""The network that is made for a project which has none."""

from dataclasses import replace
from functools import partial

import pytest
from django.db import connection  # noqa: F401 - the condition of a mark reads it

from computeagent.protocol.network_traits import network_traits
from computeagent.protocol.networks import NetworkBackendKind
from controlplane.identity.models import Project
from controlplane.kernel.errors import InvalidFields
from servers.instances.domain.instance_create import InstanceCreate
from servers.instances.services.create import instances_create, instances_create_check
from servers.models import Instance, Network, Port, Router, Subnet
from servers.networks.domain.routing_errors import UnableToAutoAllocateNetwork
from servers.networks.services.router_legs import router_interface_remove
from servers.networks.services.routers import router_delete
from servers.networks.services.subnets import subnet_delete
from servers.networks.services.topology import AUTO_NAME, AUTO_ROUTER, topology_ensure
from tests.services.servers.test_edits_at_once import at_once
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


@pytest.fixture
def with_auto(settings) -> People:
    """The member's project has its network already, without any instance."""
    settings.KILONOVA = {**settings.KILONOVA, "NETWORK_KIND": "bridge"}
    who = cloud("hv1", traits=tuple(network_traits([NetworkBackendKind.BRIDGE], ["physnet1"])))
    routing.outside()
    topology_ensure(caller=who.member)
    return who


def leg_removed() -> None:
    """As its owner does it."""
    router, subnet = Router.objects.get(), Subnet.objects.get(network__name=AUTO_NAME)
    router_interface_remove(caller=None, router_id=router.pk, subnet_id=subnet.pk)


def asked_for(who: People, name: str = "vm") -> list[Instance]:
    wanted = InstanceCreate(name=name, flavor="m1.tiny", image="demo", networks="auto")
    instances_create_check(caller=who.member, wanted=wanted)
    return instances_create(caller=who.member, wanted=wanted)


def is_whole() -> bool:
    """One network, one subnet, one router with a leg at its gateway's address."""
    subnet, router = Subnet.objects.get(network__name=AUTO_NAME), Router.objects.get()
    return [leg.addresses for leg in router.ports.filter(network=subnet.network_id)] == [[subnet.gateway]]


def test_network_that_lost_its_subnet_gets_another_with_its_leg(with_auto):
    leg_removed()
    subnet_delete(caller=None, subnet_id=Subnet.objects.get(network__name=AUTO_NAME).pk)
    asked_for(with_auto)
    assert (Network.objects.filter(name=AUTO_NAME).count(), is_whole()) == (1, True)


def test_network_that_lost_its_router_gets_another(with_auto):
    leg_removed()
    router_delete(caller=None, router_id=Router.objects.get().pk)
    subnet_delete(caller=None, subnet_id=Subnet.objects.get(network__name=AUTO_NAME).pk)
    asked_for(with_auto)
    assert is_whole()


def test_network_that_lost_its_leg_alone_gets_it_again_and_one_only(with_auto):
    leg_removed()
    for _time in range(2):
        topology_ensure(caller=with_auto.member)
    assert is_whole()


def test_what_its_owner_disabled_stays_so_and_the_reason_says_it(with_auto):
    Network.objects.filter(name=AUTO_NAME).update(is_enabled=False)
    with pytest.raises(InvalidFields, match=f"{AUTO_NAME}.* is disabled: enable it"):
        asked_for(with_auto)
    Network.objects.filter(name=AUTO_NAME).update(is_enabled=True)
    leg_removed()
    subnet_delete(caller=None, subnet_id=Subnet.objects.get(network__name=AUTO_NAME).pk)
    Router.objects.update(is_enabled=False)
    with pytest.raises(InvalidFields, match=f"{AUTO_ROUTER}.* is disabled: enable it"):
        asked_for(with_auto)
    assert not Subnet.objects.filter(network__name=AUTO_NAME).exists()
    Router.objects.update(is_enabled=True)
    asked_for(with_auto)
    assert is_whole()


@pytest.mark.skipif("connection.vendor == 'sqlite'", reason="threads do not share this database")
def test_two_requests_at_once_mend_it_once(with_auto):
    leg_removed()
    subnet_delete(caller=None, subnet_id=Subnet.objects.get(network__name=AUTO_NAME).pk)
    answers = at_once(partial(asked_for, with_auto, "one"), partial(asked_for, with_auto, "two"))
    assert [len(answer) for answer in answers] == [1, 1]
    assert is_whole()
