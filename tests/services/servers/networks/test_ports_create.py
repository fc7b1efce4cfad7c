"""Ports in batches: addresses, MAC addresses, groups, and who may ask for what."""

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from computeagent.protocol.networks import AddressPair
from controlplane.identity.models import Project
from controlplane.kernel.errors import InvalidFields
from servers.models import FloatingIP, IPAllocation, Network, Port, PortGroup, SecurityGroup
from servers.networks.domain.addresses import address_key, address_number, address_text
from servers.networks.domain.errors import (
    InvalidIpForNetwork,
    InvalidIpForSubnet,
    IpAddressInUse,
    MacAddressGenerationFailure,
    MacAddressInUse,
    NetworkNotFound,
    NoMoreAddresses,
    PortInUse,
    SecurityGroupNotFound,
    SubnetNotFound,
)
from servers.networks.domain.names import PortOwner
from servers.networks.domain.ports import AddressRequest
from servers.networks.services.allocation import WINDOW
from servers.networks.services.ports import ports_create, ports_delete
from tests.worlds.cloud import People, people
from tests.worlds.ports import asked, network, subnet

pytestmark = pytest.mark.django_db


@pytest.fixture
def crowd() -> People:
    return people()


@pytest.fixture
def net(crowd: People) -> Network:
    return network(project_id=crowd.member.project_id)


def create(*requests, caller=None) -> list[Port]:
    return ports_create(caller=caller, requests=requests)


def test_ports_get_addresses_one_after_the_other_and_never_the_gateway(net):
    subnet(net, "10.0.0.0/29")
    made = create(*[asked(net) for _ in range(5)])
    assert [port.addresses for port in made] == [[f"10.0.0.{last}"] for last in range(2, 7)]
    assert set(IPAllocation.objects.values_list("port_id", "address")) == {(p.pk, p.addresses[0]) for p in made}


def test_gateway_inside_of_a_pool_is_given_to_nobody(net):
    subnet(net, "10.0.0.0/29", pool=("10.0.0.1", "10.0.0.3"), metadata_address="10.0.0.2")
    assert create(asked(net))[0].addresses == ["10.0.0.3"]


def test_more_ports_than_addresses_are_refused_whole_with_numbers(net):
    subnet(net, "10.0.0.0/29")
    with pytest.raises(NoMoreAddresses) as refused:
        create(*[asked(net) for _ in range(6)])
    assert (refused.value.extra["wanted"], refused.value.extra["free"]) == (6, 5)
    assert (Port.objects.count(), IPAllocation.objects.count()) == (0, 0)


def test_address_that_was_given_back_is_the_last_to_be_given_again(net):
    subnet(net, "10.0.0.0/29")
    first, second = create(asked(net), asked(net))
    ports_delete(port_ids=[first.pk])
    after = [create(asked(net))[0].addresses[0] for _ in range(4)]
    assert after == ["10.0.0.4", "10.0.0.5", "10.0.0.6", "10.0.0.2"]
    assert second.addresses == ["10.0.0.3"]


def test_network_with_both_versions_gives_one_address_of_each(net):
    subnet(net, "10.0.0.0/24")
    subnet(net, "fd00:1::/64")
    assert create(asked(net))[0].addresses == ["10.0.0.2", "fd00:1::2"]


def test_second_subnet_gives_what_the_first_has_no_more(net):
    subnet(net, "10.0.0.0/30")
    subnet(net, "10.0.1.0/30")
    assert [port.addresses for port in create(asked(net), asked(net))] == [["10.0.0.2"], ["10.0.1.2"]]


def test_taken_windows_are_passed_one_after_the_other(net):
    """All addresses are taken but one, which is more than one window away."""
    row = subnet(net, "10.0.0.0/20")
    port = Port.objects.create(network=net, mac="fa:16:3e:00:00:01")
    first = address_number("10.0.0.2")
    IPAllocation.objects.bulk_create(
        IPAllocation(network=net, subnet=row, port=port, address=address_text(one), address_key=address_key(one))
        for one in range(first, first + 4093)
        if one != first + WINDOW + 100
    )
    assert create(asked(net))[0].addresses == [address_text(first + WINDOW + 100)]
    with pytest.raises(NoMoreAddresses):
        create(asked(net))


