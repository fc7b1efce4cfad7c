"""Networks in a request: which ports an instance gets, when, and what becomes of them however its way ends."""

import uuid
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from controlplane.identity.models import Project
from controlplane.kernel.errors import Conflict, QuotaExceeded
from placement.selectors import allocations_by_consumer
from servers.instances.services.delete import instance_delete
from servers.instances.services.schedule_again import instance_schedule_again
from servers.models import (
    BuildRequest,
    Instance,
    InstanceFault,
    IPAllocation,
    Network,
    Port,
    PortGroup,
    SecurityGroup,
    Subnet,
)
from servers.networks.domain.names import PortOwner
from servers.repair.services.audit import audit_findings
from tests.worlds import cloud as world
from tests.worlds import networks as nets

pytestmark = pytest.mark.django_db(transaction=True)


def project_of(who: world.People) -> Project:
    return Project.objects.get(pk=who.member.project_id)


def given_port(who: world.People, net: Network, name: str = "given") -> Port:
    """A port that its owner made for an instance that is yet to come."""
    return nets.port(net, project=project_of(who), name=name, owner=PortOwner.NOBODY, is_of_instance=False)


def ports_of(instance: Instance) -> list[Port]:
    return list(Port.objects.filter(instance_uuid=instance.pk).order_by("position"))


def assert_free(port: Port) -> None:
    port.refresh_from_db()
    assert (port.instance_uuid, port.owner, port.host, port.tag) == (None, "", "", "")
    assert port.addresses and IPAllocation.objects.filter(port=port).exists()


def test_named_network_gives_a_port_on_the_host_that_was_chosen() -> None:
    who = nets.cloud_with_networks("h1")
    net = nets.network("net", project=project_of(who))
    made = world.create(who.member, networks=[{"network": "net", "tag": "front"}])[0]
    assert not ports_of(made)  # nothing is taken before there is a host
    world.pump()
    (port,) = ports_of(made)
    assert (port.network, port.host, port.project_id, port.tag) == (net, "h1", who.member.project_id, "front")
    assert (port.owner, port.is_of_instance) == ("compute:nova", True)
    (address,) = port.addresses
    assert IPAllocation.objects.get(port=port).address == address
    assert PortGroup.objects.get(port=port).group.is_default
    order = world.order("h1")
    assert [(one.id, one.mac, one.tag) for one in order.guest.ports] == [(str(port.pk), port.mac, "front")]


def test_several_interfaces_keep_their_order_whoever_made_them() -> None:
    who = nets.cloud_with_networks("h1")
    first, second = nets.network("a", project=project_of(who)), nets.network("b", project=project_of(who))
    web = nets.group(project_of(who), "web")
    given = given_port(who, second)
    asked = [{"network": "a", "fixed_ip": "10.20.7.7"}, {"port": str(given.pk)}, {"network": str(first.pk)}]
    made = world.create(who.member, networks=asked, security_groups=["web"])[0]
    world.pump()
    found = ports_of(made)
    assert [port.network for port in found] == [first, second, first]
    assert found[0].addresses == ["10.20.7.7"]
    assert found[1].pk == given.pk and not found[1].is_of_instance and found[1].host == "h1"
    assert [[group.pk for group in port.groups.all()] for port in found] == [[web.pk], [], [web.pk]]
    assert [one.mac for one in world.order("h1").guest.ports] == [port.mac for port in found]


@pytest.mark.parametrize(
    ("rows", "says", "expected"),
    [
        ([], None, None),
        ([], "none", None),
        ([{"name": "only"}], None, "only"),
        ([{"name": "only"}], "auto", "only"),
        ([{"name": "only"}], [], "only"),
        ([{"name": "only"}], "none", None),
        ([{"name": "a"}, {"name": "b", "is_default": True}], None, "b"),
        ([{"name": "a"}, {"name": "outside", "is_external": True}], None, "a"),
        ([{"name": "a"}, {"name": "off", "is_enabled": False}], None, "a"),
        ([{"name": "hv", "kind": "hypervisor", "project": None, "hypervisor_network": "default"}], None, "hv"),
    ],
)
def test_network_of_a_request_that_names_none(rows: list[dict[str, Any]], says: Any, expected: str | None) -> None:
    who = nets.cloud_with_networks("h1")
    for number, row in enumerate(rows):
        nets.network(cidr=f"10.{number + 1}.0.0/24", **{"project": project_of(who), **row})
    made = world.create(who.member, networks=says)[0]
    world.pump()
    assert [port.network_name for port in ports_of(made)] == ([expected] if expected else [])


