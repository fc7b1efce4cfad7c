"""Which state of a volume, snapshot or backup may follow which."""

import pytest

from servers.volumes.domain.states import BackupState, VolumeSnapshotState, VolumeState
from servers.volumes.domain.transitions import (
    BACKUP_TRANSITIONS,
    BUSY,
    DELETABLE,
    SNAPSHOT_DELETABLE,
    SNAPSHOT_TRANSITIONS,
    VOLUME_TRANSITIONS,
    snapshot_states_before,
    volume_states_before,
)

TABLES = [
    (VolumeState, VOLUME_TRANSITIONS),
    (VolumeSnapshotState, SNAPSHOT_TRANSITIONS),
    (BackupState, BACKUP_TRANSITIONS),
]


@pytest.mark.parametrize(("states", "table"), TABLES)
def test_each_state_has_a_row_and_a_way_to_be_deleted(states, table):
    assert set(table) == set(states)
    reached = {states.DELETING}
    while more := {state for state, following in table.items() if following & reached} - reached:
        reached |= more
    assert reached == set(states)


@pytest.mark.parametrize(("states", "table"), TABLES)
def test_each_state_but_the_first_is_reached_from_it(states, table):
    reached = {states.CREATING}
    while more := {after for state in reached for after in table[state]} - reached:
        reached |= more
    assert reached == set(states)


def test_what_may_be_deleted_may_pass_to_deleting():
    assert volume_states_before(VolumeState.DELETING) >= DELETABLE
    assert snapshot_states_before(VolumeSnapshotState.DELETING) >= SNAPSHOT_DELETABLE


def test_what_is_busy_ends_in_a_state_that_is_not():
    for state in BUSY - {VolumeState.DELETING}:
        assert VOLUME_TRANSITIONS[state] - BUSY, state