def test_named_addresses_are_given_inside_and_outside_of_pools(net):
    row = subnet(net, "10.0.0.0/24", pool=("10.0.0.100", "10.0.0.120"))
    made = create(
        asked(net, None, AddressRequest(row.pk, "10.0.0.100")),
        asked(net, None, AddressRequest(address="10.0.0.7")),
        asked(net, None, AddressRequest(row.pk)),
        asked(net, None, AddressRequest(address="10.0.0.1")),
    )
    assert [port.addresses for port in made] == [["10.0.0.100"], ["10.0.0.7"], ["10.0.0.101"], ["10.0.0.1"]]


def test_several_addresses_of_one_subnet_keep_their_order(net):
    row = subnet(net)
    made = create(asked(net, None, AddressRequest(row.pk), AddressRequest(address="10.0.0.2"), AddressRequest(row.pk)))
    assert made[0].addresses == ["10.0.0.3", "10.0.0.2", "10.0.0.4"]


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("10.0.0.0", InvalidIpForSubnet),
        ("10.0.0.255", InvalidIpForSubnet),
        ("10.9.0.1", InvalidIpForNetwork),
        ("10.0.0.9", IpAddressInUse),
        ("10.0.0.2", IpAddressInUse),
        ("10.0.0", InvalidFields),
        ("fe80::1%eth0", InvalidFields),
    ],
)
def test_address_that_cannot_be_had_is_refused(net, address, kind):
    subnet(net, metadata_address="10.0.0.2")
    create(asked(net, None, AddressRequest(address="10.0.0.9")))
    with pytest.raises(kind) as refused:
        create(asked(net, None, AddressRequest(address=address)))
    assert refused.value.field == "fixed_addresses"
    assert Port.objects.count() == 1


def test_same_address_twice_in_a_batch_is_refused(net):
    subnet(net)
    address = AddressRequest(address="10.0.0.9")
    with pytest.raises(IpAddressInUse):
        create(asked(net, None, address), asked(net, None, address))


def test_equal_addresses_in_two_networks_are_no_conflict(net, crowd):
    other = network("other", project_id=crowd.stranger.project_id)
    subnet(net)
    subnet(other)
    made = create(asked(net), asked(other))
    assert made[0].addresses == made[1].addresses == ["10.0.0.2"]


def test_subnet_of_another_network_is_unknown(net):
    elsewhere = subnet(network("other"))
    with pytest.raises(SubnetNotFound):
        create(asked(net, None, AddressRequest(elsewhere.pk)))
    with pytest.raises(InvalidIpForSubnet):
        create(asked(net, None, AddressRequest(subnet(net).pk, "10.0.9.1")))


def test_network_without_subnets_gives_no_address(net):
    assert create(asked(net))[0].addresses == []


def test_mac_addresses_follow_the_setting(net, settings):
    settings.KILONOVA = {**settings.KILONOVA, "BASE_MAC": "52:54:00:aa:00:00"}
    assert create(asked(net))[0].mac.startswith("52:54:00:aa:")


def test_named_mac_address_is_given_once_in_a_network(net):
    made = create(asked(net, mac="FA-16-3E-00-00-01"))
    assert made[0].mac == "fa:16:3e:00:00:01"
    with pytest.raises(MacAddressInUse):
        create(asked(net, mac="fa:16:3e:00:00:01"))
    with pytest.raises(MacAddressInUse):
        create(asked(net, mac="fa:16:3e:00:00:02"), asked(net, mac="fa:16:3e:00:00:02"))
    assert create(asked(network("other"), mac="fa:16:3e:00:00:01"))


@pytest.mark.long
def test_taken_mac_addresses_are_passed_over_and_the_end_of_them_is_told(net, settings):
    """The base leaves two octets; all but one of their values are taken."""
    settings.KILONOVA = {**settings.KILONOVA, "BASE_MAC": "fa:16:3e:77:00:00"}
    all_of_them = [f"fa:16:3e:77:{high:02x}:{low:02x}" for high in range(256) for low in range(256)]
    Port.objects.bulk_create(Port(network=net, mac=mac) for mac in all_of_them)
    with pytest.raises(MacAddressGenerationFailure):
        create(asked(net))


def test_ports_have_the_default_group_of_their_project_unless_they_name_others(net, crowd):
    project_id = crowd.member.project_id
    mine = SecurityGroup.objects.create(project_id=project_id, name="web")
    ports = create(
        asked(net, project_id),
        asked(net, project_id, group_ids=(mine.pk,)),
        asked(net, project_id, group_ids=()),
        asked(net, project_id, has_security=False),
        asked(net),
    )
    default = SecurityGroup.objects.get(project_id=project_id, is_default=True)
    groups = [set(PortGroup.objects.filter(port=port).values_list("group_id", flat=True)) for port in ports]
    assert groups == [{default.pk}, {mine.pk}, set(), set(), set()]


