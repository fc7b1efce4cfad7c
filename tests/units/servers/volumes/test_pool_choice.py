"""The choice of a pool: who may have the volume, who comes first, and why not the others, with numbers."""

import uuid
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computeagent.protocol.volumes import PoolAbility
from servers.volumes.domain.errors import NoValidBackend
from servers.volumes.domain.pool_choice import (
    PoolFacts,
    PoolReason,
    PoolRequest,
    pool_refusal,
    pools_choose,
    refusals_words,
)
from servers.volumes.domain.pools import is_of_trait, is_pool_trait, pool_trait

POOL = PoolFacts(
    id=uuid.UUID(int=1),
    name="local",
    kind="file",
    abilities=frozenset({"extend_attached"}),
    capacity_gib=100,
    free_gib=40,
    measured_free_gib=60,
    hosts={"h1": ""},
    up=frozenset({"h1"}),
    zones=frozenset({"nova"}),
)


@pytest.mark.parametrize(
    ("asked", "pool", "reason", "words"),
    [
        ({"pool": "nfs"}, {}, PoolReason.OTHER_POOL, "pool nfs is asked for"),
        ({"pool_id": uuid.UUID(int=2)}, {}, PoolReason.OTHER_SOURCE_POOL, "the pool of what it begins with"),
        ({"pools": ("a", "b"), "type_name": "fast"}, {}, PoolReason.TYPE, "volumes of type fast are in a, b"),
        ({"kinds": ("rbd",), "type_name": "fast"}, {}, PoolReason.KIND, "is file, and volumes of type fast are rbd"),
        ({}, {"is_enabled": False}, PoolReason.DISABLED, "an administrator disabled it"),
        ({"abilities": frozenset({PoolAbility.ENCRYPT})}, {}, PoolReason.ABILITY, "cannot encrypt"),
        ({"host": "h2"}, {}, PoolReason.HOST, "the instance's host does not reach it"),
        ({"host": "h1"}, {"hosts": {"h1": "disk is away"}}, PoolReason.HOST, "the instance's host does not reach it"),
        ({"zone": "z9"}, {}, PoolReason.ZONE, "no host that reaches it is in zone z9"),
        ({}, {"hosts": {}}, PoolReason.UNREACHED, "no host reaches it"),
        ({}, {"hosts": {"h1": "disk is away"}}, PoolReason.PROBLEM, "no host can use it now"),
        ({}, {"up": frozenset()}, PoolReason.DOWN, "every host that reaches it is down"),
        ({}, {"hosts": {"h1": "x", "h2": ""}}, PoolReason.DOWN, "every host that reaches it is down"),
        ({"size_gib": 41}, {}, PoolReason.SPACE, "wants 41 GiB, has 40 of 100 GiB free"),
        ({"size_gib": 9}, {"measured_free_gib": 8}, PoolReason.DISK_SPACE, "its disks have 8 GiB free"),
    ],
)
def test_each_reason_is_said(asked: dict[str, Any], pool: dict[str, Any], reason: PoolReason, words: str) -> None:
    request = PoolRequest(**{"size_gib": 10, **asked})
    refusal = pool_refusal(request, replace(POOL, **pool))
    assert refusal is not None
    assert refusal.reason is reason
    assert words in refusal.words
    assert "h1" not in refusal.words
    assert "h2" not in refusal.words


def test_numbers_of_space_come_with_the_refusal() -> None:
    refusal = pool_refusal(PoolRequest(size_gib=41), POOL)
    assert refusal is not None
    assert (refusal.wanted, refusal.free) == (41, 40)
    thin = replace(POOL, measured_free_gib=5, allocation_ratio=3.0)
    assert pool_refusal(PoolRequest(size_gib=15), thin) is None
    assert pool_refusal(PoolRequest(size_gib=16), thin) is not None


def test_named_by_name_or_id_it_may_have_it() -> None:
    for named in ("local", str(POOL.id)):
        assert pool_refusal(PoolRequest(size_gib=1, pool=named), POOL) is None


