"""Edits of a fleet that are only imagined."""

from dataclasses import replace
from uuid import UUID

import pytest

from controlplane.kernel.errors import Invalid
from scheduling.domain.trace.trace import Outcome
from scheduling.engine import InventoryRow, Trace
from scheduling.whatif.domain.edits import AggregateEdit, FleetEdits, FreedEdit, HostAddEdit, RatioEdit, world_edited
from scheduling.whatif.domain.world import World, world_run
from tests.units.scheduling.answer_worlds import SPACE, world
from tests.units.scheduling.placement_worlds import child, pool, usage
from tests.units.scheduling.worlds import aggregate, chosen, flavor, host, policy, request, trace_reasons

FULL = InventoryRow(16, used=16)


def run(where: World, edits: FleetEdits, **asked: object) -> Trace:
    return world_run(world_edited(where, edits), request(**asked), policy("ComputeFilter"))  # type: ignore[arg-type]


def test_world_is_left_as_it_was() -> None:
    where = world(host("a"))
    world_edited(where, FleetEdits(hosts_disabled=("a",), hosts_added=(HostAddEdit("a"),)))
    assert [row.enabled for row in where.rows] == [True]
    assert len(where.providers) == 1


def test_no_edit_gives_the_same_world() -> None:
    where = world(host("a"))
    assert world_edited(where, FleetEdits()) is where


def test_enabled_host_takes_instances_and_loses_placement_s_mark() -> None:
    where = world(host("a", enabled=False, traits=frozenset({"COMPUTE_STATUS_DISABLED"})))
    assert run(where, FleetEdits()).outcome is Outcome.NO_VALID_HOST
    assert chosen(run(where, FleetEdits(hosts_enabled=("a",)))) == ["a"]


def test_disabled_host_says_that_it_is_for_the_trial() -> None:
    trace = run(world(host("a")), FleetEdits(hosts_disabled=("a",)))
    refusal = trace.refusal_of(0)
    assert refusal is not None
    assert (refusal.reason.value, refusal.detail) == ("disabled", "disabled for the trial")


def test_host_that_is_brought_up_takes_instances() -> None:
    where = world(host("a", up=False))
    assert chosen(run(where, FleetEdits(hosts_up=("a",)))) == ["a"]


def test_ratio_of_named_hosts_leaves_the_others_alone() -> None:
    where = world(host("a", vcpu=FULL), host("b", vcpu=FULL))
    trace = run(where, FleetEdits(allocation_ratios=(RatioEdit("VCPU", 1.5, ("b",)),)))
    assert chosen(trace) == ["b"]
    assert [reason.value for reason in trace_reasons(trace).values()] == ["vcpu_short"]


def test_ratio_without_hosts_is_everybodys() -> None:
    where = world(host("a", vcpu=FULL), host("b", vcpu=FULL))
    edits = FleetEdits(allocation_ratios=(RatioEdit("VCPU", 1.5),))
    assert run(where, edits).reason_counts() == {}


def test_freed_room_can_be_taken() -> None:
    edits = FleetEdits(freed=(FreedEdit("a", "VCPU", 2),))
    assert chosen(run(world(host("a", vcpu=FULL)), edits)) == ["a"]


def test_added_host_is_empty_enabled_and_in_the_same_aggregates() -> None:
    where = world(host("a", vcpu=FULL, enabled=False), aggregates=[aggregate("z", "a", availability_zone="az1")])
    edits = FleetEdits(hosts_added=(HostAddEdit("a", 2),))
    assert chosen(run(where, edits, count=2, availability_zone="az1")) == ["a+1", "a+2"]


def test_added_host_brings_its_children_and_the_pool_that_it_shares() -> None:
    plain = world(host("a"))
    root = next(iter(plain.providers.values()))
    shared = pool(7, DISK_GB=usage(1000))
    device = child(8, root, VGPU=usage(1, 1))
    inside = replace(root, aggregates=shared.aggregates)
    where = replace(plain, providers={root.uuid: inside, device.uuid: device, shared.uuid: shared})
    specs = {"resources1:VGPU": "1"}
    trace = run(where, FleetEdits(hosts_added=(HostAddEdit("a"),)), specs=specs)
    assert chosen(trace) == ["a+1"]
    assert len(trace.selections[0].selected.allocations) >= 2


def test_removed_host_is_gone_with_its_children() -> None:
    plain = world(host("a"), host("b"))
    root = plain.providers[UUID(plain.by_host["a"].uuid)]
    where = replace(plain, providers={**plain.providers, UUID(int=8): child(8, root, VGPU=usage(1))})
    edited = world_edited(where, FleetEdits(hosts_removed=("a",)))
    assert [row.host for row in edited.rows] == ["b"]
    assert len(edited.providers) == 1


def test_aggregate_edit_moves_hosts_merges_metadata_and_is_mirrored_in_placement() -> None:
    where = world(host("a"), host("b"), aggregates=[aggregate("z", "a", availability_zone="az1", old="1")])
    edit = AggregateEdit("z", {"old": None, "ssd": "true"}, hosts_added=("b",), hosts_removed=("a",))
    edited = world_edited(where, FleetEdits(aggregates=(edit,)))
    (one,) = edited.aggregates
    assert (one.hosts, dict(one.metadata)) == (frozenset({"b"}), {"availability_zone": "az1", "ssd": "true"})
    inside = {row.host: edited.providers[UUID(row.uuid)].aggregates for row in edited.rows}
    assert inside == {"a": frozenset(), "b": frozenset({UUID(one.uuid)})}


@pytest.mark.parametrize(
    ("edits", "field"),
    [
        (FleetEdits(hosts_enabled=("x",)), "hosts_enabled"),
        (FleetEdits(hosts_removed=("x",)), "hosts_removed"),
        (FleetEdits(hosts_added=(HostAddEdit("x"),)), "hosts_added"),
        (FleetEdits(hosts_added=(HostAddEdit("a", 0),)), "hosts_added"),
        (FleetEdits(freed=(FreedEdit("a", "VGPU", 1),)), "freed"),
        (FleetEdits(allocation_ratios=(RatioEdit("VCPU", 2.0, ("x",)),)), "allocation_ratios"),
        (FleetEdits(aggregates=(AggregateEdit("x"),)), "aggregates"),
    ],
)
def test_what_is_not_there_is_refused_by_field(edits: FleetEdits, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        world_edited(world(host("a")), edits)
    assert caught.value.field == field


def test_host_alone_is_told_the_same_as_among_others() -> None:
    where = world(host("a", vcpu=FULL), host("b"), host("c", enabled=False))
    asked = request(flavor=flavor(vcpus=3))
    among = world_run(where, asked, policy())
    for row in where.rows:
        alone = world_run(where.only({row.host}), asked, policy())
        assert alone.refusal_of(0) == among.refusal_of(where.table.row_by_uuid[row.uuid])


def test_uuids_of_copies_are_always_the_same() -> None:
    where, edits = world(host("a")), FleetEdits(hosts_added=(HostAddEdit("a"),))
    assert world_edited(where, edits).rows == world_edited(where, edits).rows
    assert SPACE not in world_edited(where, edits).providers
