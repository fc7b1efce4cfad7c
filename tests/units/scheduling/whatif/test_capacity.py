"""How many more fit, by zone, what binds, and what is left with the largest host lost."""

from dataclasses import replace
from uuid import UUID

import pytest

from computeagent.protocol.topology_json import host_to_dict
from controlplane.kernel.errors import Invalid
from scheduling.engine import HostRow, InventoryRow, PolicyOptions
from scheduling.whatif.domain.capacity import MAX_BY_RUN, ZoneCapacity, capacity
from scheduling.whatif.domain.world import World
from tests.units.scheduling.answer_worlds import world
from tests.units.scheduling.placement_worlds import child, pool, usage
from tests.units.scheduling.topology.numa import topologies
from tests.units.scheduling.worlds import aggregate, flavor, host, policy, request

SMALL = flavor(vcpus=2, memory_mib=1024, root_gib=1)


def room(where: World, *filters: str, **options: int) -> ZoneCapacity:
    rules = replace(policy(*filters), options=PolicyOptions(**options))  # type: ignore[arg-type]
    return capacity(where, request(flavor=SMALL), rules).total


def test_room_is_the_least_of_the_classes_and_that_class_binds() -> None:
    found = room(world(host("a"), host("b", ram=InventoryRow(3072))))
    assert (found.count, found.hosts_with_room) == (8 + 3, 2)
    assert found.limits == {"MEMORY_MB": 1, "VCPU": 1}


def test_binding_class_is_that_of_most_hosts() -> None:
    low = InventoryRow(3072)
    assert room(world(host("a"), host("b", ram=low), host("c", ram=low))).binds == "MEMORY_MB"


def test_used_reserved_and_overcommit_count() -> None:
    where = world(host("a", vcpu=InventoryRow(16, used=10, reserved=2, allocation_ratio=2.0)))
    assert room(where).count == (14 * 2 - 10) // 2


def test_disabled_and_down_hosts_have_no_room_and_say_so() -> None:
    found = room(world(host("a"), host("b", enabled=False), host("c", up=False)), "ComputeFilter")
    assert (found.count, found.limits) == (8, {"VCPU": 1, "disabled": 1, "down": 1})
    assert found.binds == "VCPU"


def test_filter_that_depends_on_the_number_binds_before_room() -> None:
    where = world(host("a", num_instances=3), host("b", num_instances=9))
    found = room(where, "NumInstancesFilter", max_instances_per_host=8)
    assert (found.count, found.binds) == (5, "num_instances")


def test_zones_are_apart_and_hosts_without_one_are_in_the_default() -> None:
    where = world(host("a"), host("b"), host("c"), aggregates=[aggregate("z", "a", availability_zone="az1")])
    found = capacity(where, request(flavor=SMALL), policy())
    assert {zone: one.count for zone, one in found.zones.items()} == {"az1": 8, "nova": 16}
    assert found.total.count == 24


def test_loss_of_the_largest_host_takes_its_room_and_moves_what_it_holds() -> None:
    large = {"VCPU": InventoryRow(32, used=10), "MEMORY_MB": InventoryRow(65536), "DISK_GB": InventoryRow(500)}
    found = room(world(host("a"), host("b"), host("c", inventories=large)))
    assert found.count == 8 + 8 + 11
    assert (
        capacity(world(host("a"), host("c", inventories=large)), request(flavor=SMALL), policy())
        .zones["nova"]
        .largest_host
        == "c"
    )
    assert found.n_plus_1 == 16 - 5


def test_zone_of_one_host_survives_no_loss() -> None:
    assert room(world(host("a"))).n_plus_1 == 0


def test_spare_is_counted_zone_by_zone() -> None:
    where = world(host("a"), host("b"), host("c"), aggregates=[aggregate("z", "a", availability_zone="az1")])
    found = capacity(where, request(flavor=SMALL), policy())
    assert {zone: one.n_plus_1 for zone, one in found.zones.items()} == {"az1": 0, "nova": 8}
    assert found.total.n_plus_1 == 8


def test_piece_that_no_host_gives_has_no_room() -> None:
    found = room(world(host("a", vcpu=InventoryRow(16, max_unit=1))))
    assert (found.count, found.binds) == (0, "amount_not_allowed")


def test_hosts_kept_for_a_tenant_count_for_that_tenant_alone() -> None:
    where = world(host("a"), host("b"), aggregates=[aggregate("t", "a", filter_tenant_id="p1")])
    rules = policy("AggregateMultiTenancyIsolation")
    mine = capacity(where, request(flavor=SMALL, project_id="p1"), rules).total.count
    others = capacity(where, request(flavor=SMALL, project_id="p2"), rules).total.count
    assert (mine, others) == (16, 8)


def test_room_in_children_is_counted_by_placing() -> None:
    plain = world(host("a"), host("b"))
    root = plain.providers[UUID(plain.by_host["a"].uuid)]
    device = child(8, root, VGPU=usage(3))
    where = replace(plain, providers={**plain.providers, device.uuid: device})
    asked = request(flavor=replace(SMALL, extra_specs={"resources1:VGPU": "1"}))
    found = capacity(where, asked, policy()).total
    assert (found.count, found.is_lower_bound) == (3, False)
    assert "VGPU" in found.limits


def test_zone_that_the_cut_off_count_did_not_reach_is_counted_by_itself() -> None:
    """Hosts are filled in the order of their names: of a large fleet the count ends in the first zones."""

    def one_cell(name: str, cpus: int) -> HostRow:
        return host(
            name,
            vcpu=InventoryRow(cpus),
            ram=InventoryRow(10**6),
            disk=InventoryRow(10**4),
            numa_topology=host_to_dict(topologies.host(topologies.cell(cpus=cpus, memory_mib=10**6))),
        )

    many = [one_cell(f"a{number:03}", 4) for number in range(130)]
    few = [one_cell("b", 4), one_cell("c", 1), one_cell("d", 400)]
    zones = [aggregate(one.host, one.host, availability_zone=f"zone-{one.host}") for one in few]
    asked = request(flavor=replace(SMALL, extra_specs={"hw:numa_nodes": "1"}))

    found = capacity(world(*many, *few, aggregates=zones), asked, policy())

    counts = {zone: (one.count, one.is_lower_bound) for zone, one in found.zones.items()}
    assert counts["nova"] == (MAX_BY_RUN, True)
    assert counts["zone-b"] == (2, False)
    assert counts["zone-c"] == (0, False)
    assert found.zones["zone-c"].binds == "VCPU"
    assert counts["zone-d"] == (MAX_BY_RUN // 4, True)
    assert not any(one.is_lower_bound and not one.count for one in found.zones.values())


def test_pool_that_hosts_share_is_counted_once() -> None:
    shared = pool(7, DISK_GB=usage(5))
    diskless = {"VCPU": InventoryRow(16), "MEMORY_MB": InventoryRow(32768)}
    plain = world(host("a", inventories=diskless), host("b", inventories=diskless))
    inside = {uuid: replace(one, aggregates=shared.aggregates) for uuid, one in plain.providers.items()}
    where = replace(plain, providers={**inside, shared.uuid: shared})
    assert room(where).count == 5


def test_no_hosts_have_no_room() -> None:
    found = capacity(world(), request(flavor=SMALL), policy())
    assert (found.total.count, found.zones) == (0, {})


def test_flavor_that_contradicts_itself_raises() -> None:
    both = flavor(extra_specs={"trait:HW_A": "required"})
    asked = request(flavor=both, forbidden_traits=frozenset({"HW_A"}))
    with pytest.raises(Invalid):
        capacity(world(host("a")), asked, policy())
