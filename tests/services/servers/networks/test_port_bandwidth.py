"""Ports that ask Placement for bandwidth: a group each, served by a card of the right physical network."""

import uuid
from typing import Any

import pytest

from controlplane.identity.models import Project
from controlplane.kernel.errors import Conflict, Forbidden
from placement.domain import InventorySpec, ProviderKind
from placement.selectors import allocations_by_consumer
from placement.services import inventory_set, provider_ensure, provider_traits_set
from scheduling.models import ComputeNode
from servers.instances.services.delete import instance_delete
from servers.instances.services.nic_needs import port_resources_recheck
from servers.instances.services.nics import nics_found
from servers.models import InstanceFault, Port, RequestSpec
from servers.networks.domain.errors import PortInUse
from servers.networks.domain.port_resources import resource_request_reasons
from servers.networks.domain.ports import PortRequest
from servers.networks.services.port_changes import port_delete, port_update
from servers.networks.services.ports import ports_create
from servers.repair.services.audit import audit_findings
from tests.worlds import cloud as world
from tests.worlds import networks as nets

pytestmark = pytest.mark.django_db(transaction=True)
EGRESS, PHYSNET, NORMAL = "NET_BW_EGR_KILOBIT_PER_SEC", "CUSTOM_PHYSNET_{}", "CUSTOM_VNIC_TYPE_NORMAL"


def card(host: str, physnet: str, kbit: int, number: int = 1) -> uuid.UUID:
    """A card of the host, as the host's networking reports it to Placement."""
    pk = uuid.uuid4()
    provider_ensure(pk, f"{host}:{physnet}:{number}", ComputeNode.objects.get(host=host).pk, kind=ProviderKind.OTHER)
    inventory_set(pk, {EGRESS: InventorySpec(total=kbit)})
    provider_traits_set(pk, {PHYSNET.format(physnet), NORMAL})
    return pk


def bandwidth(kbit: int) -> dict[str, Any]:
    """What a port asks for that is to have so much of the fast network."""
    return {"bandwidth": {"resources": {EGRESS: kbit}, "required": [PHYSNET.format("FAST"), NORMAL]}}


def port(who: world.People, net: Any, name: str, kbit: int) -> Port:
    """A port of the member's that an administrator made."""
    request = PortRequest(net.pk, who.member.project_id, name=name, resource_request=bandwidth(kbit))
    return ports_create(caller=who.admin, requests=[request])[0]


def fast_cloud() -> tuple[world.People, Any, uuid.UUID]:
    """Two hosts with a way to the physical network, one of which has bandwidth there: its card."""
    who = nets.cloud_with_networks("h1", "h2")
    for host in ("h1", "h2"):
        world.host(host, traits=(*nets.CARRIES, PHYSNET.format("FAST")))
    project = Project.objects.get(pk=who.member.project_id)
    net = nets.network("fast", project=project, physical_network="fast", segment=None)
    card("h1", "SLOW", 10_000)
    return who, net, card("h2", "FAST", 5_000)


def test_ports_bring_their_instance_to_a_card_with_bandwidth_and_hold_it() -> None:
    who, net, fast = fast_cloud()
    for name, kbit in (("a", 2_000), ("b", 2_500), ("c", 1_000)):
        port(who, net, name, kbit)
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


