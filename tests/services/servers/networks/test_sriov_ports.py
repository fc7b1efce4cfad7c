"""Ports that are devices of a host: their physical network decides the host, the device is claimed and given."""

from dataclasses import replace
from typing import Any

import pytest

from computeagent.protocol.topology_json import host_from_dict
from controlplane.identity.models import Project
from controlplane.kernel.errors import InvalidFields
from scheduling.models import PciDevice
from servers.instances.services.delete import instance_delete
from servers.models import InstanceFault, Port
from servers.networks.domain.names import PortOwner, VnicType
from servers.networks.domain.ports import PortRequest
from servers.networks.services.ports import ports_create
from servers.repair.services.audit import audit_findings
from tests.fixtures.remembering import remembered
from tests.services.scheduling.topology.topology_world import device
from tests.worlds import cloud as world
from tests.worlds import networks as nets

pytestmark = pytest.mark.django_db(transaction=True)


def card(address: str, physical_network: str) -> Any:
    return replace(device(address), tags=(("physical_network", physical_network),), devname="enp1s0f1")


@pytest.fixture
@remembered
def who() -> world.People:
    """Host h1 is on physnet1, h2 on physnet2; two ports of a network on physnet2 are ready."""
    people = world.people()
    world.flavor()
    world.image()
    cells = host_from_dict({"cells": [{"id": 0, "cpuset": "0-3", "pcpuset": "", "memory_mib": 8192}]})
    for number in (1, 2):
        world.host(f"h{number}", numa_topology=cells, pci_devices=(card(f"0000:0{number}:00.1", f"physnet{number}"),))
    project = Project.objects.get(pk=people.member.project_id)
    net = nets.network("fast", project=project, physical_network="physnet2", segment=None)
    for name in ("one", "two"):
        fields = {"owner": PortOwner.NOBODY, "is_of_instance": False, "vnic_type": "direct"}
        nets.port(net, project=project, name=name, **fields)
    return people


def test_port_brings_its_instance_to_a_host_of_its_network_and_gets_a_device(who: world.People) -> None:
    made = world.create(who.member, networks=[{"port": "one"}])[0]
    world.pump()
    port = Port.objects.get(name="one")
    assert (world.instance_of(made.pk).host, port.host) == ("h2", "h2")
    guest = world.order("h2").guest
    assert [(each.address, each.request_id) for each in guest.pci_devices] == [("0000:02:00.1", str(port.pk))]
    assert (guest.ports[0].vnic_type, guest.ports[0].pci_request_id, guest.ports[0].mac) == (
        "direct",
        str(port.pk),
        port.mac,
    )


def test_a_device_is_told_its_address_by_a_config_drive_alone(who: world.People) -> None:
    with pytest.raises(InvalidFields) as refused:
        world.create(who.member, networks=[{"port": "one"}], config_drive=False)
    assert "networks" in str(refused.value.errors["config_drive"])
    made = world.create(who.member, networks=[{"port": "one"}])[0]
    world.pump()
    assert world.instance_of(made.pk).config_drive


def test_no_device_left_is_no_valid_host_and_the_port_is_free_again(who: world.People) -> None:
    first = world.active(who.member, networks=[{"port": "one"}])
    second = world.create(who.member, networks=[{"port": "two"}])[0]
    world.pump()
    assert world.instance_of(second.pk).vm_state == "error"
    assert "lack free PCI devices" in InstanceFault.objects.get(instance_uuid=second.pk).message
    assert Port.objects.get(name="two").instance_uuid is None
    instance_delete(caller=who.member, instance_id=first.pk)
    world.conductor_connect().deleted(lease=world.order("h2", world.WorkKind.DELETE).lease)
    assert set(PciDevice.objects.values_list("owner_uuid", flat=True)) == {None}
    assert Port.objects.get(name="one").instance_uuid is None
    assert audit_findings() == []


def test_a_port_that_is_a_device_needs_a_physical_network(who: world.People) -> None:
    """Else it would be any device of a host: on another network's wire, or no network card at all."""
    project = Project.objects.get(pk=who.member.project_id)
    inside = nets.network("inside", project=project)
    with pytest.raises(InvalidFields) as refused:
        request = PortRequest(inside.pk, project.pk, vnic_type=VnicType.DIRECT)
        ports_create(caller=who.member, requests=[request])
    assert "network inside is on none" in str(refused.value.errors["vnic_type"])
    assert not Port.objects.filter(network=inside).exists()
    # One that was made when nobody asked.
    nets.port(inside, project=project, name="old", owner=PortOwner.NOBODY, is_of_instance=False, vnic_type="direct")
    with pytest.raises(InvalidFields) as refused:
        world.create(who.member, networks=[{"port": "old"}])
    assert "network inside is on none" in str(refused.value.errors["networks"])
    assert set(PciDevice.objects.values_list("owner_uuid", flat=True)) == {None}
