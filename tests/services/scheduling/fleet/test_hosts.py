"""Registration, heartbeat, removal."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from computeagent.protocol.hosts import GuestCpuReport, GuestMachines
from controlplane.kernel.errors import Conflict, Invalid, NotFound
from placement.domain import Claim, InventorySpec, TraitOwner
from placement.selectors import fleet_usage, provider_traits_by_uuid
from placement.services import allocations_claim, inventory_put, provider_traits_set
from scheduling.fleet.domain.cells import CELL1_ID
from scheduling.fleet.selectors.hosts import host_get
from scheduling.fleet.selectors.liveness import HostStatus, host_is_up, hosts_liveness, hosts_of_status
from scheduling.fleet.services.heartbeats import service_heartbeat
from scheduling.fleet.services.hosts import host_delete, host_register
from scheduling.fleet.services.service_states import service_disable, service_force_down
from scheduling.models import Cell, ComputeNode, HostMapping, Service
from tests.services.scheduling.fleet.fleet_world import PROJECT, USER, fleet, report

pytestmark = pytest.mark.django_db


def node_of(host: str) -> ComputeNode:
    return ComputeNode.objects.get(host=host)


def test_migrated_database_has_cell0_and_cell1() -> None:
    assert set(Cell.objects.values_list("name", flat=True)) == {"cell0", "cell1"}


def test_new_host_is_mapped_to_cell1() -> None:
    host_register(host="cmp-1", report=report())
    assert HostMapping.objects.get(host="cmp-1").cell_id == CELL1_ID


def test_new_host_is_up_and_has_inventory_with_nova_ratios() -> None:
    answer = host_register(host="cmp-1", report=report())
    usage = fleet_usage()[node_of("cmp-1").id]
    assert host_is_up(host="cmp-1")
    assert answer.compute_node_uuid == str(node_of("cmp-1").id)
    assert (usage["VCPU"].capacity, usage["MEMORY_MB"].capacity, usage["DISK_GB"].capacity) == (16, 4096, 100)
    assert usage["VCPU"].max_unit == 4


def test_reserved_memory_above_total_leaves_nothing() -> None:
    host_register(host="cmp-1", report=report(memory_mib=256))
    assert fleet_usage()[node_of("cmp-1").id]["MEMORY_MB"].capacity == 0


def test_host_without_disk_has_no_disk_inventory() -> None:
    host_register(host="cmp-1", report=report(disk_gib=0))
    assert set(fleet_usage()[node_of("cmp-1").id]) == {"VCPU", "MEMORY_MB"}


def test_virtual_gpus_are_offered_without_overcommit_until_the_host_has_none() -> None:
    host_register(host="cmp-1", report=report(vgpus=4))
    offered = fleet_usage()[node_of("cmp-1").id]["VGPU"].spec
    assert (offered.total, offered.max_unit, offered.allocation_ratio) == (4, 4, 1.0)

    host_register(host="cmp-1", report=report(vgpus=0))
    assert "VGPU" not in fleet_usage()[node_of("cmp-1").id]


def test_host_that_says_nothing_of_virtual_gpus_leaves_those_of_others() -> None:
    host_register(host="cmp-1", report=report())
    inventory_put(node_of("cmp-1").id, "VGPU", InventorySpec(total=3))

    host_register(host="cmp-1", report=report(vcpus=8))
    assert fleet_usage()[node_of("cmp-1").id]["VGPU"].spec.total == 3


@pytest.mark.parametrize("machines", [(), (GuestMachines(("pc", "q35"), ("sata",)),)])
def test_registering_again_changes_nothing_but_the_heartbeat(machines: tuple[GuestMachines, ...]) -> None:
    cpu = GuestCpuReport("custom", ("Nehalem",), ("+aes",))
    host_register(host="cmp-1", report=report(machines=machines, guest_cpu=cpu))
    before = ComputeNode.objects.values().get()
    with CaptureQueriesContext(
        connection,
    ) as seen:
        host_register(host="cmp-1", report=report(machines=machines, guest_cpu=cpu))
    writes = [query["sql"] for query in seen if query["sql"].startswith(("UPDATE", "INSERT", "DELETE"))]
    assert ComputeNode.objects.values().get() == before
    assert len(writes) == 1
    assert "scheduling_service" in writes[0]


def test_changed_report_changes_node_and_inventory() -> None:
    host_register(host="cmp-1", report=report())
    host_register(host="cmp-1", report=report(vcpus=8, running_guests=3))
    assert (node_of("cmp-1").vcpus, node_of("cmp-1").running_guests) == (8, 3)
    assert fleet_usage()[node_of("cmp-1").id]["VCPU"].total == 8


def test_ratio_set_by_an_operator_survives_a_report() -> None:
    host_register(host="cmp-1", report=report())
    inventory_put(node_of("cmp-1").id, "VCPU", InventorySpec(total=4, max_unit=4, allocation_ratio=1.5))
    host_register(host="cmp-1", report=report(vcpus=8))
    assert fleet_usage()[node_of("cmp-1").id]["VCPU"].allocation_ratio == 1.5


def test_custom_class_of_an_operator_survives_a_report() -> None:
    host_register(host="cmp-1", report=report())
    inventory_put(node_of("cmp-1").id, "CUSTOM_GPU", InventorySpec(total=2))
    host_register(host="cmp-1", report=report(vcpus=8))
    assert fleet_usage()[node_of("cmp-1").id]["CUSTOM_GPU"].total == 2


def test_trait_of_an_operator_survives_a_report() -> None:
    host_register(host="cmp-1", report=report())
    provider_traits_set(node_of("cmp-1").id, {"CUSTOM_GOLD"}, owner=TraitOwner.OPERATOR)
    host_register(host="cmp-1", report=report(traits=("COMPUTE_NODE",)))
    assert provider_traits_by_uuid()[node_of("cmp-1").id] == {"CUSTOM_GOLD", "COMPUTE_NODE"}


def test_hypervisor_that_changes_its_name_is_refused_with_both_names() -> None:
    host_register(host="cmp-1", report=report("old"))
    with pytest.raises(Conflict, match="Host cmp-1 has the hypervisor old, and this agent reports new"):
        host_register(host="cmp-1", report=report("new"))
    assert node_of("cmp-1").hypervisor_hostname == "old"


def test_host_whose_name_differs_in_capitals_alone_is_refused_and_told_the_other() -> None:
    host_register(host="HV-1", report=report("one"))
    with pytest.raises(Conflict, match="There is a host HV-1 already: hv-1 differs") as refused:
        host_register(host="hv-1", report=report("two"))
    assert refused.value.extra["host"] == "HV-1"
    assert not Service.objects.filter(host="hv-1").exists()
    host_register(host="HV-1", report=report("one"))


def test_database_itself_has_no_two_names_that_differ_in_capitals_alone() -> None:
    host_register(host="HV-1", report=report("one"))
    for row in (Service(host="hv-1"), HostMapping(host="hv-1", cell_id=CELL1_ID)):
        with pytest.raises(IntegrityError), transaction.atomic():
            row.save()
    Service.objects.create(host="hv-1", binary="nova-conductor")


def test_name_of_a_mapping_alone_is_taken_too() -> None:
    host_register(host="HV-1", report=report("one"))
    Service.objects.filter(host="HV-1").delete()
    with pytest.raises(Conflict, match="There is a host HV-1 already: hv-1 differs"):
        host_register(host="hv-1", report=report("two"))


def test_hypervisor_of_another_host_is_refused() -> None:
    host_register(host="cmp-1", report=report("node"))
    with pytest.raises(Conflict, match="belongs to host cmp-1"):
        host_register(host="cmp-2", report=report("node"))
    assert not Service.objects.filter(host="cmp-2").exists()


@pytest.mark.parametrize(
    ("host", "changes", "field"),
    [
        ("", {}, "host"),
        ("zone:host", {}, "host"),
        ("h" * 256, {}, "host"),
        ("cmp-1", {"vcpus": -1}, "vcpus"),
        ("cmp-1", {"memory_mib": 0}, "vcpus"),
    ],
)
def test_bad_report_is_refused_with_its_field(host: str, changes: dict[str, int], field: str) -> None:
    with pytest.raises(Invalid) as caught:
        host_register(host=host, report=report(**changes))
    assert caught.value.field == field
    assert not Service.objects.exists()


def test_heartbeat_of_an_unknown_host_is_not_found() -> None:
    with pytest.raises(NotFound):
        service_heartbeat(host="cmp-1")


def test_silent_host_is_down_until_its_heartbeat() -> None:
    host_register(host="cmp-1", report=report())
    Service.objects.update(last_seen_up=F("last_seen_up") - timedelta(seconds=120))
    assert not host_is_up(host="cmp-1")
    service_heartbeat(host="cmp-1")
    assert host_is_up(host="cmp-1")


def test_forced_down_host_is_down_whatever_it_says() -> None:
    host_register(host="cmp-1", report=report())
    service_force_down(host="cmp-1", forced_down=True)
    service_heartbeat(host="cmp-1")
    assert host_get(host="cmp-1").state == "down"


def test_disabled_host_carries_the_status_trait_and_its_reason() -> None:
    host_register(host="cmp-1", report=report())
    service_disable(host="cmp-1", reason="new disks")
    answer = host_register(host="cmp-1", report=report())
    assert (answer.disabled, answer.disabled_reason) == (True, "new disks")
    assert "COMPUTE_STATUS_DISABLED" in provider_traits_by_uuid()[node_of("cmp-1").id]


def test_host_with_allocations_is_not_deleted() -> None:
    host_register(host="cmp-1", report=report())
    node = node_of("cmp-1").id
    allocations_claim([Claim(PROJECT, PROJECT, USER, {node: {"VCPU": 1}})])
    with pytest.raises(Conflict):
        host_delete(host="cmp-1")
    assert Service.objects.filter(host="cmp-1").exists()


def test_deleted_host_leaves_nothing() -> None:
    host_register(host="cmp-1", report=report())
    host_delete(host="cmp-1")
    left = [model.objects.count() for model in (Service, ComputeNode, HostMapping)]
    assert (left, fleet_usage()) == ([0, 0, 0], {})


def test_status_of_a_host_is_the_one_by_which_it_is_found() -> None:
    """Whatever else is so of its service: forced down goes before disabled, and both before whether it reports."""
    hosts, long_ago = fleet(8), F("last_seen_up") - timedelta(days=1)
    for number, host in enumerate(hosts):
        seen = {"last_seen_up": long_ago} if number & 1 else {}
        Service.objects.filter(host=host).update(disabled=bool(number & 2), forced_down=bool(number & 4), **seen)
    told = [hosts_liveness(hosts)[host].status for host in hosts]
    assert told == [
        *(HostStatus.UP, HostStatus.UNKNOWN, HostStatus.MAINTENANCE, HostStatus.MAINTENANCE),
        *(HostStatus.DOWN, HostStatus.DOWN, HostStatus.DOWN, HostStatus.DOWN),
    ]
    assert {status: set(hosts_of_status(status)) for status in HostStatus} == {
        status: {host for host, one in zip(hosts, told, strict=True) if one is status} for status in HostStatus
    }
