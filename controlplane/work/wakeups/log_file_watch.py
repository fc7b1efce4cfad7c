"""Whether an SQLite database in WAL mode was written to, told by its log file's times and size alone."""

import os


class LogFileWatch:
    """Each commit writes to the log file. Where there is none (other modes, databases in memory), all may change."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen: tuple[int, int] | None = None
        self._again = False

    def may_have_changed(self) -> bool:
        """Since the last call, or shortly before it: a commit is in the file a moment before others can read it,
        and the file's time stands still for some milliseconds. So every change is told twice.
        """
        now = self._signature()
        is_new = now is None or now != self._seen
        has_changed = is_new or self._again
        self._seen, self._again = now, is_new
        return has_changed

    def _signature(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size
