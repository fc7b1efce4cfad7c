"""The share of images in the mixed load: imported from a server of the drill, cached before they are used, deleted."""

import hashlib
import random
import threading
from collections.abc import Sequence
from typing import Any

from computeagent.drivers.libvirt.boot_sector import boot_sector
from tests.drill.asking import Ask
from tests.fixtures.file_server import FileServer

NAME = "drill-import"
MINE = f"images/?search={NAME}&page_size=100"
MAX_IMAGES = 5
FILES = 3
FILE_BYTES = 2**20
GONE = (404,)
"""Right for what somebody else takes away meanwhile."""
RACED = (400, 404)
"""Right for a body that names such a thing, too."""


def import_settings(files: FileServer) -> dict[str, str]:
    """Imports may reach the drill's own server, and there is room for all of them."""
    return {
        "IMAGE_IMPORT_NETWORKS": "127.0.0.0/8",
        "IMAGE_IMPORT_PORTS": str(files.port),
        "DEFAULT_QUOTA_IMAGES": "1000",
        "DEFAULT_QUOTA_IMAGE_UPLOADS": "1000",
    }


class ImageLoad:
    """Steps side by side with the load of instances. Refusals by the state of things (409) are right."""

    def __init__(self, ask: Ask, rng: random.Random, hosts: Sequence[str], files: FileServer) -> None:
        self._ask, self._rng, self._hosts = ask, rng, list(hosts)
        self._lock = threading.Lock()
        self._promised: set[str] = set()
        """Images whose import the API accepted, and nobody asked to take away."""
        self._sources = [self._served(files, number) for number in range(FILES)]

    def bring(self) -> None:
        """One is imported. Where there are many, one that has its bytes goes for it."""
        there = self._mine()
        whole = [one for one in there if one["status"] == "active"]
        if len(there) >= MAX_IMAGES and whole:
            self._delete(self._rng.choice(whole)["id"])
        body = {"name": NAME, "disk_format": "raw", "import_from": self._rng.choice(self._sources)}
        made = self._ask("images/", body)
        if made and "id" in made:
            with self._lock:
                self._promised.add(made["id"])

    def cache(self) -> None:
        """The hosts of an aggregate get one before any guest needs it."""
        whole = [one["id"] for one in self._mine() if one["status"] == "active"]
        racks = self._results(f"aggregates/?name={NAME}") or [self._ask("aggregates/", {"name": NAME}) or {}]
        rack = racks[0]
        if not whole or "id" not in rack:
            return
        host = self._rng.choice(self._hosts)
        if host not in rack.get("hosts", []):
            self._ask(f"aggregates/{rack['id']}/add_host/", {"host": host}, fine=GONE)
        self._ask(f"aggregates/{rack['id']}/images/", {"cache": [{"id": self._rng.choice(whole)}]}, fine=RACED)

    def drain(self) -> list[str]:
        """Ask that all go, when nothing is under way. Returns what was promised and has not got its bytes."""
        there = {one["id"]: one["status"] for one in self._mine()}
        without = [
            f"the import of image {uid} was accepted, and it is {there.get(uid, 'nowhere')}"
            for uid in sorted(self._promised)
            if there.get(uid) != "active"
        ]
        for uid in there:
            self._delete(uid)
        return without

    def _served(self, files: FileServer, number: int) -> dict[str, str]:
        data = boot_sector(f"imported {number}\r\n").ljust(FILE_BYTES, b"\0")
        checksum = hashlib.sha256(data).hexdigest()
        return {"url": files.file(f"/drill-{number}.raw", data, etag=checksum), "checksum": f"sha256:{checksum}"}

    def _delete(self, uid: str) -> None:
        with self._lock:  # whatever the answer is: one that breaks off may have been heard
            self._promised.discard(uid)
        self._ask(f"images/{uid}/", None, "DELETE", fine=GONE)

    def _mine(self) -> list[dict[str, Any]]:
        return self._results(MINE)

    def _results(self, path: str) -> list[dict[str, Any]]:
        """Nothing, where the answer broke off."""
        found: list[dict[str, Any]] = (self._ask(path, None, "GET") or {}).get("results", [])
        return found