def test_port_is_given_to_one_of_two_requests() -> None:
    who = nets.cloud_with_networks("h1")
    given = given_port(who, nets.network("net", project=project_of(who)))
    first = world.create(who.member, networks=[{"port": "given"}])[0]
    with pytest.raises(Conflict, match=f"in use by instance {first.pk}"):
        world.create(who.member, networks=[{"port": "given"}])
    assert BuildRequest.objects.count() == 1
    given.refresh_from_db()
    assert given.instance_uuid == first.pk


@pytest.mark.parametrize("moment", ["pending", "building", "active"])
def test_deletion_frees_its_own_ports_and_leaves_the_given_one(moment: str) -> None:
    who = nets.cloud_with_networks("h1")
    net = nets.network("net", project=project_of(who))
    given = given_port(who, net)
    made = world.create(who.member, networks=[{"port": "given", "tag": "x"}, {"network": "net"}])[0]
    if moment != "pending":
        world.pump()
    if moment == "active":
        world.finish_builds()
    instance_delete(caller=who.member, instance_id=made.pk)
    if moment != "pending":
        world.conductor_connect().deleted(lease=world.order("h1", world.WorkKind.DELETE).lease)
    assert list(Port.objects.all()) == [given]
    assert_free(given)
    assert audit_findings() == []


def test_no_host_frees_the_given_port_and_another_try_takes_it_again() -> None:
    who = nets.cloud_with_networks("h1")
    net = nets.network("net", project=project_of(who))
    given = given_port(who, net)
    world.flavor("huge", vcpus=8)
    made = world.create(who.member, flavor="huge", networks=[{"network": "net"}, {"port": "given"}])[0]
    world.pump()
    assert world.instance_of(made.pk).vm_state == "error"
    assert_free(given)
    other = world.create(who.member, networks=[{"port": "given"}])[0]
    with pytest.raises(Conflict, match="just been taken"):
        instance_schedule_again(instance_id=made.pk, caller=who.member)
    instance_delete(caller=who.member, instance_id=other.pk)
    world.host("big", vcpus=16, traits=nets.CARRIES)
    instance_schedule_again(instance_id=made.pk, caller=who.member)
    world.pump()
    assert [(port.host, port.is_of_instance) for port in ports_of(made)] == [("big", True), ("big", False)]


def test_another_host_gets_the_same_ports() -> None:
    who = nets.cloud_with_networks("h1", "h2")
    net = nets.network("net", project=project_of(who))
    given_port(who, net)
    made = world.create(who.member, networks=[{"network": "net"}, {"port": "given"}])[0]
    world.pump()
    before = ports_of(made)
    world.fail_build(world.instance_of(made.pk).host)
    world.pump()
    assert [(port.pk, port.addresses) for port in ports_of(made)] == [(port.pk, port.addresses) for port in before]


def test_failed_build_that_ends_in_error_holds_no_port() -> None:
    who = nets.cloud_with_networks("h1")
    given = given_port(who, nets.network("net", project=project_of(who)))
    made = world.create(who.member, networks=[{"network": "net"}, {"port": "given"}])[0]
    world.pump()
    world.fail_build("h1", world.FailureClass.USER)
    assert world.instance_of(made.pk).vm_state == "error"
    assert not ports_of(made)
    assert_free(given)


def test_batch_of_which_some_get_no_address() -> None:
    who = nets.cloud_with_networks("h1", "h2")
    nets.network("tiny", project=project_of(who), cidr="10.9.0.0/29")  # five addresses beside the gateway
    made = world.create(who.member, min_count=6, networks=[{"network": "tiny"}])
    world.pump()
    assert world.finish_builds() == 5
    (failed,) = [one for one in map(world.instance_of, (each.pk for each in made)) if one.vm_state == "error"]
    assert "addresses are wanted" in InstanceFault.objects.get(instance_uuid=failed.pk).message
    assert failed.pk not in allocations_by_consumer()
    assert Port.objects.count() == 5
    assert len({address for port in Port.objects.all() for address in port.addresses}) == 5
    assert audit_findings() == []


