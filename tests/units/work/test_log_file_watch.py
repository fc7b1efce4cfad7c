"""A database's log file tells that something was written, twice; without one, everything may have changed."""

from pathlib import Path

from controlplane.work.wakeups.log_file_watch import LogFileWatch


def _quiet(path: Path) -> LogFileWatch:
    watch = LogFileWatch(str(path))
    while watch.may_have_changed():
        pass
    return watch


def test_file_that_nobody_writes_has_not_changed(tmp_path: Path) -> None:
    log = tmp_path / "db-wal"
    log.write_bytes(b"frame")
    assert not _quiet(log).may_have_changed()


def test_written_file_is_told_twice_and_then_quiet(tmp_path: Path) -> None:
    log = tmp_path / "db-wal"
    log.write_bytes(b"frame")
    watch = _quiet(log)
    log.write_bytes(b"frame frame")
    assert [watch.may_have_changed() for _ in range(3)] == [True, True, False]


def test_file_that_is_missing_may_always_have_changed(tmp_path: Path) -> None:
    watch = LogFileWatch(str(tmp_path / "none-wal"))
    assert [watch.may_have_changed() for _ in range(3)] == [True, True, True]
