"""Volumes in memory, for simulated guests and for tests: what every backend promises, without a disk."""

import base64
import fcntl
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from computeagent.protocol.volumes import (
    DiskSource,
    PoolAbility,
    PoolKind,
    PoolReport,
    VolumeFacts,
    VolumeSource,
    VolumeSourceKind,
    VolumeSpec,
)
from computeagent.volumes.base import ImageFile, KeyOf, VolumeBackendError, VolumeProgress

GIB = 2**30
IMAGE_BYTES = 2**16
"""So much of an image is remembered."""
ABILITIES = tuple(PoolAbility)

Parts = dict[int, bytes]


class MemoryBackend:
    """A VolumeBackend of simulated guests. Its volumes outlive it in `state_file`, and those of several hosts of one
    machine that have the same file are one shared pool.

    `faults`: what cannot be done, as sentences by the name of the verb, and `pool` for the whole of it. Each verb that
    copies takes `latency_s` seconds. Bytes are what was written and what an image begins with, by offset.
    """

    def __init__(
        self,
        name: str,
        state_file: Path | None = None,
        *,
        is_shared: bool = False,
        kind: PoolKind = PoolKind.FILE,
        total_gib: int = 1000,
        abilities: tuple[PoolAbility, ...] = ABILITIES,
        latency_s: float = 0.0,
    ) -> None:
        self._name = name
        self._state_file = state_file
        self._is_shared = is_shared
        self._kind = kind
        self._total_gib = total_gib
        self._abilities = abilities
        self._latency_s = latency_s
        self._lock = threading.RLock()
        self._state: dict[str, Any] = {"volumes": {}}
        self.connected: set[str] = set()
        self.faults: dict[str, str] = {}

    def report(self) -> PoolReport:
        """See VolumeBackend. A volume takes all of its size."""
        problem, used_gib = self.faults.get("pool", ""), 0
        try:
            with self._volumes() as volumes:
                used_gib = sum(each["size_gib"] for each in volumes.values())
        except VolumeBackendError as error:
            problem = problem or error.message
        return PoolReport(
            name=self._name,
            kind=self._kind,
            is_shared=self._is_shared,
            identity=f"memory:{self._state_file or id(self)}",
            total_bytes=self._total_gib * GIB,
            free_bytes=max(0, self._total_gib - used_gib) * GIB,
            abilities=self._abilities,
            problem=problem,
            lacks=("its bytes are in memory: nothing of them is real",),
        )

    def create(
        self,
        volume: VolumeSpec,
        source: VolumeSource,
        *,
        image_file: ImageFile,
        key_of: KeyOf,
        progress: VolumeProgress,
    ) -> VolumeFacts:
        """See VolumeBackend."""
        self._begin("create")
        if volume.is_encrypted:
            key_of(volume.id)
        image = image_file().read_bytes()[:IMAGE_BYTES] if source.kind is VolumeSourceKind.IMAGE else b""
        self._copy(volume, progress)
        with self._volumes() as volumes:
            if volume.id not in volumes:
                parts = {0: image} if image else _parts_of(volumes, source)
                volumes[volume.id] = {"size_gib": volume.size_gib, "parts": _packed(parts), "snapshots": {}}
            return _facts(volumes[volume.id])

    def delete(self, volume: VolumeSpec) -> None:
        """See VolumeBackend."""
        self._begin("delete")
        with self._volumes() as volumes:
            volumes.pop(volume.id, None)
        self.connected.discard(volume.id)

    def extend(self, volume: VolumeSpec) -> VolumeFacts:
        """See VolumeBackend."""
        self._begin("extend")
        with self._volumes() as volumes:
            found = _found(volumes, volume.id)
            found["size_gib"] = max(found["size_gib"], volume.size_gib)
            return _facts(found)

    def snapshot_create(self, volume: VolumeSpec, snapshot_id: str, progress: VolumeProgress) -> VolumeFacts:
        """See VolumeBackend."""
        self._begin("snapshot_create")
        self._copy(volume, progress)
        with self._volumes() as volumes:
            found = _found(volumes, volume.id)
            found["snapshots"].setdefault(snapshot_id, {"parts": found["parts"], "size_gib": found["size_gib"]})
            return _facts(found)

    def snapshot_target(self, volume: VolumeSpec, snapshot_id: str) -> Path | None:
        """Nothing has to be written elsewhere."""

    def snapshot_keep(self, volume: VolumeSpec, snapshot_id: str) -> VolumeFacts:
        """Nothing was written elsewhere."""
        return self.snapshot_create(volume, snapshot_id, lambda _done, _total: None)

    def snapshot_delete(self, volume: VolumeSpec, snapshot_id: str) -> None:
        """See VolumeBackend."""
        self._begin("snapshot_delete")
        with self._volumes() as volumes:
            if volume.id in volumes:
                volumes[volume.id]["snapshots"].pop(snapshot_id, None)

    def revert(self, volume: VolumeSpec, snapshot_id: str, progress: VolumeProgress) -> VolumeFacts:
        """See VolumeBackend."""
        self._begin("revert")
        self._copy(volume, progress)
        with self._volumes() as volumes:
            found = _found(volumes, volume.id)
            found["parts"] = _found(found["snapshots"], snapshot_id)["parts"]
            return _facts(found)

    def connect(self, volume: VolumeSpec) -> DiskSource:
        """See VolumeBackend."""
        self._begin("connect")
        with self._volumes() as volumes:
            _found(volumes, volume.id)
        self.connected.add(volume.id)
        return DiskSource(kind=self._kind, path=f"memory:{self._name}/{volume.id}")

    def disconnect(self, volume: VolumeSpec) -> None:
        """See VolumeBackend."""
        self._begin("disconnect")
        self.connected.discard(volume.id)

    def read(self, volume: VolumeSpec, snapshot_id: str, *, since_snapshot_id: str = "") -> Iterator[tuple[int, bytes]]:
        """See VolumeBackend."""
        self._begin("read")
        with self._volumes() as volumes:
            found = _found(volumes, volume.id)
            snapshots = found["snapshots"]
            now = _unpacked((_found(snapshots, snapshot_id) if snapshot_id else found)["parts"])
            before = _unpacked(_found(snapshots, since_snapshot_id)["parts"]) if since_snapshot_id else {}
        for offset in sorted({*now, *before}):
            part, old = now.get(offset, b""), before.get(offset, b"")
            if part != old:
                yield offset, part.ljust(len(old), b"\0")

    def write(self, volume: VolumeSpec, parts: Iterator[tuple[int, bytes]], *, is_over_nothing: bool = False) -> None:
        """See VolumeBackend."""
        self._begin("write")
        if is_over_nothing:
            with self._volumes() as volumes:
                _found(volumes, volume.id)["parts"] = {}
        for offset, data in parts:
            with self._volumes() as volumes:
                found = _found(volumes, volume.id)
                found["parts"] = _packed({**_unpacked(found["parts"]), offset: data})

    def held(self) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
        """See VolumeBackend."""
        self._begin("held")
        with self._volumes() as volumes:
            snapshots = [(volume, one) for volume, each in volumes.items() for one in each["snapshots"]]
            return tuple(sorted(volumes)), tuple(sorted(snapshots))

    def _begin(self, verb: str) -> None:
        fault = self.faults.get(verb) or self.faults.get("pool")
        if fault:
            raise VolumeBackendError(fault, is_away=verb not in self.faults)

    def _copy(self, volume: VolumeSpec, progress: VolumeProgress) -> None:
        """In a few parts, so that whoever looks on sees them, and may end it."""
        total = volume.size_gib * GIB
        for done in range(4):
            progress(done * total // 4, total)
            time.sleep(self._latency_s / 4)
        progress(total, total)

    @contextmanager
    def _volumes(self) -> Iterator[dict[str, Any]]:
        """All of them, to be changed inside: by one thread of one process at a time, whole or not at all."""
        with self._lock:
            if self._state_file is None:
                yield self._state["volumes"]
                return
            try:
                self._state_file.parent.mkdir(parents=True, exist_ok=True)
                with self._state_file.with_suffix(".lock").open("w") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX)
                    text = self._state_file.read_text() if self._state_file.exists() else '{"volumes": {}}'
                    state = json.loads(text)
                    yield state["volumes"]
                    changed = json.dumps(state)
                    if changed != text:
                        part = self._state_file.with_suffix(f".{os.getpid()}.part")
                        part.write_text(changed)
                        part.replace(self._state_file)
            except (OSError, ValueError) as error:
                raise VolumeBackendError(f"pool {self._name}: {error}") from error


def _found(entries: dict[str, Any], key: str) -> dict[str, Any]:
    if key not in entries:
        raise VolumeBackendError(f"{key} is not there")
    found: dict[str, Any] = entries[key]
    return found


def _parts_of(volumes: dict[str, Any], source: VolumeSource) -> Parts:
    if source.kind is VolumeSourceKind.VOLUME:
        return _unpacked(_found(volumes, source.id)["parts"])
    if source.kind is VolumeSourceKind.SNAPSHOT:
        return _unpacked(_found(_found(volumes, source.volume_id)["snapshots"], source.id)["parts"])
    return {}


def _packed(parts: Parts) -> dict[str, str]:
    return {str(offset): base64.b64encode(data).decode() for offset, data in sorted(parts.items())}


def _unpacked(parts: dict[str, str]) -> Parts:
    return {int(offset): base64.b64decode(data) for offset, data in parts.items()}


def _facts(found: dict[str, Any]) -> VolumeFacts:
    used = sum(len(base64.b64decode(data)) for data in found["parts"].values())
    return VolumeFacts(location={"format": "memory"}, size_bytes=found["size_gib"] * GIB, used_bytes=used)