def test_batch_costs_as_many_statements_as_one_instance() -> None:
    who = nets.cloud_with_networks("h1", vcpus=400, memory_mib=2**20, disk_gib=2000, disk_available_least_gib=2000)
    Project.objects.update(quota_instances=-1, quota_cores=-1, quota_ram_mib=-1)
    nets.network("net", project=project_of(who))
    counts = []
    for count in (1, 3, 12):
        world.create(who.member, min_count=count, networks=[{"network": "net"}, {"network": "net"}])
        with CaptureQueriesContext(connection) as seen:
            world.pump()
        counts.append(sum(1 for one in seen if "servers_port" in one["sql"] or "ipalloc" in one["sql"]))
    assert counts[2] == counts[1], counts
    assert Port.objects.count() == 2 * 16


def test_access_address_is_the_one_in_the_network_that_is_set(settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "DEFAULT_ACCESS_IP_NETWORK_NAME": "front"}
    who = nets.cloud_with_networks("h1")
    nets.network("back", project=project_of(who))
    nets.network("front", project=project_of(who), cidr="10.21.0.0/24")
    asked = [{"network": "back"}, {"network": "front"}]
    made, own = (
        world.create(who.member, networks=asked)[0],
        world.create(who.member, networks=asked, access_ip_v4="192.0.2.9")[0],
    )
    world.pump()
    assert world.instance_of(made.pk).access_ip_v4 == ports_of(made)[1].addresses[0]
    assert world.instance_of(own.pk).access_ip_v4 == "192.0.2.9"


def test_default_group_can_be_named_beside_others_before_it_exists() -> None:
    who = nets.cloud_with_networks("h1")
    nets.network("net", project=project_of(who))
    web = nets.group(project_of(who), "web")
    made = world.create(who.member, networks=[{"network": "net"}], security_groups=["default", "web"])[0]
    world.pump()
    default = SecurityGroup.objects.get(project=project_of(who), is_default=True)
    (port,) = ports_of(made)
    assert {group.pk for group in port.groups.all()} == {web.pk, default.pk}


def test_network_that_goes_meanwhile_ends_the_build_with_its_name() -> None:
    who = nets.cloud_with_networks("h1")
    net = nets.network("net", project=project_of(who))
    made = world.create(who.member, networks=[{"network": "net"}])[0]
    Subnet.objects.filter(network=net).delete()
    Network.objects.filter(pk=net.pk).delete()
    world.pump()
    assert world.instance_of(made.pk).vm_state == "error"
    assert str(net.pk) in InstanceFault.objects.get(instance_uuid=made.pk).message
    assert uuid.UUID(str(made.pk)) not in allocations_by_consumer()


def test_quota_of_ports_cuts_a_batch_and_counts_those_that_wait_for_a_host() -> None:
    who = nets.cloud_with_networks("h1")
    Project.objects.filter(pk=who.member.project_id).update(quota_ports=5)
    nets.network("net", project=project_of(who))
    two = {"networks": [{"network": "net"}] * 2}
    assert len(world.create(who.member, min_count=1, max_count=9, **two)) == 2
    with pytest.raises(QuotaExceeded, match="ports: 2 asked for, 4 of 5 in use"):
        world.create(who.member, **two)
    world.pump()
    with pytest.raises(QuotaExceeded, match="ports: 2 asked for, 4 of 5 in use"):
        world.create(who.member, **two)
    assert len(world.create(who.member, networks=[{"network": "net"}])) == 1


def test_quota_that_was_lowered_meanwhile_ends_the_build() -> None:
    who = nets.cloud_with_networks("h1")
    nets.network("net", project=project_of(who))
    made = world.create(who.member, networks=[{"network": "net"}])[0]
    Project.objects.filter(pk=who.member.project_id).update(quota_ports=0)
    world.pump()
    assert world.instance_of(made.pk).vm_state == "error"
    assert "ports" in InstanceFault.objects.get(instance_uuid=made.pk).message


def test_host_that_carries_no_networks_is_not_chosen_for_a_guest_in_one() -> None:
    who = world.cloud("bare")
    nets.network("net", project=project_of(who))

    (made,) = world.create(who.member, networks=[{"network": "net"}])
    world.pump()

    made.refresh_from_db()
    assert (made.vm_state, made.host) == ("error", "")

    world.host("carrier", traits=nets.CARRIES)
    (other,) = world.create(who.member, networks=[{"network": "net"}])
    world.pump()

    other.refresh_from_db()
    assert other.host == "carrier"
