"""A port is changed and removed: by whom, and what others need of it."""

import uuid

import pytest

from computeagent.protocol.networks import AddressPair
from controlplane.kernel.errors import Forbidden, InvalidFields
from servers.models import FloatingIP, HostNetworkState, Instance, IPAllocation, Network, Port, PortGroup, SecurityGroup
from servers.networks.domain.errors import (
    IpAddressInUse,
    MacAddressInUse,
    PortInUse,
    PortNotFound,
    SecurityGroupNotFound,
)
from servers.networks.domain.names import PortOwner
from servers.networks.domain.ports import AddressRequest
from servers.networks.services.port_changes import port_delete, port_update
from servers.networks.services.ports import ports_create
from tests.worlds.cloud import People, people
from tests.worlds.ports import asked, network, subnet

pytestmark = pytest.mark.django_db


@pytest.fixture
def crowd() -> People:
    return people()


@pytest.fixture
def net(crowd: People) -> Network:
    made = network(project_id=crowd.member.project_id)
    subnet(made, "10.0.0.0/24")
    subnet(made, "fd00::/64")
    return made


@pytest.fixture
def port(crowd: People, net: Network) -> Port:
    return ports_create(caller=None, requests=[asked(net, crowd.member.project_id)])[0]


def change(caller, port: Port, **changes) -> Port:
    return port_update(caller=caller, port_id=port.pk, changes=changes)


def test_addresses_that_are_asked_for_again_stay_and_others_go(crowd, net, port):
    four, six = net.subnets.order_by("ip_version")
    assert port.addresses == ["10.0.0.2", "fd00::2"]
    fixed = (AddressRequest(address="10.0.0.9"), AddressRequest(four.pk), AddressRequest(four.pk))
    assert change(crowd.member, port, fixed=fixed).addresses == ["10.0.0.9", "10.0.0.2", "10.0.0.3"]
    assert sorted(IPAllocation.objects.values_list("address", flat=True)) == ["10.0.0.2", "10.0.0.3", "10.0.0.9"]
    assert change(crowd.member, port, fixed=(AddressRequest(six.pk, "fd00:0::2"),)).addresses == ["fd00::2"]
    assert change(crowd.member, port, fixed=()).addresses == []
    assert not IPAllocation.objects.exists()


def test_address_of_another_port_cannot_be_taken(crowd, net, port):
    other = ports_create(caller=None, requests=[asked(net)])[0]
    with pytest.raises(IpAddressInUse):
        change(crowd.member, port, fixed=(AddressRequest(address=other.addresses[0]),))
    port.refresh_from_db()
    assert port.addresses == ["10.0.0.2", "fd00::2"]


def test_address_that_a_floating_one_stands_for_stays(crowd, net, port):
    outside = network("out", is_external=True)
    subnet(outside, "198.51.100.0/24")
    holder = ports_create(caller=None, requests=[asked(outside, owner=PortOwner.FLOATING_IP)])[0]
    FloatingIP.objects.create(
        project_id=crowd.member.project_id,
        network=outside,
        address_port=holder,
        address=holder.addresses[0],
        port=port,
        fixed_address="10.0.0.2",
    )
    with pytest.raises(PortInUse, match=r"198\.51\.100\.2 stands for 10\.0\.0\.2"):
        change(crowd.member, port, fixed=())
    assert change(crowd.member, port, fixed=(AddressRequest(address="10.0.0.2"),)).addresses == ["10.0.0.2"]
    with pytest.raises(PortInUse):
        port_delete(caller=crowd.admin, port_id=holder.pk)
    with pytest.raises(PortInUse):
        change(crowd.admin, holder, fixed=())
    assert change(crowd.admin, holder, name="outside").name == "outside"


def test_groups_pairs_name_and_switches_change_and_the_host_is_told(crowd, port):
    Port.objects.filter(pk=port.pk).update(host="h1")
    web = SecurityGroup.objects.create(project_id=crowd.member.project_id, name="web")
    changed = change(
        crowd.member,
        port,
        name="n",
        is_enabled=False,
        group_ids=(web.pk,),
        allowed_pairs=(AddressPair("10.0.0.77/32"),),
    )
    assert (changed.name, changed.is_enabled) == ("n", False)
    assert changed.allowed_pairs == [{"address": "10.0.0.77", "mac": ""}]
    assert list(PortGroup.objects.values_list("group_id", flat=True)) == [web.pk]
    assert HostNetworkState.objects.get(host="h1").wanted_revision == 1
    assert change(crowd.member, port, group_ids=()).pk == port.pk
    assert not PortGroup.objects.exists()


