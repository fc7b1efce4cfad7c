"""What stands in the way of removing a host, as values."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servers.hosts.domain.removal import (
    HostContents,
    InstanceLeft,
    RemovalReason,
    left_behind,
    removal_obstacles,
    removal_refused,
)

IDLE = HostContents("h1", is_up=False, is_disabled=False, is_forced_down=False)
contents = st.builds(
    HostContents,
    host=st.just("h1"),
    is_up=st.booleans(),
    is_disabled=st.booleans(),
    is_forced_down=st.booleans(),
    instances=st.lists(st.builds(InstanceLeft, st.uuids(), st.text(max_size=3)), max_size=7).map(tuple),
    work=st.dictionaries(st.sampled_from(["build", "stop"]), st.integers(1, 9)),
    consumers=st.lists(st.uuids(), max_size=7).map(tuple),
)


@given(contents, st.booleans())
def test_nothing_in_the_way_means_nothing_is_lost_unless_it_was_declared_dead(one: HostContents, force: bool) -> None:
    obstacles = removal_obstacles(one, force=force)
    if not obstacles:
        assert not one.consumers
        assert one.is_forced_down if force else not (one.instances or one.work or (one.is_up and not one.is_disabled))
    refused = removal_refused("h1", obstacles)
    assert set(refused.reasons) == {each.reason for each in obstacles}
    assert all(each.message in refused.message and len(each.names) <= 5 for each in obstacles)


@pytest.mark.parametrize(
    ("is_up", "is_disabled", "reasons"),
    [(False, False, []), (True, True, []), (True, False, [RemovalReason.TAKES_INSTANCES])],
)
def test_only_a_host_that_takes_instances_has_to_be_taken_out_first(
    is_up: bool, is_disabled: bool, reasons: list[RemovalReason]
) -> None:
    one = HostContents("h1", is_up=is_up, is_disabled=is_disabled, is_forced_down=False)
    assert [each.reason for each in removal_obstacles(one, force=False)] == reasons


def test_sentences_have_the_numbers() -> None:
    several = tuple(InstanceLeft(uuid.uuid4(), f"web-{number}") for number in range(6))
    one = HostContents("h1", False, True, True, several, {"build": 1, "stop": 2}, (uuid.uuid4(),))
    said = [each.message for each in removal_obstacles(one, force=False)]
    assert said[:2] == [
        "6 instances are on it (web-0, web-1, web-2, web-3, web-4, ...).",
        "3 pieces of work are under way (build 1, stop 2).",
    ]
    assert said[2].startswith("1 consumer of Placement holds some of it and is none of its instances")
    instances, work = left_behind(one)
    assert instances.startswith("6 instances stay in the database without a host that runs them, and their allocations")
    assert work == "3 pieces of work end as failed; deletions are completed."
    assert left_behind(IDLE) == ()
