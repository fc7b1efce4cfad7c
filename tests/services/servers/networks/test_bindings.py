"""Ports are where their instances are: through a build that moves on, a shelving and a deletion."""

from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from computeagent.protocol.network_traits import network_traits
from computeagent.protocol.networks import NetworkBackendKind
from computeagent.protocol.steps import BuildFailure, FailureClass
from computeagent.protocol.work import WorkKind
from scheduling.fleet.services.service_states import service_disable, service_force_down
from servers.agent_api import conductor_connect
from servers.hosts.services.removal import host_remove
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.models import HostNetworkState, Instance, IPAllocation, Port
from servers.networks.services.bindings import instance_ports_bind, instance_ports_unbind
from tests.worlds import cloud
from tests.worlds import networks as world
from tests.worlds.agent_hands import Hands, built, people_and_image

BRIDGES = tuple(network_traits([NetworkBackendKind.BRIDGE], ()))
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def who() -> cloud.People:
    who = cloud.cloud("h1", "h2", traits=BRIDGES)
    world.network("blue", is_default=True, is_shared=True, mtu=1400)
    return who


def bound(instance: Instance) -> tuple[str, str]:
    """Where its port is, and on which host the document has it."""
    port = Port.objects.get(instance_uuid=instance.pk)
    documents = {host: conductor_connect().networks_wanted(host=host) for host in ("h1", "h2")}
    has = [host for host, one in documents.items() if one and str(port.pk) in {each.id for each in one.ports}]
    return port.host, "".join(has)


def revisions() -> dict[str, int]:
    return dict(HostNetworkState.objects.values_list("host", "wanted_revision"))


def test_port_follows_its_instance_to_the_next_host(who: cloud.People) -> None:
    (instance,) = cloud.create(who.member)
    cloud.pump()
    first = Instance.objects.get(pk=instance.pk).host
    assert bound(instance) == (first, first)
    before = revisions()[first]

    order = cloud.order(first)
    (card,) = order.guest.ports
    assert (card.kind, card.mtu, card.network_name) == (NetworkBackendKind.BRIDGE, 1400, "blue")
    failure = BuildFailure(FailureClass.HOST, "spawning", "no disk")
    conductor_connect().build_failed(lease=order.lease, failure=failure)
    assert bound(instance) == ("", "")
    assert revisions()[first] > before

    cloud.pump()
    second = Instance.objects.get(pk=instance.pk).host
    assert {first, second} == {"h1", "h2"}
    assert bound(instance) == (second, second)


def test_deleted_instance_leaves_no_port_and_no_address(who: cloud.People) -> None:
    instance = cloud.active(who.member)
    before = revisions()[instance.host]
    instance_delete(caller=who.member, instance_id=instance.pk)
    conductor_connect().deleted(lease=cloud.order(instance.host).lease)
    assert not Port.objects.exists()
    assert not IPAllocation.objects.exists()
    assert revisions()[instance.host] > before


def test_shelved_instance_takes_its_port_with_its_address_to_the_next_host(tmp_path: Path, settings: Any) -> None:
    places = {"IMAGE_DIR": tmp_path / "images", "IMAGE_RESERVE_BYTES": 0}
    settings.KILONOVA = {**settings.KILONOVA, **places, "SHELVED_OFFLOAD_TIME_S": 0}
    who = people_and_image()
    world.network("blue", is_default=True, is_shared=True)
    first = Hands("h1", tmp_path)
    instance = built(who.member, first)
    addresses = Port.objects.get().addresses
    assert bound(instance) == ("h1", "h1")
    assert first.plug.taps == {str(Port.objects.get().pk)}

    second = Hands("h2", tmp_path)
    instance_act(caller=who.member, instance_id=instance.pk, action="shelve")
    first.do(WorkKind.SHELVE)
    first.do(WorkKind.SHELVE_OFFLOAD)
    assert bound(instance) == ("", "")
    assert first.plug.taps == frozenset()

    service_disable(host="h1", reason="gone")
    instance_act(caller=who.member, instance_id=instance.pk, action="unshelve")
    cloud.pump()
    second.do(WorkKind.UNSHELVE)
    assert bound(instance) == ("h2", "h2")
    assert second.plug.taps == {str(Port.objects.get().pk)}
    assert Port.objects.get().addresses == addresses


def test_binding_twice_is_binding_once(who: cloud.People) -> None:
    instance = cloud.active(who.member)
    before = revisions()
    with transaction.atomic():
        instance_ports_bind(instance_uuid=instance.pk, host=instance.host)
    assert revisions() == before


def test_former_host_hears_that_it_lost_the_port(who: cloud.People) -> None:
    instance = cloud.active(who.member)
    other = {"h1": "h2", "h2": "h1"}[instance.host]
    before = revisions()[instance.host]
    with transaction.atomic():
        instance_ports_bind(instance_uuid=instance.pk, host=other)
    assert bound(instance) == (other, other)
    assert revisions()[instance.host] > before
    with transaction.atomic():
        instance_ports_unbind(instance_uuid=instance.pk)
        instance_ports_unbind(instance_uuid=instance.pk)
    assert bound(instance) == ("", "")


def test_removed_host_leaves_no_state(who: cloud.People) -> None:
    HostNetworkState.objects.create(host="h2")
    service_force_down(host="h2", forced_down=True)
    host_remove(host="h2", force=True)
    assert not HostNetworkState.objects.filter(host="h2").exists()


def test_host_that_is_reached_elsewhere_now_is_another_peer(who: cloud.People) -> None:
    net = world.network("red")
    for host in ("h1", "h2"):
        cloud.host(host, host_ip=f"192.0.2.{host[1]}")
        world.port(net, host)
    before = revisions()
    cloud.host("h1", host_ip="192.0.2.1")
    assert revisions() == before
    cloud.host("h1", host_ip="192.0.2.9")
    assert revisions() != before
    document = conductor_connect().networks_wanted(host="h2")
    assert document is not None
    assert document.networks[0].peers == ("192.0.2.9",)