def test_group_of_another_project_is_unknown(crowd, port):
    theirs = SecurityGroup.objects.create(project_id=crowd.stranger.project_id, name="web")
    with pytest.raises(SecurityGroupNotFound):
        change(crowd.member, port, group_ids=(theirs.pk,))


def test_port_security_goes_with_groups_and_pairs(crowd, port):
    change(crowd.member, port, allowed_pairs=(AddressPair("10.0.0.77"),))
    with pytest.raises(InvalidFields, match="security groups"):
        change(crowd.member, port, has_security=False)
    with pytest.raises(InvalidFields, match="allowed pairs"):
        change(crowd.member, port, has_security=False, group_ids=())
    changed = change(crowd.member, port, has_security=False, group_ids=(), allowed_pairs=())
    assert (changed.has_security, changed.allowed_pairs) == (False, [])
    with pytest.raises(InvalidFields):
        change(crowd.member, port, allowed_pairs=(AddressPair("10.0.0.77"),))
    assert change(crowd.member, port, name="still").has_security is False


def test_mac_address_is_changed_by_administrators_off_hosts(crowd, net, port):
    other = ports_create(caller=None, requests=[asked(net)])[0]
    with pytest.raises(Forbidden):
        change(crowd.member, port, mac="fa:16:3e:00:00:01")
    assert change(crowd.admin, port, mac="FA:16:3E:00:00:01").mac == "fa:16:3e:00:00:01"
    with pytest.raises(MacAddressInUse):
        change(crowd.admin, port, mac=other.mac)
    Port.objects.filter(pk=port.pk).update(host="h1")
    with pytest.raises(PortInUse):
        change(crowd.admin, port, mac="fa:16:3e:00:00:02")


def test_stranger_in_a_shared_network_changes_only_what_is_his(crowd, net, port):
    Network.objects.filter(pk=net.pk).update(is_shared=True)
    theirs = ports_create(caller=crowd.stranger, requests=[asked(net, crowd.stranger.project_id)])[0]
    with pytest.raises(PortNotFound):
        change(crowd.stranger, port, name="x")
    with pytest.raises(PortNotFound):
        port_delete(caller=crowd.stranger, port_id=port.pk)
    for changes in (
        {"fixed": (AddressRequest(address="10.0.0.9"),)},
        {"has_security": False, "group_ids": ()},
        {"allowed_pairs": (AddressPair("10.0.0.2"),)},
    ):
        with pytest.raises(InvalidFields, match="Only the owner of the network"):
            change(crowd.stranger, theirs, **changes)
    assert change(crowd.stranger, theirs, name="mine").name == "mine"
    with pytest.raises(Forbidden):
        change(crowd.member, theirs, name="yours")
    port_delete(caller=crowd.member, port_id=theirs.pk)
    assert not Port.objects.filter(pk=theirs.pk).exists()


def test_unknown_changes_are_refused(crowd, port):
    with pytest.raises(InvalidFields) as refused:
        change(crowd.member, port, host="h2")
    assert refused.value.field == "host"


def test_port_of_an_instance_is_detached_there_first(crowd, port):
    instance = Instance.objects.create(
        name="vm", project_id=port.project_id, user_id=uuid.uuid4(), flavor={}, vcpus=1, memory_mib=1
    )
    Port.objects.filter(pk=port.pk).update(instance_uuid=instance.pk)
    with pytest.raises(PortInUse) as refused:
        port_delete(caller=crowd.member, port_id=port.pk)
    assert refused.value.extra["instance"] == str(instance.pk)
    Port.objects.filter(pk=port.pk).update(instance_uuid=uuid.uuid4())
    port_delete(caller=crowd.member, port_id=port.pk)
    with pytest.raises(PortNotFound):
        port_delete(caller=crowd.member, port_id=port.pk)
