"""Networks and subnets by the services: who may, what is refused, and what follows a change."""

import pytest
from django.db.models import ProtectedError

from computeagent.protocol.networks import HostRoute, NetworkBackendKind
from controlplane.identity.models import Project
from controlplane.kernel.errors import Conflict, Forbidden, InvalidFields, QuotaExceeded
from servers.models import FloatingIP, HostNetworkState, Network, Port, Router, Subnet
from servers.networks.domain.errors import (
    ExternalNetworkInUse,
    GatewayIpInUse,
    InvalidSharedSetting,
    NetworkInUse,
    NetworkKindUnavailable,
    NetworkNotFound,
    NoNetworkAvailable,
    OverlappingSubnets,
    SubnetInUse,
    SubnetNotFound,
    TenantNetworksUnavailable,
)
from servers.networks.domain.names import PortOwner
from servers.networks.domain.networks import NetworkRequest
from servers.networks.domain.ports import AddressRequest
from servers.networks.domain.subnets import SubnetRequest
from servers.networks.selectors.host_networks import host_networks
from servers.networks.selectors.networks import networks_visible, owner_of
from servers.networks.selectors.subnets import subnet_get
from servers.networks.services.networks import network_create, network_delete, network_update
from servers.networks.services.ports import ports_create
from servers.networks.services.subnets import subnet_create, subnet_delete, subnet_update
from tests.worlds.cloud import People, people
from tests.worlds.ports import asked, network, subnet

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def bridges(settings):
    settings.KILONOVA = {**settings.KILONOVA, "NETWORK_KIND": "bridge"}


@pytest.fixture
def crowd() -> People:
    return people()


def make(caller, name="net", **more) -> Network:
    project_id = more.pop("project_id", caller.project_id)
    return network_create(caller=caller, request=NetworkRequest(project_id=project_id, name=name, **more))


def add(caller, of: Network, cidr="10.0.0.0/24", **more) -> Subnet:
    return subnet_create(caller=caller, request=SubnetRequest(network_id=of.pk, cidr=cidr, **more))


def revision(host: str) -> int:
    return HostNetworkState.objects.get(host=host).wanted_revision


def test_network_of_a_project_has_a_segment_and_what_the_underlay_lets_through(crowd, settings):
    made = make(crowd.member)
    assert (made.kind, made.mtu, made.project_id) == ("bridge", 1450, crowd.member.project_id)
    assert 1 <= made.segment <= 2**24 - 1
    settings.KILONOVA = {**settings.KILONOVA, "NETWORK_KIND": "ovn", "NETWORK_UNDERLAY_MTU": 9000}
    with pytest.raises(NetworkKindUnavailable, match="OVN_NORTHBOUND"):
        make(crowd.member)
    settings.KILONOVA = {**settings.KILONOVA, "NETWORK_KIND": "bridge"}
    with pytest.raises(NetworkKindUnavailable) as refused:
        make(crowd.admin, kind=NetworkBackendKind.OVN)
    assert refused.value.field == "kind"
    settings.KILONOVA = {**settings.KILONOVA, "NETWORK_KIND": "ovn", "OVN_NORTHBOUND": "unix:/run/ovn/nb.sock"}
    other = make(crowd.member)
    assert (other.kind, other.mtu, other.segment) == ("ovn", 8942, None)


def test_installation_without_networks_of_projects_says_so(crowd, settings):
    settings.KILONOVA = {**settings.KILONOVA, "NETWORK_KIND": "none"}
    with pytest.raises(TenantNetworksUnavailable, match="NETWORK_KIND"):
        make(crowd.member)
    assert make(crowd.admin, kind=NetworkBackendKind.BRIDGE).segment


def test_all_segments_of_the_range_are_given_and_then_no_more(crowd, settings):
    settings.KILONOVA = {**settings.KILONOVA, "NETWORK_SEGMENT_MIN": 5, "NETWORK_SEGMENT_MAX": 8}
    assert sorted(make(crowd.member).segment for _ in range(4)) == [5, 6, 7, 8]
    with pytest.raises(NoNetworkAvailable, match="from 5 to 8"):
        make(crowd.member)