def test_request_changes_by_administrators_and_only_while_no_instance_has_the_port() -> None:
    who, net, _fast = fast_cloud()
    made = port(who, net, "a", 6_000)
    refused = world.create(who.member, networks=[{"port": "a"}])[0]
    world.pump()
    assert world.instance_of(refused.pk).vm_state == "error"
    instance_delete(caller=who.member, instance_id=refused.pk)
    for caller in (who.member, who.reader, who.stranger):
        with pytest.raises(Forbidden, match="Only administrators") as denied:
            port_update(caller=caller, port_id=made.pk, changes={"resource_request": bandwidth(1)})
        assert denied.value.field == "resource_request"
    with pytest.raises(Forbidden, match="Only administrators"):
        asked = PortRequest(net.pk, who.member.project_id, resource_request=bandwidth(1))
        ports_create(caller=who.member, requests=[asked])
    port_update(caller=who.admin, port_id=made.pk, changes={"resource_request": bandwidth(3_000)})
    fits = world.active(who.member, networks=[{"port": "a"}])
    assert fits.host == "h2"
    with pytest.raises(PortInUse, match="placed for what") as in_use:
        port_update(caller=who.admin, port_id=made.pk, changes={"resource_request": {}})
    assert in_use.value.field == "resource_request"
    made.refresh_from_db()
    assert made.resource_request == bandwidth(3_000)


def test_port_stays_while_its_instance_waits_for_a_host() -> None:
    who, net, _fast = fast_cloud()
    made = port(who, net, "a", 1_000)
    waiting = world.create(who.member, networks=[{"port": "a"}])[0]
    with pytest.raises(PortInUse, match=str(waiting.pk)):
        port_delete(caller=who.member, port_id=made.pk)
    with pytest.raises(PortInUse, match=str(waiting.pk)):
        port_update(caller=who.admin, port_id=made.pk, changes={"resource_request": {}})
    instance_delete(caller=who.member, instance_id=waiting.pk)
    port_delete(caller=who.member, port_id=made.pk)
    assert not Port.objects.filter(pk=made.pk).exists()


def test_request_that_changes_between_look_and_claim_is_refused() -> None:
    who, net, _fast = fast_cloud()
    made = port(who, net, "a", 1_000)
    decided = nics_found(who.member, networks=[{"port": "a"}], security_groups=(), count=1).decided
    port_resources_recheck(decided)
    port_update(caller=who.admin, port_id=made.pk, changes={"resource_request": bandwidth(2_000)})
    with pytest.raises(Conflict, match="changed at this very moment"):
        port_resources_recheck(decided)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ([], "object of groups"),
        ({f"g{number}": {} for number in range(9)}, "Has 9 groups; at most 8"),
        ({"x" * 27: bandwidth(1)["bandwidth"]}, "1 to 26 letters"),
        ({"a b": bandwidth(1)["bandwidth"]}, "1 to 26 letters"),
        ({"out": {"resources": {EGRESS: 1}, "weight": 1}}, "no 'weight' here"),
        ({"out": 5}, "object of resources and required"),
        ({"out": {"required": []}}, "at least one"),
        ({"out": {"resources": {}}}, "at least one"),
        ({"out": {"resources": {f"CUSTOM_{number}": 1 for number in range(9)}}}, "9 classes; at most 8"),
        ({"out": {"resources": {"BANDWIDTH": 1}}}, "'BANDWIDTH' is no resource class"),
        ({"out": {"resources": {"CUSTOM_fast": 1}}}, "is no resource class"),
        ({"out": {"resources": {EGRESS: 0}}}, "least is 1"),
        ({"out": {"resources": {EGRESS: 2**31}}}, "the most is"),
        ({"out": {"resources": {EGRESS: "1"}}}, "whole number"),
        ({"out": {"resources": {EGRESS: 1.5}}}, "whole number"),
        ({"out": {"resources": {EGRESS: True}}}, "whole number"),
        ({"out": {"resources": {EGRESS: 1}, "required": "HW_CPU_X86_VMX"}}, "list of traits"),
        ({"out": {"resources": {EGRESS: 1}, "required": ["FAST"]}}, "'FAST' is no trait"),
        ({"out": {"resources": {EGRESS: 1}, "required": [NORMAL, NORMAL]}}, "a trait twice"),
        ({"out": {"resources": {EGRESS: 1}, "required": [f"CUSTOM_{one}" for one in range(17)]}}, "17 traits"),
    ],
)
def test_request_that_placement_could_not_read_is_refused_with_its_reason(asked: Any, said: str) -> None:
    (reason,) = resource_request_reasons(asked)
    assert said in reason
