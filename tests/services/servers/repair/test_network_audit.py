"""The audit finds ports that disagree with their addresses, and ports that are left of instances."""

import uuid

import pytest

from servers.models import IPAllocation, Port
from servers.networks.domain.names import PortOwner
from servers.networks.services.ports import ports_create
from servers.repair.services.audit import audit_findings
from tests.worlds.ports import asked, network, subnet

pytestmark = pytest.mark.django_db


def messages() -> list[str]:
    return [one.message for one in audit_findings()]


def test_ports_as_services_leave_them_are_no_finding():
    net = network()
    subnet(net)
    subnet(net, "fd00::/64")
    ports_create(caller=None, requests=[asked(net), asked(net, fixed=())])
    Port.objects.create(mac="fa:16:3e:00:00:01", network_name="default", addresses=["192.0.2.1"])
    assert messages() == []


def test_what_disagrees_is_found():
    net = network()
    subnet(net)
    port, other = ports_create(caller=None, requests=[asked(net), asked(net)])
    Port.objects.filter(pk=port.pk).update(addresses=["10.0.0.9"])
    IPAllocation.objects.filter(port=other).update(address="10.1.0.3", address_key="0" * 32)
    found = messages()
    assert "shows other addresses than it holds" in found
    assert "has the address 10.1.0.3, which is not in its subnet 10.0.0.0/24" in found


def test_port_of_an_instance_that_is_gone_is_found():
    gone = uuid.uuid4()
    ports_create(caller=None, requests=[asked(network(), owner=PortOwner.INSTANCE, instance_uuid=gone)])
    assert messages() == [f"is no instance and no build request and has port {Port.objects.get().pk}"]
