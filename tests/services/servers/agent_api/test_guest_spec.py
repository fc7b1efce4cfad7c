"""What an agent is told of the guest it shall make: shape from flavor and image, place from the claims."""

from typing import Any

import pytest

from computeagent.agent.resource_tracker import ResourceTracker
from computeagent.drivers.device_spec import device_specs_of_text
from computeagent.drivers.fake import FakeDriver
from computeagent.drivers.host_options import HostOptions
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.topology import CpuTopology
from computeagent.protocol.topology_json import guest_from_dict
from placement.selectors import fleet_usage
from scheduling.models import ComputeNode, TopologyClaim
from servers.agent_api import conductor_connect
from servers.models import Instance
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)

PLACED = {"cells": [{"id": 0, "cpuset": "", "pcpuset": "0", "memory_mib": 512, "host_cell": 1, "pinning": [[0, 5]]}]}
DEVICES = [
    {"address": "0000:81:00.0", "alias": "nic", "request_id": "r2"},
    {"address": "0000:0a:00.0", "alias": "gpu", "request_id": "r1"},
]


def guest_of(*, vcpus: int = 4, properties: dict[str, str] | None = None, **extra_specs: str) -> GuestSpec:
    """The guest of a new instance on h1, as its agent gets it."""
    specs = {f"hw:{key}": value for key, value in extra_specs.items()}
    topology = FakeDriver("n").host_report().numa_topology
    who = world.cloud("h1", numa_topology=topology, traits=("CUSTOM_LOCKED_MEMORY",))
    world.flavor("shaped", vcpus=vcpus, extra_specs=specs)
    world.image("shaped", properties=properties or {})
    world.create(who.member, flavor="shaped", image="shaped")
    world.pump()
    return world.order("h1").guest


def claimed(instance: Instance, numa: dict[str, Any] | None, devices: list[dict[str, str]]) -> None:
    TopologyClaim.objects.update_or_create(
        pk=instance.pk,
        defaults={
            "compute_node": ComputeNode.objects.get(host=instance.host),
            "numa": numa,
            "pci_devices": devices,
        },
    )


def test_guest_without_constraints_has_one_socket_for_each_vcpu_and_no_place() -> None:
    guest = guest_of()

    assert guest.cpu_topology == CpuTopology(4, 1, 1)
    assert (guest.numa_topology, guest.pci_devices, guest.realtime_vcpus, guest.fault) == (None, (), "", "")
    assert not guest.has_locked_memory


@pytest.mark.parametrize(("key", "wanted"), [("resources:VGPU", 2), ("resources1:VGPU", 1)])
def test_guest_has_the_virtual_gpus_that_its_flavor_claimed(key: str, wanted: int) -> None:
    who = world.cloud("h1", vgpus=4)
    world.flavor("painter", extra_specs={key: str(wanted)})
    world.create(who.member, flavor="painter")
    world.pump()
    order = world.order("h1")

    assert order.guest.vgpus == wanted
    assert fleet_usage()[ComputeNode.objects.get(host="h1").pk]["VGPU"].used == wanted


def test_virtual_gpus_that_no_host_has_are_the_reason(db: None) -> None:
    who = world.cloud("h1")
    world.flavor("painter", extra_specs={"resources:VGPU": "1"})
    world.create(who.member, flavor="painter")
    world.pump()

    assert Instance.objects.get().vm_state == "error"


def test_guest_has_the_cpu_topology_of_its_flavor() -> None:
    assert guest_of(cpu_sockets="1", cpu_cores="2").cpu_topology == CpuTopology(1, 2, 2)


def test_guest_has_the_limits_of_its_image() -> None:
    guest = guest_of(properties={"hw_cpu_max_sockets": "2"})

    assert guest.cpu_topology == CpuTopology(2, 2, 1)


def test_guest_has_its_realtime_vcpus() -> None:
    guest = guest_of(cpu_policy="dedicated", cpu_realtime="yes", cpu_realtime_mask="^0")

    assert guest.realtime_vcpus == "1-3"