@pytest.mark.parametrize(
    "more",
    [
        {"is_shared": True},
        {"is_external": True, "physical_network": "public"},
        {"is_default": True},
        {"kind": NetworkBackendKind.OVN},
        {"hypervisor_network": "default"},
        {"physical_network": "public"},
        {"project_id": None},
    ],
)
def test_only_administrators_share_networks_and_choose_what_they_are(crowd, more):
    with pytest.raises(Forbidden):
        make(crowd.member, **more)
    with pytest.raises(Forbidden):
        make(crowd.stranger, project_id=crowd.member.project_id)
    assert not Network.objects.exists()


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"mtu": 67}, "mtu"),
        ({"mtu": 1451}, "mtu"),
        ({"is_external": True}, "physical_network"),
        ({"is_default": True}, "is_default"),
        ({"project_id": None, "name": ""}, "name"),
        ({"kind": NetworkBackendKind.HYPERVISOR}, "hypervisor_network"),
        (
            {"kind": NetworkBackendKind.HYPERVISOR, "hypervisor_network": "d", "physical_network": "p"},
            "physical_network",
        ),
        ({"hypervisor_network": "default", "is_external": True}, "is_external"),
        ({"kind": NetworkBackendKind.BRIDGE, "hypervisor_network": "default"}, "hypervisor_network"),
        ({"description": "x" * 256}, "description"),
    ],
)
def test_network_that_cannot_be_is_refused_at_its_field(crowd, more, field):
    with pytest.raises(InvalidFields) as refused:
        make(crowd.admin, **more)
    assert field in refused.value.errors


def test_networks_are_counted_against_the_quota(crowd):
    Project.objects.filter(pk=crowd.member.project_id).update(quota_networks=1, quota_subnets=1)
    made = make(crowd.member)
    with pytest.raises(QuotaExceeded):
        make(crowd.member)
    add(crowd.member, made)
    with pytest.raises(QuotaExceeded):
        add(crowd.member, made, "10.1.0.0/24")


def test_who_sees_which_network(crowd):
    own = make(crowd.member)
    outside = make(crowd.admin, "out", project_id=None, is_external=True, physical_network="public")
    shared = make(crowd.admin, "all", project_id=None, is_shared=True)
    hidden = make(crowd.admin, "inner", project_id=None)
    name = make(crowd.admin, "default", project_id=None, hypervisor_network="default")
    theirs = make(crowd.stranger)
    assert set(networks_visible(crowd.reader)) == {own, outside, shared, name}
    assert set(networks_visible(crowd.stranger)) == {theirs, outside, shared, name}
    assert hidden in networks_visible(crowd.admin)


def test_subnet_has_defaults_and_an_address_for_dhcp(crowd):
    made = add(crowd.member, make(crowd.member))
    assert (made.gateway, made.metadata_address, made.ip_version) == ("10.0.0.1", "10.0.0.2", 4)
    assert made.pools == [["10.0.0.2", "10.0.0.254"]]
    assert ports_create(caller=None, requests=[asked(made.network)])[0].addresses == ["10.0.0.3"]


def test_subnet_of_ipv6_and_one_without_dhcp_keep_no_address_for_it(crowd):
    net = make(crowd.member)
    six = add(crowd.member, net, "FD00:1::/64", gateway=None)
    assert (six.cidr, six.gateway, six.metadata_address) == ("fd00:1::/64", None, None)
    assert six.pools == [["fd00:1::1", "fd00:1::ffff:ffff:ffff:ffff"]]
    assert add(crowd.member, net, has_dhcp=False).metadata_address is None
    assert add(crowd.member, net, "10.9.0.0/30").metadata_address is None


def test_subnets_of_a_network_do_not_overlap(crowd):
    net = make(crowd.member)
    add(crowd.member, net, "10.0.0.0/24")
    with pytest.raises(OverlappingSubnets) as refused:
        add(crowd.member, net, "10.0.0.128/25")
    assert (refused.value.field, refused.value.extra["overlaps"]) == ("cidr", ["10.0.0.0/24"])
    assert add(crowd.member, make(crowd.member), "10.0.0.0/24")