def test_group_of_another_project_is_unknown(net, crowd):
    theirs = SecurityGroup.objects.create(project_id=crowd.stranger.project_id, name="web")
    with pytest.raises(SecurityGroupNotFound):
        create(asked(net, crowd.member.project_id, group_ids=(theirs.pk,)))


def test_network_of_another_project_is_unknown(net, crowd):
    with pytest.raises(NetworkNotFound):
        create(asked(net, crowd.stranger.project_id), caller=crowd.stranger)
    with pytest.raises(NetworkNotFound):
        create(asked(network("out", is_external=True), crowd.member.project_id), caller=crowd.member)
    assert create(asked(net, crowd.member.project_id), caller=crowd.member)


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"mac": "fa:16:3e:00:00:01"}, "mac"),
        ({"fixed": (AddressRequest(address="10.0.0.9"),)}, "fixed_addresses"),
        ({"has_security": False}, "has_security"),
        ({"allowed_pairs": (AddressPair("10.0.0.9"),)}, "allowed_pairs"),
    ],
)
def test_guest_of_a_shared_network_takes_what_it_is_given(net, crowd, more, field):
    Network.objects.filter(pk=net.pk).update(is_shared=True)
    row = subnet(net)
    stranger = crowd.stranger
    with pytest.raises(InvalidFields) as refused:
        create(asked(net, stranger.project_id, **more), caller=stranger)
    assert refused.value.field == field
    assert create(asked(net, crowd.member.project_id, **more), caller=crowd.member)
    chosen = asked(net, stranger.project_id, AddressRequest(row.pk))
    assert create(chosen, caller=stranger)[0].project_id == stranger.project_id


def test_port_keeps_what_was_asked_for(net):
    subnet(net)
    instance = uuid.uuid4()
    pair = AddressPair("10.0.0.128/25", "FA:16:3E:00:00:09")
    request = asked(
        net, name="web", owner=PortOwner.INSTANCE, instance_uuid=instance, position=2, tag="lan", allowed_pairs=(pair,)
    )
    create(request)
    row = Port.objects.get(pk=request.id)
    assert (row.name, row.owner, row.instance_uuid, row.position, row.tag) == (
        "web",
        "compute:nova",
        instance,
        2,
        "lan",
    )
    assert row.allowed_pairs == [{"address": "10.0.0.128/25", "mac": "fa:16:3e:00:00:09"}]
    assert (row.network_name, row.has_security, row.status) == ("net", True, "DOWN")


def test_statements_do_not_grow_with_ports(net, crowd):
    subnet(net)
    subnet(net, "fd00::/64")
    project_id = crowd.member.project_id
    create(asked(net, project_id))
    with CaptureQueriesContext(
        connection,
    ) as few:
        create(*[asked(net, project_id) for _ in range(2)], caller=crowd.member)
    with CaptureQueriesContext(connection) as many:
        create(*[asked(net, project_id) for _ in range(20)], caller=crowd.member)
    assert len(many) == len(few)


def test_deleted_ports_leave_nothing_and_a_floating_address_stands_for_nothing(net, crowd):
    subnet(net)
    outside = network("out", is_external=True)
    subnet(outside, "198.51.100.0/24")
    port, holder = create(asked(net, crowd.member.project_id), asked(outside))
    floating = FloatingIP.objects.create(
        project_id=crowd.member.project_id,
        network=outside,
        address_port=holder,
        address=holder.addresses[0],
        port=port,
        fixed_address=port.addresses[0],
        status="ACTIVE",
    )
    ports_delete(port_ids=[port.pk, uuid.uuid4()])
    floating.refresh_from_db()
    assert (floating.port_id, floating.fixed_address, floating.status) == (None, None, "DOWN")
    assert list(IPAllocation.objects.values_list("address", flat=True)) == ["198.51.100.2"]
    assert not PortGroup.objects.exists()
    with pytest.raises(PortInUse):
        ports_delete(port_ids=[holder.pk])
    ports_delete(port_ids=[port.pk])


def test_project_is_named_where_it_has_a_port(net, crowd):
    create(asked(net, crowd.member.project_id))
    assert Port.objects.get().project == Project.objects.get(pk=crowd.member.project_id)
