"""Ports that ask Placement for bandwidth: a group each, served by a card of the right physical network."""

import uuid
from typing import Any

import pytest

from controlplane.identity.models import Project
from placement.domain import InventorySpec, ProviderKind
from placement.selectors import allocations_by_consumer
from placement.services import inventory_set, provider_ensure, provider_traits_set
from scheduling.models import ComputeNode
from servers.instances.services.delete import instance_delete
from servers.models import InstanceFault, RequestSpec
from servers.networks.domain.names import PortOwner
from servers.repair.services.audit import audit_findings
from tests.worlds import cloud as world
from tests.worlds import networks as nets

pytestmark = pytest.mark.django_db(transaction=True)
EGRESS, PHYSNET, NORMAL = "NET_BW_EGR_KILOBIT_PER_SEC", "CUSTOM_PHYSNET_{}", "CUSTOM_VNIC_TYPE_NORMAL"


def card(host: str, physnet: str, kbit: int) -> uuid.UUID:
    """A card of the host, as the host's networking reports it to Placement."""
    pk = uuid.uuid4()
    provider_ensure(pk, f"{host}:{physnet}", ComputeNode.objects.get(host=host).pk, kind=ProviderKind.OTHER)
    inventory_set(pk, {EGRESS: InventorySpec(total=kbit)})
    provider_traits_set(pk, {PHYSNET.format(physnet), NORMAL})
    return pk


def port(project: Project, net: Any, name: str, kbit: int) -> None:
    asked = {"bandwidth": {"resources": {EGRESS: kbit}, "required": [PHYSNET.format("FAST"), NORMAL]}}
    fields = {"owner": PortOwner.NOBODY, "is_of_instance": False, "resource_request": asked}
    nets.port(net, project=project, name=name, **fields)


def test_ports_bring_their_instance_to_a_card_with_bandwidth_and_hold_it() -> None:
    who = nets.cloud_with_networks("h1", "h2")
    for host in ("h1", "h2"):  # both have a way to the physical network
        world.host(host, traits=(*nets.CARRIES, PHYSNET.format("FAST")))
    project = Project.objects.get(pk=who.member.project_id)
    net = nets.network("fast", project=project, physical_network="fast", segment=None)
    card("h1", "SLOW", 10_000)
    fast = card("h2", "FAST", 5_000)
    for name, kbit in (("a", 2_000), ("b", 2_500), ("c", 1_000)):
        port(project, net, name, kbit)
    first = world.active(who.member, networks=[{"port": "a"}, {"port": "b"}])
    assert first.host == "h2"
    held = allocations_by_consumer()[first.pk]
    assert [(one.provider_uuid, one.used) for one in held if one.resource_class == EGRESS] == [(fast, 4_500)]
    second = world.create(who.member, networks=[{"port": "c"}])[0]
    world.pump()
    assert world.instance_of(second.pk).vm_state == "error"
    assert EGRESS in InstanceFault.objects.get(instance_uuid=second.pk).message
    instance_delete(caller=who.member, instance_id=first.pk)
    world.conductor_connect().deleted(lease=world.order("h2", world.WorkKind.DELETE).lease)
    assert first.pk not in allocations_by_consumer()
    third = world.active(who.member, networks=[{"port": "a"}])
    assert third.host == "h2"
    assert [one.amounts for one in RequestSpec.objects.get(instance_uuid=third.pk).typed_body.port_resources] == [
        {EGRESS: 2_000}
    ]
    assert audit_findings() == []
