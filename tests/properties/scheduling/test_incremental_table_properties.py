"""A host table that is kept equals the one that is made of the same rows anew, to the code of every interned value."""

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scheduling.decisions.ledger.fleet_columns import same_column, table_to_columns
from scheduling.domain.hosts.host_rows import AggregateRow, HostRow, InventoryRow
from scheduling.domain.hosts.host_table import HostTable
from scheduling.engine.host_table import host_table_from_rows
from scheduling.fleet.cache.incremental_host_table import IncrementalHostTable

HOSTS = 6
few = st.integers(0, 3)
usage = st.builds(
    InventoryRow, total=st.integers(1, 9), used=few, reserved=few, allocation_ratio=st.sampled_from([1.0, 1.5])
)
documents = st.dictionaries(st.sampled_from("ab"), few, max_size=2)
CHANGES: dict[str, st.SearchStrategy[Any]] = {
    "cell_uuid": st.sampled_from(["c1", "c2"]),
    "inventories": st.dictionaries(st.sampled_from(["VCPU", "MEMORY_MB", "DISK_GB", "CUSTOM_A"]), usage),
    "enabled": st.booleans(),
    "up": st.booleans(),
    "status_detail": st.sampled_from(["", "new disks", "last seen 9 s ago"]),
    "disk_available_least_gib": st.none() | few,
    "num_io_ops": few,
    "num_instances": st.none() | few,
    "failed_builds": few,
    "hypervisor_type": st.sampled_from(["QEMU", "test"]),
    "hypervisor_version": few,
    "host_ip": st.sampled_from(["10.0.0.1", "10.0.0.2"]),
    "traits": st.frozensets(st.sampled_from("xyz")),
    "instances": st.frozensets(st.sampled_from(["i1", "i2"])),
    "supported_instances": st.sampled_from([(), (("x86_64", "qemu", "hvm"),)]),
    "cpu_info": documents,
    "stats": documents,
    "metrics": documents,
    "service": st.fixed_dictionaries({"version": few, "forced_down": st.booleans()}),
    "flavor_ids": st.frozensets(st.sampled_from("fg")),
    "trust_level": st.sampled_from(["trusted", "unknown"]),
    "image_properties": st.dictionaries(st.tuples(st.sampled_from("pq"), st.just("v")), few, max_size=2),
    "numa_topology": st.none() | documents,
    "pci_pools": st.lists(documents, max_size=2).map(tuple),
}
change = st.sampled_from(sorted(CHANGES)).flatmap(lambda name: st.tuples(st.just(name), CHANGES[name]))
rows = st.builds(
    lambda changes: [replace(HostRow(f"h{at}", f"n{at}", f"u{at}"), **dict(some)) for at, some in enumerate(changes)],
    st.lists(st.lists(change, max_size=6), min_size=HOSTS, max_size=HOSTS),
)
steps = st.lists(
    st.dictionaries(st.integers(0, HOSTS - 1), st.lists(change, min_size=1, max_size=4), max_size=3), max_size=5
)
aggregates = st.lists(
    st.builds(
        lambda name, hosts, zone: AggregateRow(name, name, hosts, {"availability_zone": zone} if zone else {}),
        st.sampled_from("klm"),
        st.frozensets(st.sampled_from([f"h{at}" for at in range(HOSTS)])),
        st.sampled_from(["", "az1"]),
    ),
    max_size=3,
    unique_by=lambda each: each.name,
)


def differing(one: HostTable, other: HostTable) -> list[str]:
    """Names of columns that differ, indexes included."""
    mine, others = table_to_columns(one), table_to_columns(other)
    found = [name for name in sorted({*mine, *others}) if not same_column(mine.get(name), others.get(name))]
    indexes = ("rows_by_instance", "rows_by_host", "rows_by_node", "row_by_uuid", "placed")
    return found + [name for name in indexes if getattr(one, name) != getattr(other, name)]


@given(rows, steps, aggregates, aggregates)
def test_kept_table_equals_a_table_made_anew(
    begin: list[HostRow],
    changes: list[dict[int, list[tuple[str, Any]]]],
    before: list[AggregateRow],
    after: list[AggregateRow],
) -> None:
    incremental = IncrementalHostTable(begin, before)
    for step in changes:
        incremental.put({at: replace(incremental.rows[at], **dict(some)) for at, some in step.items()})
        assert differing(incremental.table, host_table_from_rows(incremental.rows, before)) == []
    incremental.put_aggregates(after)
    assert differing(incremental.table, host_table_from_rows(incremental.rows, after)) == []


@given(rows, st.lists(change, min_size=1))
def test_table_handed_out_before_stays_as_it_was(begin: list[HostRow], some: list[tuple[str, Any]]) -> None:
    incremental = IncrementalHostTable(begin, ())
    held, same = incremental.table, host_table_from_rows(begin)
    incremental.put({2: replace(incremental.rows[2], **dict(some))})
    assert differing(held, same) == []


def test_unchanged_columns_are_shared() -> None:
    incremental = IncrementalHostTable([HostRow("h", "n", "u", inventories={"VCPU": InventoryRow(4)})], ())
    before = incremental.table
    incremental.put({0: replace(incremental.rows[0], inventories={"VCPU": InventoryRow(4, used=1)})})
    assert incremental.table.trait_sets is before.trait_sets
    assert incremental.table.inventories["VCPU"].total is before.inventories["VCPU"].total
    assert np.array_equal(incremental.table.vcpus_used, [1])
