"""Cells, pinned CPUs, pages and devices: claimed with the allocations, freed with them, and never given twice."""

import uuid
from typing import Any

import pytest

from controlplane.kernel.errors import Conflict, NoCapacity
from placement.selectors import allocations_by_consumer, fleet_usage
from placement.services import allocations_claim
from scheduling.decisions.selectors.decisions import decision_content, decision_why_not
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import alternate_claim, destinations_select
from scheduling.destinations.services.selections import Destinations, selection_from_json, selection_to_json
from scheduling.errors import NoValidHost
from scheduling.models import PciDevice, SchedulingDecision, TopologyClaim
from scheduling.topology.selectors.claims import topology_of_instance
from scheduling.topology.services.claims import claims_free, devices_allocate
from tests.services.scheduling.fleet.fleet_world import PROJECT, USER, fleet, request
from tests.services.scheduling.topology.topology_world import (
    DEDICATED,
    cell,
    device,
    numa_host,
    pinned,
    pinned_cpus,
    rival,
    wanting,
)

pytestmark = pytest.mark.django_db
CARDS = (device("0000:81:00.0"), device("0000:82:00.0", numa_node=1))


def select(asked: Any) -> Destinations:
    return destinations_select(request=asked, inputs=scheduling_inputs())


def taken_by(found: Destinations) -> list[uuid.UUID]:
    return [each.instance_uuid for each in found.instances]


def why(asked: Any) -> str:
    with pytest.raises(NoValidHost) as caught:
        select(asked)
    decision = SchedulingDecision.objects.get(pk=caught.value.decision_id)
    found = decision_why_not(decision=decision, host="cmp-00")
    assert found is not None
    return found.sentence


def test_pinned_cpus_are_claimed_with_the_allocations() -> None:
    node = numa_host()
    (owner,) = taken_by(select(pinned()))
    assert pinned_cpus(node) == ["0-1", ""]
    assert {one.resource_class: one.used for one in allocations_by_consumer([owner])[owner]}["PCPU"] == 2


def test_placed_guest_says_where_it_is() -> None:
    numa_host()
    (owner,) = taken_by(select(pinned()))
    found = topology_of_instance(owner)
    assert found is not None and found.numa is not None
    assert found.numa.cells[0].pinning == ((0, 0), (1, 1))
    assert found.numa.cells[0].host_cell == 0


def test_plain_guest_has_no_topology() -> None:
    fleet(1)
    (owner,) = taken_by(select(request()))
    assert topology_of_instance(owner) is None


def test_batch_shares_a_host_without_sharing_cpus() -> None:
    node = numa_host()
    select(pinned(4))
    assert pinned_cpus(node) == ["0-3", "4-7"]


def test_batch_that_does_not_fit_whole_takes_nothing() -> None:
    node = numa_host()
    assert "pinned CPUs" in why(pinned(3, vcpus=3)) or TopologyClaim.objects.count() == 0
    assert pinned_cpus(node) == ["", ""]


def test_cells_short_are_the_reason_with_numbers() -> None:
    numa_host()
    assert "wants 6 pinned CPUs in one NUMA cell, 4 free" in why(pinned(vcpus=6))


def test_freed_claim_leaves_its_cpus_to_others() -> None:
    node = numa_host()
    found = select(pinned())
    claims_free(taken_by(found))
    assert pinned_cpus(node) == ["", ""]
    assert not allocations_by_consumer(taken_by(found))


def test_freeing_twice_frees_once() -> None:
    node = numa_host()
    first, second = select(pinned()), select(pinned())
    claims_free(taken_by(first))
    claims_free(taken_by(first))
    assert pinned_cpus(node) == ["", "4-5"]
    assert topology_of_instance(taken_by(second)[0]) is not None


def test_selection_run_again_claims_once() -> None:
    node = numa_host()
    asked = pinned()
    select(asked)
    select(asked)
    assert pinned_cpus(node) == ["0-1", ""]


def test_device_is_claimed_near_the_guest() -> None:
    numa_host(pci_devices=CARDS)
    (owner,) = taken_by(select(wanting(gpus=1, specs=DEDICATED, vcpus=4)))
    found = topology_of_instance(owner)
    assert found is not None and found.numa is not None
    near = {"0000:81:00.0": 0, "0000:82:00.0": 1}
    assert found.numa.cells[0].host_cell == near[found.pci_devices[0].address]
    assert found.pci_devices[0].alias == "gpu"


def test_device_of_a_guest_without_cells_is_claimed() -> None:
    numa_host(vcpus=4, pci_devices=CARDS)
    found = topology_of_instance(taken_by(select(wanting(gpus=2)))[0])
    assert found is not None
    assert found.numa is None
    assert [each.address for each in found.pci_devices] == ["0000:81:00.0", "0000:82:00.0"]


def test_device_taken_leaves_the_pools() -> None:
    node = numa_host(vcpus=4, pci_devices=CARDS)
    select(wanting(gpus=1))
    node.refresh_from_db()
    assert sum(pool["count"] for pool in node.pci_pools) == 1


def test_third_device_of_two_is_refused_with_numbers() -> None:
    numa_host(vcpus=4, pci_devices=CARDS)
    select(wanting(gpus=2))
    assert "wants 1 PCI device, 0 free (gpu)" in why(wanting(gpus=1))


def test_freed_device_is_available_again() -> None:
    numa_host(vcpus=4, pci_devices=CARDS)
    claims_free(taken_by(select(wanting(gpus=2))))
    assert set(PciDevice.objects.values_list("state", "owner_uuid")) == {("available", None)}


