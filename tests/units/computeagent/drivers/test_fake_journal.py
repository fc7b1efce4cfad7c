"""The fake hypervisor's file: what was written is there after a restart, whatever happened to the last line."""

from pathlib import Path

import pytest

from computeagent.drivers import fake_journal
from computeagent.drivers.fake_journal import GuestJournal


def test_restart_finds_the_guests_as_they_were_last(tmp_path: Path) -> None:
    journal = GuestJournal(tmp_path / "guests.json")
    journal.put({"uuid": "a", "power_state": "running"})
    journal.put({"uuid": "b", "power_state": "running"})
    journal.put({"uuid": "a", "power_state": "shutdown"})
    journal.drop("b")
    assert GuestJournal(tmp_path / "guests.json").load() == [{"uuid": "a", "power_state": "shutdown"}]


def test_line_that_was_cut_off_never_happened(tmp_path: Path) -> None:
    path = tmp_path / "guests.json"
    GuestJournal(path).put({"uuid": "a"})
    with path.open("a") as file:
        file.write('{"uuid": "b"')
    again = GuestJournal(path)
    assert again.load() == [{"uuid": "a"}]
    again.put({"uuid": "c"})
    assert GuestJournal(path).load() == [{"uuid": "a"}, {"uuid": "c"}]


def test_file_does_not_grow_with_the_changes(tmp_path: Path) -> None:
    path = tmp_path / "guests.json"
    journal = GuestJournal(path)
    for _ in range(2 * fake_journal.REWRITE_AFTER):
        journal.put({"uuid": "a"})
    assert len(path.read_text().splitlines()) <= fake_journal.REWRITE_AFTER + 5


def test_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "guests.json").write_text('["no guest"]\n')
    with pytest.raises(ValueError, match="not a guest"):
        GuestJournal(tmp_path / "guests.json").load()