def test_subnet_of_ipv6_needs_the_mtu_of_ipv6(crowd):
    net = make(crowd.member, mtu=1000)
    with pytest.raises(InvalidFields) as refused:
        add(crowd.member, net, "fd00::/64")
    assert refused.value.field == "cidr"
    good = make(crowd.member)
    add(crowd.member, good, "fd00::/64")
    with pytest.raises(InvalidFields, match="1280"):
        network_update(caller=crowd.member, network_id=good.pk, changes={"mtu": 1279})


def test_only_the_owner_of_a_network_makes_subnets_in_it(crowd):
    shared = make(crowd.admin, "all", project_id=None, is_shared=True)
    with pytest.raises(Forbidden):
        add(crowd.member, shared)
    with pytest.raises(NetworkNotFound):
        add(crowd.stranger, make(crowd.member))
    with pytest.raises(InvalidFields, match="hypervisors"):
        add(crowd.admin, make(crowd.admin, "d", project_id=None, hypervisor_network="default"))
    assert add(crowd.admin, shared)


def test_subnet_changes_and_hosts_with_its_ports_are_told(crowd):
    net = make(crowd.member)
    made = add(crowd.member, net)
    ports_create(caller=None, requests=[asked(net, host="h1")])
    before = revision("h1")
    routes = (HostRoute("10.9.0.0/16", "10.0.0.9"),)
    changes = {"dns_servers": ("9.9.9.9",), "routes": routes, "pools": (("10.0.0.20", "10.0.0.30"),), "name": "lan"}
    changed = subnet_update(caller=crowd.member, subnet_id=made.pk, changes=changes)
    assert changed.routes == [{"destination": "10.9.0.0/16", "nexthop": "10.0.0.9"}]
    assert (changed.dns_servers, changed.pools, changed.name) == (["9.9.9.9"], [["10.0.0.20", "10.0.0.30"]], "lan")
    assert revision("h1") == before + 1
    assert ports_create(caller=None, requests=[asked(net)])[0].addresses == ["10.0.0.20"]
    assert subnet_update(caller=crowd.member, subnet_id=made.pk, changes={"has_dhcp": False}).metadata_address is None
    again = subnet_update(caller=crowd.member, subnet_id=made.pk, changes={"has_dhcp": True})
    assert again.metadata_address == "10.0.0.21"


def test_gateway_that_a_router_has_stays(crowd):
    net = make(crowd.member)
    made = add(crowd.member, net)
    router = Router.objects.create(project_id=crowd.member.project_id)
    leg = asked(net, None, AddressRequest(made.pk, "10.0.0.1"), owner=PortOwner.ROUTER_INTERFACE, router_id=router.pk)
    ports_create(caller=None, requests=[leg])
    with pytest.raises(GatewayIpInUse):
        subnet_update(caller=crowd.member, subnet_id=made.pk, changes={"gateway": None})
    other = add(crowd.member, net, "10.1.0.0/24", pools=(("10.1.0.10", "10.1.0.20"),))
    for wrong in ({"gateway": "10.1.0.15"}, {"gateway": "x", "pools": None}):
        with pytest.raises(InvalidFields, match=r"gateway|no IP address"):
            subnet_update(caller=crowd.member, subnet_id=other.pk, changes=wrong)
    with pytest.raises(InvalidFields) as refused:
        subnet_update(caller=crowd.member, subnet_id=other.pk, changes={"cidr": "10.2.0.0/24"})
    assert refused.value.field == "cidr"
    assert subnet_update(caller=crowd.member, subnet_id=other.pk, changes={"gateway": "10.1.0.2"}).gateway == "10.1.0.2"
    changed = subnet_update(caller=crowd.member, subnet_id=other.pk, changes={"gateway": "first", "pools": None})
    assert (changed.gateway, changed.pools) == ("10.1.0.1", [["10.1.0.2", "10.1.0.254"]])


def test_subnet_that_ports_have_addresses_of_stays(crowd):
    net = make(crowd.member)
    made = add(crowd.member, net)
    ports_create(caller=None, requests=[asked(net)])
    with pytest.raises(SubnetInUse) as refused:
        subnet_delete(caller=crowd.member, subnet_id=made.pk)
    assert refused.value.extra["addresses"] == 1
    empty = add(crowd.member, net, "10.1.0.0/24")
    with pytest.raises(SubnetNotFound):
        subnet_delete(caller=crowd.stranger, subnet_id=empty.pk)
    subnet_delete(caller=crowd.member, subnet_id=empty.pk)
    with pytest.raises(SubnetNotFound):
        subnet_get(caller=crowd.member, subnet_id=empty.pk)