def test_function_of_a_card_makes_the_card_unclaimable() -> None:
    card = device("0000:81:00.0", dev_type="type-PF")
    functions = [device(f"0000:81:00.{at}", dev_type="type-VF", parent_address="0000:81:00.0") for at in (1, 2)]
    numa_host(vcpus=4, pci_devices=(card, *functions))
    select(wanting(gpus=1))
    assert PciDevice.objects.get(address="0000:81:00.0").state == "unclaimable"


def test_device_of_a_running_guest_is_allocated() -> None:
    numa_host(vcpus=4, pci_devices=CARDS[:1])
    devices_allocate(consumer_uuid=taken_by(select(wanting(gpus=1)))[0])
    assert PciDevice.objects.get().state == "allocated"


def test_pages_are_claimed_and_freed() -> None:
    node = numa_host(numa_topology={"cells": [cell(0, "0-7", mempages=[[4, 524288, 0, 0], [2048, 1024, 0, 0]])]})
    found = select(wanting(specs={**DEDICATED, "hw:mem_page_size": "large"}, memory_mib=1024))
    node.refresh_from_db()
    assert node.numa_topology["cells"][0]["mempages"][1] == [2048, 1024, 512, 0]
    claims_free(taken_by(found))
    node.refresh_from_db()
    assert node.numa_topology["cells"][0]["mempages"][1] == [2048, 1024, 0, 0]


def test_host_without_pcpu_pins_on_vcpu() -> None:
    node = numa_host(vcpus=8, dedicated_vcpus=0)
    found = select(pinned())
    assert found.instances[0].selected.resources["VCPU"] == 2
    assert fleet_usage({node.pk})[node.pk]["VCPU"].used == 2
    assert pinned_cpus(node) == ["0-1", ""]


def test_one_look_serves_hosts_with_and_without_pcpu() -> None:
    numa_host("cmp-00")
    numa_host("cmp-01", vcpus=8, dedicated_vcpus=0)
    found = select(pinned(4, vcpus=4))
    classes = {each.selected.host: {"PCPU", "VCPU"} & set(each.selected.resources) for each in found.instances}
    assert classes == {"cmp-00": {"PCPU"}, "cmp-01": {"VCPU"}}


def test_host_with_too_few_pcpu_is_not_asked_for_vcpu() -> None:
    numa_host(vcpus=16, dedicated_vcpus=2)
    assert "PCPU: wants 4, has 2" in why(pinned(vcpus=4))


def test_alternate_is_claimed_with_its_topology() -> None:
    numa_host("cmp-00")
    numa_host("cmp-01")
    found = select(pinned())
    (owner,) = taken_by(found)
    (alternate,) = (selection_from_json(selection_to_json(one)) for one in found.instances[0].alternates)
    claims_free([owner])
    alternate_claim(instance_uuid=owner, selection=alternate, project_id=PROJECT, user_id=USER)
    assert TopologyClaim.objects.get().compute_node.host == alternate.host


def test_alternate_without_room_is_refused_and_claims_nothing() -> None:
    numa_host("cmp-00")
    numa_host("cmp-01")
    found = select(pinned(vcpus=4))
    (owner,) = taken_by(found)
    alternate = found.instances[0].alternates[0]
    claims_free([owner])
    select(pinned(4, vcpus=4))
    with pytest.raises(NoCapacity) as caught:
        alternate_claim(instance_uuid=owner, selection=alternate, project_id=PROJECT, user_id=USER)
    assert caught.value.extra["shortages"][0]["reason"] == "pinned_cpu_short"
    assert topology_of_instance(owner) is None
    assert not allocations_by_consumer([owner])


def test_claim_for_an_instance_that_has_one_is_a_conflict() -> None:
    numa_host("cmp-00")
    numa_host("cmp-01")
    found = select(pinned())
    with pytest.raises(Conflict):
        alternate_claim(
            instance_uuid=taken_by(found)[0],
            selection=found.instances[0].alternates[0],
            project_id=PROJECT,
            user_id=USER,
        )


def test_lost_race_is_a_lost_claim_and_the_next_round_runs() -> None:
    numa_host("cmp-00")
    numa_host("cmp-01")
    with rival("cmp-00", "cmp-01", cells=(2, 1)):
        found = select(pinned(vcpus=4))
    assert found.instances[0].selected.host == "cmp-01"


def test_lost_race_is_kept_with_its_reason_and_numbers() -> None:
    numa_host("cmp-00")
    with rival("cmp-00", cells=(2,)), pytest.raises(NoValidHost) as caught:
        select(pinned(vcpus=4))
    losses = decision_content(decision=SchedulingDecision.objects.get(pk=caught.value.decision_id)).lost_claims
    assert [(one["host"], one["reason"], one["wanted"], one["free"]) for one in losses] == [
        ("cmp-00", "pinned_cpu_short", 4, 0)
    ]


def test_lost_topology_gives_the_allocations_back() -> None:
    node = numa_host()
    with rival("cmp-00", cells=(2,)), pytest.raises(NoValidHost):
        select(pinned(vcpus=4))
    assert fleet_usage({node.pk})[node.pk]["PCPU"].used == 0


def test_lost_allocations_give_the_topology_back() -> None:
    numa_host(disk_gib=0)
    with pytest.raises(NoValidHost):
        select(pinned())
    assert not TopologyClaim.objects.exists()
    assert allocations_claim([]) is None
