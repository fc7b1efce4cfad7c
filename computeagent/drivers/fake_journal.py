"""The file in which a fake hypervisor keeps its guests over a restart: one line for each change, whole or not there.

Rewriting all guests at every change would cost a host of a thousand guests more than the change itself.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

REWRITE_AFTER = 1000
"""Lines beyond four for each guest after which the file is written anew."""


class GuestJournal:
    """Guests by uuid, as JSON objects that have it as `uuid`. Calls may raise OSError; one caller at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._guests: dict[str, dict[str, Any]] = {}
        self._lines = 0

    def load(self) -> list[dict[str, Any]]:
        """All guests. A last line that was cut off never happened. Raises ValueError for other nonsense."""
        if not self._path.exists():
            return []
        whole, _, _ = self._path.read_bytes().rpartition(b"\n")
        for line in whole.splitlines():
            self._apply(json.loads(line))
        self._rewrite()
        return list(self._guests.values())

    def put(self, guest: Mapping[str, Any]) -> None:
        """The guest is so now."""
        self._write(dict(guest))

    def drop(self, guest_uuid: str) -> None:
        """The guest is gone."""
        self._write({"uuid": guest_uuid, "is_gone": True})

    def _write(self, change: dict[str, Any]) -> None:
        self._apply(change)
        if not self._lines or self._lines > 4 * len(self._guests) + REWRITE_AFTER:
            self._rewrite()
            return
        lines, self._lines = self._lines, 0  # half a line, where this fails, is written over by the next change
        with self._path.open("a") as file:
            file.write(json.dumps(change) + "\n")
        self._lines = lines + 1

    def _apply(self, change: dict[str, Any]) -> None:
        if not isinstance(change, dict):
            raise ValueError(f"not a guest: {change!r:.100}")
        if change.get("is_gone"):
            self._guests.pop(change["uuid"], None)
        else:
            self._guests[change["uuid"]] = change

    def _rewrite(self) -> None:
        """The rename makes the file whole whenever the process dies."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        part = self._path.with_suffix(f".{os.getpid()}.part")
        part.write_text("".join(json.dumps(guest) + "\n" for guest in self._guests.values()))
        part.replace(self._path)
        self._lines = max(1, len(self._guests))