def test_renamed_network_is_renamed_in_its_ports_too(crowd):
    net = make(crowd.member)
    ports_create(caller=None, requests=[asked(net)])
    network_update(caller=crowd.member, network_id=net.pk, changes={"name": "other"})
    assert Port.objects.get().network_name == "other"


def test_network_that_others_have_ports_in_stays_shared(crowd):
    net = make(crowd.member)
    network_update(caller=crowd.admin, network_id=net.pk, changes={"is_shared": True})
    ports_create(caller=crowd.stranger, requests=[asked(net, crowd.stranger.project_id)])
    with pytest.raises(InvalidSharedSetting):
        network_update(caller=crowd.admin, network_id=net.pk, changes={"is_shared": False})
    with pytest.raises(Forbidden):
        network_update(caller=crowd.stranger, network_id=net.pk, changes={"name": "mine"})
    with pytest.raises(Forbidden):
        network_update(caller=crowd.member, network_id=net.pk, changes={"is_shared": False})


def test_external_network_with_gateways_stays_external(crowd):
    outside = make(crowd.admin, "out", project_id=None, is_external=True, physical_network="public")
    add(crowd.admin, outside, "198.51.100.0/24")
    Router.objects.create(project_id=crowd.member.project_id, external_network=outside)
    with pytest.raises(ExternalNetworkInUse):
        network_update(caller=crowd.admin, network_id=outside.pk, changes={"is_external": False})
    with pytest.raises(NetworkInUse):
        network_delete(caller=crowd.admin, network_id=outside.pk)


def test_network_goes_with_its_subnets_and_not_with_ports(crowd):
    net = make(crowd.member)
    add(crowd.member, net)
    ports_create(caller=None, requests=[asked(net)])
    with pytest.raises(NetworkInUse, match="1 ports"):
        network_delete(caller=crowd.member, network_id=net.pk)
    with pytest.raises(NetworkNotFound):
        network_delete(caller=crowd.stranger, network_id=net.pk)
    Port.objects.all().delete()
    network_delete(caller=crowd.member, network_id=net.pk)
    assert (Network.objects.count(), Subnet.objects.count()) == (0, 0)


def test_network_that_is_there_already_is_a_conflict(crowd):
    net = make(crowd.member)
    with pytest.raises(Conflict):
        make(crowd.member, id=net.pk)


def test_project_with_networks_is_not_deleted_under_them(crowd):
    make(crowd.stranger)
    with pytest.raises(ProtectedError):
        Project.objects.filter(pk=crowd.stranger.project_id).delete()


def test_floating_address_of_a_network_keeps_it(crowd):
    outside = network("out", is_external=True)
    subnet(outside, "198.51.100.0/24")
    holder = ports_create(caller=None, requests=[asked(outside, owner=PortOwner.FLOATING_IP)])[0]
    FloatingIP.objects.create(
        project_id=crowd.member.project_id, network=outside, address_port=holder, address=holder.addresses[0]
    )
    with pytest.raises(NetworkInUse, match="1 floating addresses"):
        network_delete(caller=None, network_id=outside.pk)


def test_hosts_are_told_where_dhcp_and_metadata_answer(crowd):
    net = make(crowd.member)
    add(crowd.member, net)
    ports_create(caller=None, requests=[asked(net, host="h1")])
    (wanted,) = host_networks("h1").networks
    assert wanted.subnets[0].metadata_address == "10.0.0.2"


def test_things_of_other_projects_are_made_by_administrators_and_the_control_plane(crowd):
    own, other = crowd.member.project_id, crowd.stranger.project_id
    assert owner_of(crowd.member, None) == owner_of(crowd.member, own) == own
    assert owner_of(crowd.admin, other) == owner_of(None, other) == other
    with pytest.raises(Forbidden, match="other projects"):
        owner_of(crowd.member, other)
