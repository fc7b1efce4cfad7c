from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from scheduling.domain.hosts.host_details import HostDetails, HostInstance
from scheduling.domain.hosts.host_state import HostState
from scheduling.engine import InventoryRow
from tests.units.scheduling.worlds import aggregate, flavor, host, table

NOVA_NAMES = {
    "host", "nodename", "uuid", "cell_uuid", "free_ram_mb", "total_usable_ram_mb", "free_disk_mb", "disk_mb_used",
    "total_usable_disk_gb", "vcpus_total", "vcpus_used", "ram_allocation_ratio", "cpu_allocation_ratio",
    "disk_allocation_ratio", "num_instances", "num_io_ops", "failed_builds", "hypervisor_type", "hypervisor_version",
    "hypervisor_hostname", "host_ip", "aggregates", "instances", "limits", "cpu_info", "supported_instances", "stats",
    "metrics", "service", "pci_stats", "numa_topology", "updated",
}  # fmt: skip


def test_host_state_has_nova_s_names() -> None:
    state = HostState(table(host("a")), 0)
    assert {name for name in NOVA_NAMES if not hasattr(state, name)} == set()


class Details(HostDetails):
    """Counts how often it is asked."""

    asked = 0

    def instances_on(self, host: str) -> dict[str, HostInstance]:
        self.asked += 1
        return {"i1": HostInstance("i1", host=host, vm_state="active", vcpus=2)} if host == "a" else {}

    def updated(self, node_uuid: str) -> datetime:
        self.asked += 1
        return datetime(2026, 1, 1, tzinfo=UTC)


def test_instances_and_time_of_the_report_are_read_when_they_are_looked_at() -> None:
    details = Details()
    seen = replace(table(host("a"), host("b")), details=details)
    after = seen.consume(0, flavor=flavor(), amounts={}, instance_uuid="new")
    one, other = HostState(after, 0), HostState(after, 1)
    assert details.asked == 0
    assert {uuid: (each.vm_state, each.vcpus, each.host) for uuid, each in one.instances.items()} == {
        "i1": ("active", 2, "a"),
        "new": ("building", 0, "a"),
    }
    assert (other.instances, other.updated) == ({}, datetime(2026, 1, 1, tzinfo=UTC))
    assert (details.asked, len(one.instances)) == (3, 2)


def test_of_a_fleet_that_was_stored_only_named_instances_are_known() -> None:
    state = HostState(table(host("a", instances=frozenset({"i1"}))), 0)
    assert (list(state.instances), state.instances["i1"].flavor.name, state.updated) == (["i1"], "", None)


def test_host_state_shows_its_row() -> None:
    row = host(
        "a",
        vcpu=InventoryRow(16, used=3, allocation_ratio=4.0),
        ram=InventoryRow(8192, used=1000, reserved=512),
        instances=frozenset({"i1"}),
        supported_instances=(("x86_64", "qemu", "hvm"),),
        service={"disabled_reason": None},
    )
    state = HostState(table(row, aggregates=(aggregate("x", "a", k="v"), aggregate("y", "b"))), 0)
    assert (state.vcpus_total, state.vcpus_used, state.cpu_allocation_ratio) == (16, 3, 4.0)
    assert (state.free_ram_mb, state.total_usable_ram_mb) == (6680, 8192)
    assert (list(state.instances), state.num_instances) == (["i1"], 1)
    assert state.supported_instances == [["x86_64", "qemu", "hvm"]]
    assert [each.name for each in state.aggregates] == ["x"]
    assert state.service == {"host": "a", "disabled": False, "disabled_reason": None}


def test_consume_gives_a_new_table_and_leaves_the_old() -> None:
    before = table(host("a"), host("b"))
    after = before.consume(
        1, flavor=flavor(), amounts={"VCPU": 2, "MEMORY_MB": 2048, "DISK_GB": 10}, instance_uuid="new"
    )
    state = HostState(after, 1)
    assert (state.free_ram_mb, state.free_disk_mb, state.vcpus_used) == (30720, 490 * 1024, 2)
    assert (state.num_instances, state.num_io_ops, set(state.instances)) == (1, 1, {"new"})
    assert after.inventory("VCPU").free.tolist() == [16, 14]
    assert before.inventory("VCPU").free.tolist() == [16, 16]
    assert before.instances_on(1) == frozenset()


def test_columns_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        table(host("a")).free_ram_mb[0] = 0


def test_several_nodes_of_one_host_are_rows_of_their_own() -> None:
    fleet = table(host("a", nodename="n2", uuid="2"), host("a", nodename="n1", uuid="1"), host("b"))
    assert (fleet.nodes, fleet.rows_of_hosts(["A"]).tolist()) == (("n1", "n2", "b.lab"), [0, 1])


def test_counts_of_instances_count_those_of_this_run_once() -> None:
    fleet = table(host("a", instances=frozenset({"i1", "i2"})), host("b"))
    fleet = fleet.consume(1, flavor=flavor(), amounts={}, instance_uuid="i3")
    assert fleet.counts_of_instances(("i1", "i2", "i3", "gone")).tolist() == [2, 1]
    assert fleet.rows_of_instances(("i3", "i2")).tolist() == [0, 1]


def test_host_without_an_inventory_class_has_none_of_it() -> None:
    fleet = table(host("a", inventories={}), host("b"))
    assert np.array_equal(fleet.inventory("VCPU").free, [0, 16])
    assert np.array_equal(fleet.inventory("CUSTOM_X").free, [0, 0])
