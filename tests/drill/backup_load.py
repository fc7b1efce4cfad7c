"""The share of backups of volumes in the mixed load: made, full ones and increments, restored, and deleted."""

import os
import random
import threading
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.drill.asking import Ask, listed
from tests.drill.names import RESTORED, VOLUME
from tests.fixtures.patience import eventually

BACKUPS = "volume-backups/?page_size=200"
VOLUMES = "volumes/?page_size=200"
SNAPSHOTS = "volume-snapshots/?page_size=200"
NAME = "drill"
MAX_BACKUPS, MAX_RESTORED = 5, 2
INCREMENTAL, KEEPS_SNAPSHOT = 0.6, 0.8
BY_BYTES = 0.3
"""Of so many increments somebody deletes the snapshots before: bytes tell what changed."""
FULL_AFTER = 2
TRIES = 20
BLOCK_BYTES = 8192
WRITTEN_GIB = 1
"""Each volume is at least as large."""
RACED = (400, 404)
"""Right for what somebody else takes away meanwhile, and for a volume that is smaller than another one by now."""


class BackupLoad:
    """Steps side by side with the load of volumes. Refusals by the state of things (409) are right.

    `pools`: the directories in which volumes are files; nobody attaches or changes a volume that was restored.
    """

    def __init__(self, ask: Ask, rng: random.Random) -> None:
        self._ask, self._rng = ask, rng
        self._lock = threading.Lock()
        self.pools: Sequence[Path] = ()
        self.promised: set[str] = set()
        """Backups that the API accepted, and nobody asked to take away."""
        self.known: set[str] = set()
        """All that it ever accepted."""

    def make(self) -> None:
        """A volume is written to, and backed up: whole, or what changed. Where there are many, one goes for it."""
        there = self._room_made()
        # One that has a backup already comes first: only then there is something that changed since.
        volume = self._written({one["volume_id"] for one in there})
        if volume:
            is_incremental, keeps = self._rng.random() < INCREMENTAL, self._rng.random() < KEEPS_SNAPSHOT
            if is_incremental and self._rng.random() < BY_BYTES:
                self._snapshots_delete(volume)
            self.of_volume(volume, is_incremental=is_incremental, keeps_snapshot=keeps)

    def make_by_bytes(self) -> None:
        """What changed in a volume of which no snapshot is left that could tell. Tried until it is accepted, for all
        others of a burst want volumes as well, or often enough.
        """
        self._room_made()
        tries = iter(range(TRIES))
        eventually(lambda: self._by_bytes() or next(tries, None) is None)

    def _by_bytes(self) -> bool:
        """Whether it was accepted, or nobody answers. Where no volume has a backup yet, one is made first."""
        answered = self._ask(BACKUPS, None, "GET")
        if answered is None:
            return True  # the web server is dead, and is started again when the burst is over
        backups = answered.get("results", [])
        parents = {one["volume_id"] for one in backups if one["state"] == "available"}
        volume = self._written(parents)
        if volume in parents:
            self._snapshots_delete(volume)
            return bool(self.of_volume(volume, is_incremental=True, keeps_snapshot=True, full_after=0))
        if volume and not backups:
            self.of_volume(volume, is_incremental=False, keeps_snapshot=False)
        return False

    def _room_made(self) -> list[dict[str, Any]]:
        """The backups that there were, of which one goes where there are many."""
        there = listed(self._ask, BACKUPS)
        if len(there) >= MAX_BACKUPS:
            resting = [one["id"] for one in there if one["state"] == "available" and not one["has_dependents"]]
            for uid in resting[-1:]:
                self.delete(uid)
        return there

    def _written(self, first: Collection[str]) -> str:
        """A volume that can be backed up, rather one of the `first`, and written to if nobody has it; empty: none."""
        volumes = [one for one in listed(self._ask, VOLUMES) if one["name"] == VOLUME]
        usable = [one for one in volumes if one["state"] in ("available", "in-use")]
        if not usable:
            return ""
        volume = min(usable, key=lambda one: (one["id"] not in first, self._rng.random()))
        if volume["state"] == "available":
            self.write(volume["id"])
        return str(volume["id"])

    def _snapshots_delete(self, volume: str) -> None:
        """Somebody deletes all that can be."""
        for one in listed(self._ask, f"{SNAPSHOTS}&volume={volume}"):
            self._ask(f"volume-snapshots/{one['id']}/", None, "DELETE", fine=RACED)

    def of_volume(
        self, volume_id: str, *, is_incremental: bool, keeps_snapshot: bool, full_after: int = FULL_AFTER
    ) -> str:
        """Asks for one; its id, empty when it was refused."""
        body = {"volume": volume_id, "name": NAME, "keep_snapshot": keeps_snapshot}
        if is_incremental:
            body |= {"incremental": True, "full_after": full_after}
        made = self._ask("volume-backups/", body, fine=RACED) or {}
        uid = str(made.get("id", ""))
        if uid:
            with self._lock:
                self.promised.add(uid)
                self.known.add(uid)
        return uid

    def restore(self) -> None:
        """One is made a new volume, which stays as it is; where there are enough of these, one goes. Now and then one
        is written over a volume that nobody has.
        """
        volumes = listed(self._ask, VOLUMES)
        restored = [one for one in volumes if one["name"] == RESTORED]
        if len(restored) >= MAX_RESTORED:
            for one in [each for each in restored if each["state"] == "available"][:1]:
                self._ask(f"volumes/{one['id']}/?with_snapshots=1", None, "DELETE", fine=RACED)
        sound = [one["id"] for one in listed(self._ask, BACKUPS) if one["state"] == "available"]
        free = [one["id"] for one in volumes if one["name"] == VOLUME and one["state"] == "available"]
        if not sound:
            return
        body = {"volume": self._rng.choice(free)} if free and self._rng.random() < 0.3 else {"name": RESTORED}
        self._ask(f"volume-backups/{self._rng.choice(sound)}/restore/", body, fine=RACED)

    def delete(self, uid: str) -> None:
        """Asks that it goes. One on which others rest stays."""
        with self._lock:  # whatever the answer is: one that breaks off may have been heard
            self.promised.discard(uid)
        self._ask(f"volume-backups/{uid}/", None, "DELETE", fine=RACED)

    def drain(self) -> list[str]:
        """Ask that all go on which nothing rests. Returns which are there, those that are going included."""
        there = listed(self._ask, BACKUPS)
        for one in there:
            if not one["has_dependents"] and one["state"] != "deleting":
                self.delete(one["id"])
        return [one["id"] for one in there]

    def write(self, volume_id: str) -> None:
        """What a guest would write: guests of the drill write nothing."""
        offset = self._rng.randrange(WRITTEN_GIB * 2**30 // BLOCK_BYTES) * BLOCK_BYTES
        for pool in self.pools:
            with suppress(FileNotFoundError), (pool / "volumes" / volume_id).open("r+b") as file:
                os.pwrite(file.fileno(), self._rng.randbytes(BLOCK_BYTES), offset)
