"""Volumes bind their instance to hosts that reach their pools, and new ones to pools with room; with numbers."""

from dataclasses import replace

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.request.schedule_request import request_from_dict, request_to_dict
from scheduling.domain.request.volume_needs import PoolRoom, VolumeNeed, volumes_refusal
from tests.units.scheduling.worlds import chosen, host, request, run, table, trace_reasons

A, B, SHARED = "CUSTOM_VOLUME_POOL_A", "CUSTOM_VOLUME_POOL_B", "CUSTOM_VOLUME_POOL_S"
DATA = VolumeNeed("volume data", {A: PoolRoom("local of a")})
NEW = VolumeNeed("a new volume of 10 GiB", {A: PoolRoom("local of a", 9), SHARED: PoolRoom("shared", 15)}, 10)


def test_hosts_that_do_not_reach_the_pool_are_refused_by_its_name() -> None:
    hosts = table(host("a", traits=frozenset({A})), host("b", traits=frozenset({B, SHARED})), host("c"))
    trace = run(hosts, replace(request(), volumes=(DATA,)))
    assert chosen(trace) == ["a"]
    assert trace_reasons(trace) == {"b": RefusalReason.VOLUME_UNREACHED, "c": RefusalReason.VOLUME_UNREACHED}
    refusal = volumes_refusal((DATA,), frozenset({B}))
    assert refusal is not None
    assert refusal.sentence() == "does not reach the pool of a volume: local of a (volume data)"


def test_a_pool_without_room_refuses_with_its_numbers() -> None:
    hosts = table(host("a", traits=frozenset({A})), host("s", traits=frozenset({A, SHARED})))
    trace = run(hosts, replace(request(), volumes=(NEW,)))
    assert chosen(trace) == ["s"]
    assert trace_reasons(trace) == {"a": RefusalReason.VOLUME_POOL_SHORT}
    refusal = volumes_refusal((NEW,), frozenset({A}))
    assert refusal is not None
    assert (refusal.wanted, refusal.available) == (10, 9)
    assert refusal.sentence().endswith("its pools have at most 9 GiB (a new volume of 10 GiB, pool local of a)")


def test_volumes_of_one_request_take_the_room_from_each_other() -> None:
    refusal = volumes_refusal((NEW, NEW), frozenset({A, SHARED}))
    assert refusal is not None
    assert (refusal.wanted, refusal.available) == (10, 9)
    assert volumes_refusal((NEW, replace(NEW, gib=5)), frozenset({A, SHARED})) is None


def test_needs_are_stored_with_the_decision() -> None:
    asked = replace(request(), volumes=(DATA, NEW))
    assert request_from_dict(request_to_dict(asked)) == asked