def test_guest_has_its_locked_memory() -> None:
    assert guest_of(mem_page_size="small", locked_memory="true").has_locked_memory


def test_contradiction_of_an_older_instance_is_told_and_keeps_nobody_from_the_others() -> None:
    who = world.cloud("h1")
    fine, odd = (world.active(who.member, name) for name in ("fine", "odd"))
    odd.flavor["extra_specs"] = {"hw:cpu_max_sockets": "1", "hw:cpu_max_cores": "1", "hw:cpu_max_threads": "1"}
    Instance.objects.filter(pk=odd.pk).update(flavor=odd.flavor, vcpus=2)

    faults = {each.uuid: each.guest.fault for each in conductor_connect().instances_on_host(host="h1")}
    assert faults[str(fine.pk)] == ""
    assert "2 vCPUs cannot be made of at most 1:1:1" in faults[str(odd.pk)]


def test_guest_is_where_its_claim_says() -> None:
    who = world.cloud("h1")
    world.create(who.member)
    world.pump()
    claimed(Instance.objects.get(), PLACED, DEVICES)

    guest = world.order("h1").guest
    assert guest.numa_topology == guest_from_dict(PLACED)
    assert [device.address for device in guest.pci_devices] == ["0000:0a:00.0", "0000:81:00.0"]


def test_places_of_all_instances_of_a_host_come_in_one_query(django_assert_num_queries: Any) -> None:
    who = world.cloud("h1")
    made = [world.active(who.member, f"vm-{at}") for at in range(3)]
    for instance in made[:2]:
        claimed(instance, PLACED, [])

    with django_assert_num_queries(4):
        found = conductor_connect().instances_on_host(host="h1")
    assert {each.uuid: each.guest.numa_topology for each in found} == {
        str(made[0].pk): guest_from_dict(PLACED),
        str(made[1].pk): guest_from_dict(PLACED),
        str(made[2].pk): None,
    }


def test_host_is_registered_with_what_its_driver_found() -> None:
    options = HostOptions(
        frozenset(range(8, 64)), frozenset(range(8)), (), device_specs_of_text('{"vendor_id": "10de"}')
    )
    report = FakeDriver("h1", options=options).host_report()

    conductor_connect().register(host="h1", report=report)
    node = ComputeNode.objects.get(host="h1")
    assert [cell["pcpuset"] for cell in node.numa_topology["cells"]] == ["8-31", "32-63"]
    assert sum(pool["count"] for pool in node.pci_pools) == 2
    assert node.dedicated_vcpus == 56


def test_pinned_guest_is_told_cpus_that_its_host_offers() -> None:
    options = HostOptions(frozenset(range(8, 64)), frozenset(range(8)))
    driver = FakeDriver("h1", options=options)
    who = world.cloud("h1")
    conductor_connect().register(host="h1", report=driver.host_report())
    world.flavor("pinned", vcpus=4, extra_specs={"hw:cpu_policy": "dedicated"})
    world.create(who.member, flavor="pinned")
    world.pump()

    guest = world.order("h1").guest
    assert guest.numa_topology is not None
    ResourceTracker().claim(guest, driver.host_report())
    assert {cpu for _, cpu in guest.numa_topology.cells[0].pinning} <= set(range(8, 64))


def test_guest_has_its_place_in_its_batch() -> None:
    who = world.cloud("h1")
    world.create(who.member, min_count=3)
    world.pump()
    places = [one.guest.launch_index for one in conductor_connect().instances_on_host(host="h1")]
    assert sorted(places) == [0, 1, 2]


def test_user_data_with_line_breaks_reaches_the_guest_without_them() -> None:
    who = world.cloud("h1")
    world.create(who.member, user_data="aGVs\nbG8=\r\n")
    world.pump()
    assert world.order("h1").guest.user_data_base64 == "aGVsbG8="
