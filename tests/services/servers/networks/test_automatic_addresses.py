"""Addresses that follow from MAC addresses: who has them, who may choose, and how they come and go with a subnet."""

from ipaddress import IPv6Network
from uuid import uuid4

import pytest

from controlplane.kernel.errors import Conflict, InvalidFields
from controlplane.kernel.macs import eui64
from servers.models import IPAllocation, Network, Port, Subnet
from servers.networks.domain.errors import InvalidIpForSubnet, SubnetInUse
from servers.networks.domain.names import PortOwner
from servers.networks.domain.ports import AddressRequest
from servers.networks.domain.subnets import SubnetRequest
from servers.networks.services.instance_addresses import instance_address_add, instance_address_remove
from servers.networks.services.port_changes import port_update
from servers.networks.services.ports import ports_create
from servers.networks.services.router_legs import router_interface_add
from servers.networks.services.routers import router_create
from servers.networks.services.subnets import subnet_create, subnet_delete, subnet_update
from servers.repair.services.audit import audit_findings
from tests.worlds.cloud import people
from tests.worlds.ports import asked, network, subnet

pytestmark = pytest.mark.django_db(transaction=True)
SIX = "fd00:7::/64"


def made(of: Network, cidr: str = SIX, mode: str = "slaac", **more: object) -> Subnet:
    return subnet_create(caller=None, request=SubnetRequest(of.pk, cidr, ipv6_mode=mode, **more))  # type: ignore[arg-type]


def own(port: Port, cidr: str = SIX) -> str:
    return str(eui64(IPv6Network(cidr), port.mac))


def held(port: Port) -> list[str]:
    """What rows of addresses say, which is what the port shows."""
    port.refresh_from_db()
    rows = list(IPAllocation.objects.filter(port=port).order_by("pk").values_list("address", flat=True))
    assert sorted(rows) == sorted(port.addresses)
    return list(port.addresses)


@pytest.mark.parametrize("mode", ["slaac", "dhcpv6-stateless"])
def test_each_port_has_the_address_that_follows_from_its_mac(mode: str) -> None:
    of = network()
    subnet(of)
    made(of, mode=mode)
    made(of, "fd00:8::/64", "dhcpv6-stateful")
    ports = ports_create(
        caller=None, requests=[asked(of), asked(of), asked(of, None, AddressRequest(address="10.0.0.9"))]
    )
    assert [held(port)[-1] for port in ports] == [own(port) for port in ports]
    assert [len(port.addresses) for port in ports] == [3, 3, 2]
    assert audit_findings() == []


def test_nobody_chooses_another_one() -> None:
    of = network()
    six = made(of)
    with pytest.raises(InvalidIpForSubnet, match="follow from MAC"):
        ports_create(caller=None, requests=[asked(of, None, AddressRequest(address="fd00:7::9"))])
    mac = "fa:16:3e:00:00:09"
    same = AddressRequest(address=str(eui64(IPv6Network(SIX), mac)))
    (port,) = ports_create(caller=None, requests=[asked(of, None, same, AddressRequest(six.pk), mac=mac)])
    assert held(port) == [same.address]
    with pytest.raises(InvalidIpForSubnet):
        port_update(caller=None, port_id=port.pk, changes={"fixed": (AddressRequest(address="fd00:7::9"),)})
    port_update(caller=None, port_id=port.pk, changes={"fixed": ()})
    assert held(port) == [same.address]
    port_update(caller=None, port_id=port.pk, changes={"mac": "fa:16:3e:00:00:0a"})
    assert held(port) == [own(port)] != [same.address]


def test_a_new_subnet_gives_ports_that_are_there_theirs_and_takes_them_along() -> None:
    who, of = people(), network()
    four = subnet(of)
    port, other = ports_create(caller=None, requests=[asked(of, who.member.project_id), asked(of)])
    six = made(of, gateway="fd00:7::1")
    assert [held(each) for each in (port, other)] == [[each.addresses[0], own(each)] for each in (port, other)]
    router = router_create(caller=None, project_id=who.member.project_id)
    leg = router_interface_add(caller=None, router_id=router.pk, subnet_id=six.pk)
    router_interface_add(caller=None, router_id=router.pk, subnet_id=four.pk)
    assert held(leg) == ["fd00:7::1"]
    with pytest.raises(SubnetInUse, match="1 addresses"):
        subnet_delete(caller=None, subnet_id=six.pk)
    assert held(port)[1:] == [own(port)]
    IPAllocation.objects.filter(port=leg).delete()
    subnet_delete(caller=None, subnet_id=six.pk)
    assert (len(held(port)), len(held(other))) == (1, 1)


def test_an_instance_is_given_and_loses_other_addresses_alone() -> None:
    of, instance = network(), uuid4()
    subnet(of)
    made(of)
    request = asked(of, instance_uuid=instance, owner=PortOwner.INSTANCE)
    (port,) = ports_create(caller=None, requests=[request])
    added = instance_address_add(instance_uuid=instance, network_id=of.pk)
    assert added.startswith("10.0.0.") and added in held(port) and own(port) in held(port)
    with pytest.raises(Conflict, match="goes with it"):
        instance_address_remove(instance_uuid=instance, address=own(port))
    instance_address_remove(instance_uuid=instance, address=added)
    assert added not in held(port) and own(port) in held(port)


@pytest.mark.parametrize(
    ("cidr", "more", "why"),
    [
        ("10.9.0.0/24", {}, "is of IPv6"),
        ("fd00:9::/80", {}, "a /64 alone"),
        (SIX, {"has_dhcp": False}, "goes with DHCP"),
        (SIX, {"mode": "magic"}, "no way"),
    ],
)
def test_what_cannot_be_is_refused_at_its_field(cidr: str, more: dict[str, object], why: str) -> None:
    with pytest.raises(InvalidFields, match=why) as refused:
        made(network(), cidr, **more)  # type: ignore[arg-type]
    assert refused.value.field == "ipv6_mode"


def test_the_mode_stays_and_holds_dhcp() -> None:
    six = made(network())
    with pytest.raises(InvalidFields, match="Cannot be changed"):
        subnet_update(caller=None, subnet_id=six.pk, changes={"ipv6_mode": "dhcpv6-stateful"})
    with pytest.raises(InvalidFields, match="goes with DHCP"):
        subnet_update(caller=None, subnet_id=six.pk, changes={"has_dhcp": False})
    assert subnet_update(caller=None, subnet_id=six.pk, changes={"name": "x"}).ipv6_mode == "slaac"
