"""The share of volumes in the mixed load: each step looks first at what there is."""

import random
import threading
from collections.abc import Sequence
from typing import Any

from tests.drill.asking import Ask, listed
from tests.drill.names import OWN_POOL, POOL, RESTORED, TYPES, UPLOADED, VOLUME

VOLUMES = "volumes/?page_size=200"
IMAGES = f"images/?search={UPLOADED}&page_size=100"
MAX_VOLUMES, MAX_UPLOADED = 8, 3
MAX_GIB = 3
OF_ONE_HOST = 0.3
"""So many of the blank ones are in a pool of one host."""
GONE = (404,)
"""Right for what somebody else takes away meanwhile."""
RACED = (400, 404)
"""Right for a size, too, that another request has made too small."""


class VolumeLoad:
    """Steps side by side with the load of instances. Refusals by the state of things (409) are right."""

    def __init__(self, ask: Ask, rng: random.Random) -> None:
        self._ask, self._rng = ask, rng
        self._lock = threading.Lock()
        self._promised: set[str] = set()
        """Volumes that the API accepted, and nobody asked to take away."""
        self._uploaded: set[str] = set()
        """Images, likewise."""

    def make(self) -> None:
        """A volume: blank, of a snapshot, or of another volume. Where there are many, one goes for it."""
        found = self._mine()
        if len(found) >= MAX_VOLUMES:
            free = [one for one in found if one["state"] in ("available", "error")]
            if free:
                self._delete(self._rng.choice(free)["id"])
        source = self._rng.choice(["", "", "", "snapshot", "volume"])
        sources = listed(self._ask, "volume-snapshots/") if source == "snapshot" else found if source else []
        sound = [one["id"] for one in sources if one["state"] == "available"]
        pool = {"pool": OWN_POOL} if self._rng.random() < OF_ONE_HOST else {}
        body = {source: self._rng.choice(sound)} if sound else {"size_gib": 1, **pool}
        body |= {"name": VOLUME}
        made = self._ask("volumes/", body, fine=RACED)
        if made and "id" in made:
            with self._lock:
                self._promised.add(made["id"])

    def change(self) -> None:
        """One grows, one is copied, one goes back to its newest copy, and some copies go."""
        volumes, snapshots = self._mine(), listed(self._ask, "volume-snapshots/")
        usable = [one for one in volumes if one["state"] in ("available", "in-use")]
        if usable:
            one = self._rng.choice(usable)
            if one["size_gib"] < MAX_GIB:
                self._ask(f"volumes/{one['id']}/extend/", {"size_gib": one["size_gib"] + 1}, fine=RACED)
            self._ask("volume-snapshots/", {"volume": self._rng.choice(usable)["id"]}, fine=GONE)
        sound = [one for one in snapshots if one["state"] == "available"]
        if sound:
            newest = self._rng.choice(sound)
            self._ask(f"volumes/{newest['volume']}/revert/", {"snapshot": newest["id"]}, fine=RACED)
        for one in sound[2:]:
            self._ask(f"volume-snapshots/{one['id']}/", None, "DELETE", fine=GONE)

    def move(self) -> None:
        """One that nobody has gets the type of the other pool, and is copied there."""
        copied = {one["volume"] for one in listed(self._ask, "volume-snapshots/")}
        free = [one for one in self._mine() if one["state"] == "available" and one["id"] not in copied]
        if free:
            self.retype(self._rng.choice(free))

    def retype(self, volume: dict[str, Any]) -> str:
        """Asks for it; the name of the type."""
        is_shared = str(volume["pool_name"]).startswith(POOL)
        wanted = TYPES[OWN_POOL if is_shared else POOL]
        body = {"volume_type": wanted, "may_move": True}
        self._ask(f"volumes/{volume['id']}/retype/", body, fine=RACED)
        return wanted

    def upload(self) -> None:
        """One that nobody has becomes an image. Where there are many, one goes for it."""
        whole = [one["id"] for one in listed(self._ask, IMAGES) if one["status"] == "active"]
        if len(whole) >= MAX_UPLOADED:
            self._image_delete(self._rng.choice(whole))
        free = [one["id"] for one in self._mine() if one["state"] == "available"]
        if free:
            self.image_of(self._rng.choice(free))

    def image_of(self, volume_id: str) -> str:
        """Asks for one; its id, empty when it was refused."""
        made = self._ask(f"volumes/{volume_id}/upload-image/", {"name": UPLOADED}, fine=GONE) or {}
        uid = str(made.get("image_id", ""))
        if uid:
            with self._lock:
                self._uploaded.add(uid)
        return uid

    def attach(self, instances: Sequence[str]) -> None:
        """An instance gets a volume that nobody has, and another one loses one of its own."""
        free = [one["id"] for one in self._mine() if one["state"] == "available"]
        for uid in instances[:1]:
            if free:
                self._ask(f"instances/{uid}/volumes/", {"volume": self._rng.choice(free)}, subject=uid, fine=GONE)
        for uid in instances[1:3]:
            for one in (self._ask(f"instances/{uid}/volumes/", None, "GET", fine=GONE) or [])[:1]:
                path = f"instances/{uid}/volumes/{one['volume_id']}/"
                self._ask(path, None, "DELETE", subject=uid, fine=GONE)

    def drain(self) -> list[str]:
        """Ask that all go, when no instance is left. Returns what was promised and is not there, and what is left of
        volumes that were made with instances, and go with them unless they were detached before.
        """
        images = {one["id"]: one["status"] for one in listed(self._ask, IMAGES)}
        without = [uid for uid in sorted(self._uploaded) if images.get(uid) != "active"]
        for uid in images:
            self._image_delete(uid)
        found = listed(self._ask, VOLUMES)
        there = {one["id"] for one in found}
        strangers = [one for one in found if one["name"] not in (VOLUME, RESTORED) and one["state"] != "available"]
        left = [f"volume {one['id']} is {one['state']} without its instance" for one in strangers]
        for uid in there:
            self._ask(f"volumes/{uid}/?with_snapshots=1", None, "DELETE", fine=GONE)
        gone = sorted(self._promised - there)
        left += [f"volume {uid} was accepted by the API and is nowhere" for uid in gone]
        left += [f"image {uid} of a volume was accepted, and is {images.get(uid, 'nowhere')}" for uid in without]
        return left

    def _delete(self, uid: str) -> None:
        with self._lock:  # whatever the answer is: one that breaks off may have been heard
            self._promised.discard(uid)
        self._ask(f"volumes/{uid}/?with_snapshots=1", None, "DELETE", fine=GONE)

    def _image_delete(self, uid: str) -> None:
        with self._lock:
            self._uploaded.discard(uid)
        self._ask(f"images/{uid}/", None, "DELETE", fine=GONE)

    def _mine(self) -> list[dict[str, Any]]:
        return [one for one in listed(self._ask, VOLUMES) if one["name"] == VOLUME]