def test_shared_comes_first_and_then_the_roomiest() -> None:
    small, large = replace(POOL, id=uuid.UUID(int=2), free_gib=20), replace(POOL, id=uuid.UUID(int=3), free_gib=90)
    shared = replace(POOL, id=uuid.UUID(int=4), name="nfs", is_shared=True, free_gib=15)
    chosen = pools_choose(PoolRequest(size_gib=12), [small, large, shared])
    assert [one.id.int for one in chosen.ranked] == [4, 3, 2]
    assert not chosen.refusals


def test_equal_refusals_are_said_once() -> None:
    pools = [replace(POOL, id=uuid.UUID(int=each), up=frozenset()) for each in range(1, 4)]
    other = replace(POOL, id=uuid.UUID(int=9), name="ceph", is_enabled=False)
    words = refusals_words(pools_choose(PoolRequest(size_gib=1), [*pools, other]).refusals)
    assert words == (
        "No pool can have the volume. local (3 pools): every host that reaches it is down; "
        "ceph: gets no new volumes: an administrator disabled it."
    )
    assert "no host reports one" in refusals_words([])


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"size_gib": 41}, "has less than 41 GiB free"),
        ({"size_gib": 1, "pools": ("ceph",), "type_name": "gold"}, "is for volumes of other types"),
        ({"size_gib": 1, "kinds": ("rbd",), "type_name": "gold"}, "is for volumes of other types"),
        ({"size_gib": 1, "pool": "ceph"}, "is not the one that is asked for"),
        ({"size_gib": 1, "host": "h9"}, "the instance's host does not reach it"),
    ],
)
def test_owners_are_told_no_name_of_a_pool_and_not_what_is_free(asked: dict[str, Any], words: str) -> None:
    def said(*pools: PoolFacts) -> str:
        refusals = pools_choose(PoolRequest(**asked), pools).refusals
        extra = [{"reason": one.reason.value, "words": one.words, "wanted": one.wanted} for one in refusals]
        return NoValidBackend(refusals_words(refusals), pools=extra).for_owner().message

    assert said(POOL) == f"No storage pool can have the volume. 1 pool: {words}."
    assert said(POOL, POOL) == f"No storage pool can have the volume. 2 pools: {words}."


def test_owners_are_told_where_there_is_no_pool() -> None:
    assert NoValidBackend("none", pools=[]).for_owner().message == "No storage pool can have the volume. There is none."


@given(
    st.lists(
        st.builds(
            PoolFacts,
            id=st.uuids(),
            name=st.sampled_from(["a", "b"]),
            kind=st.sampled_from(["file", "rbd"]),
            is_shared=st.booleans(),
            is_enabled=st.booleans(),
            free_gib=st.integers(0, 20),
            measured_free_gib=st.integers(0, 20),
            hosts=st.dictionaries(st.sampled_from(["h1", "h2"]), st.sampled_from(["", "away"])),
            up=st.frozensets(st.sampled_from(["h1", "h2"])),
        )
    ),
    st.integers(1, 20),
    st.sampled_from(["", "h1"]),
)
def test_every_pool_is_chosen_or_refused_and_a_chosen_one_can_have_it(
    pools: list[PoolFacts], size_gib: int, host: str
) -> None:
    chosen = pools_choose(PoolRequest(size_gib=size_gib, host=host), pools)
    assert len(chosen.ranked) + len(chosen.refusals) == len(pools)
    for pool in chosen.ranked:
        assert pool.is_enabled
        assert pool.free_gib >= size_gib
        assert any(not problem and each in pool.up for each, problem in pool.hosts.items())
        assert not host or pool.hosts.get(host) == ""
    assert all(one.words for one in chosen.refusals)


@given(st.uuids(), st.uuids())
def test_trait_of_a_pool_is_its_own(pool: uuid.UUID, other: uuid.UUID) -> None:
    assert is_of_trait(pool, pool_trait(pool))
    assert is_pool_trait(pool_trait(pool))
    assert pool_trait(pool) == f"CUSTOM_VOLUME_POOL_{pool.hex[:12].upper()}"
    assert is_of_trait(other, pool_trait(pool)) is (other.hex[:12] == pool.hex[:12])
