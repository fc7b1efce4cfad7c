"""Files of one host that guests of others have, too: served by QEMU's storage daemon on the host's storage address.

Two daemons serve a pool. One listens on the network, and has every volume that no guest of this host has; the other one
listens on a UNIX socket for the guests here. A volume goes from one to the other as it is connected, and stays where it
is while somebody else has it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from threading import RLock

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
from computeagent.volumes.file.backend import FileBackend, host_errors
from computeagent.volumes.file.directory import PoolDirectory
from computeagent.volumes.file.new_volume import LET_GO_S, used_bytes
from computeagent.volumes.nbd.daemon import CONNECTED, DAEMONS, NbdAddress, StorageDaemon, directories_make, node_of

RUN = "run"
HAND_OVER_S = 1.0
"""How long a guest of another host may take to let go of a volume that is wanted here."""
LACKS = (
    "a volume that a guest has is not extended: a guest is told its size when it connects. Detach, extend, attach it",
    "a volume is one guest's alone: those of the host that stores it have another server than all others",
)
ABSENT = (PoolAbility.EXTEND_ATTACHED, PoolAbility.MULTI_ATTACH)


class NbdBackend:
    """A VolumeBackend over the directory of this host that is served at `network`'s address."""

    def __init__(
        self,
        name: str,
        directory: PoolDirectory,
        network: NbdAddress,
        *,
        limit_gib: int = 0,
        let_go_s: float = LET_GO_S,
    ) -> None:
        self._name = name
        self._directory = directory
        self._files = FileBackend(name, directory, is_shared=False, limit_gib=limit_gib, let_go_s=let_go_s)
        self._let_go_s = let_go_s
        self._run = directory.path / RUN
        self._network_place = network
        self._local_place = NbdAddress(socket=self._run / DAEMONS / "nbd.sock", account=network.account)
        self._network = StorageDaemon(self._run, "network", network)
        self._local = StorageDaemon(self._run, "local", self._local_place)
        self._lock = RLock()
        self._out: set[str] = set()

    def report(self) -> PoolReport:
        """See VolumeBackend. What should be served is served from then on."""
        report = replace(self._files.report(), kind=PoolKind.NBD)
        if report.problem:
            return report
        try:
            self._serve()
        except VolumeBackendError as error:
            return PoolReport(self._name, PoolKind.NBD, identity=report.identity, problem=error.message)
        abilities = tuple(each for each in report.abilities if each not in ABSENT)
        return replace(report, abilities=abilities, lacks=(*report.lacks, *LACKS))

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
        of_volume = replace(volume, id=source.id) if source.kind is VolumeSourceKind.VOLUME else volume
        with self._withdrawn(of_volume):
            facts = self._files.create(volume, source, image_file=image_file, key_of=key_of, progress=progress)
        self._serve()
        return self._placed(volume, facts)

    def delete(self, volume: VolumeSpec) -> None:
        """See VolumeBackend."""
        with self._withdrawn(volume):
            self._files.delete(volume)
            self._mark(volume).unlink(missing_ok=True)

    def extend(self, volume: VolumeSpec) -> VolumeFacts:
        """See VolumeBackend."""
        with self._withdrawn(volume):
            return self._placed(volume, self._files.extend(volume))

    def snapshot_create(self, volume: VolumeSpec, snapshot_id: str, progress: VolumeProgress) -> VolumeFacts:
        """See VolumeBackend. Guests that have the volume go on meanwhile: their daemon copies it."""
        path = self._require(volume)
        final = self._directory.snapshot(volume.id, snapshot_id)
        self._serve()
        with host_errors("making the snapshot"), self._directory.part("snapshot", final) as part:
            if not final.exists():
                self._directory.room_require(used_bytes(path))
                part.touch(mode=0o600, exist_ok=False)
                os.truncate(part, path.stat().st_size)
                self._serving(volume).copy(volume.id, snapshot_id, part, progress)
                self._directory.publish(part, final)
        return self._files.facts_of_snapshot(volume, snapshot_id)

    def snapshot_target(self, volume: VolumeSpec, snapshot_id: str) -> Path | None:
        """See VolumeBackend: `snapshot_create` does it."""
        return None

    def snapshot_keep(self, volume: VolumeSpec, snapshot_id: str) -> VolumeFacts:
        """See VolumeBackend. Raises VolumeBackendError: there is no target here."""
        raise VolumeBackendError(f"nobody but pool {self._name} itself writes its snapshots")

    def snapshot_delete(self, volume: VolumeSpec, snapshot_id: str) -> None:
        """See VolumeBackend."""
        self._files.snapshot_delete(volume, snapshot_id)

    def revert(self, volume: VolumeSpec, snapshot_id: str, progress: VolumeProgress) -> VolumeFacts:
        """See VolumeBackend."""
        with self._withdrawn(volume):
            return self._placed(volume, self._files.revert(volume, snapshot_id, progress))

    def connect(self, volume: VolumeSpec) -> DiskSource:
        """See VolumeBackend: by the UNIX socket, unless a guest of another host has it as well (it moves here)."""
        self._require(volume)
        with host_errors("serving the volume"):
            directories_make(self._run, self._network_place.account)
            self._mark(volume).touch()
        self._serve()
        if node_of(volume.id) in self._local.exports():
            return self._local_place.source(volume.id)
        return self._network_place.source(volume.id)

    def disconnect(self, volume: VolumeSpec) -> None:
        """See VolumeBackend: guests of other hosts may have it again."""
        self._directory.identity()
        with host_errors("serving the volume"):
            self._mark(volume).unlink(missing_ok=True)
        self._serve()

    def read(self, volume: VolumeSpec, snapshot_id: str, *, since_snapshot_id: str = "") -> Iterator[tuple[int, bytes]]:
        """See VolumeBackend. The volume itself is read by nobody else meanwhile."""
        with nullcontext() if snapshot_id else self._withdrawn(volume):
            yield from self._files.read(volume, snapshot_id, since_snapshot_id=since_snapshot_id)

    def write(self, volume: VolumeSpec, parts: Iterator[tuple[int, bytes]], *, is_over_nothing: bool = False) -> None:
        """See VolumeBackend."""
        with self._withdrawn(volume):
            self._files.write(volume, parts, is_over_nothing=is_over_nothing)

    def held(self) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
        """See VolumeBackend."""
        return self._files.held()

    def end(self) -> None:
        """Nothing is served any more. Raises VolumeBackendError where a daemon does not end."""
        self._network.end()
        self._local.end()

    def _placed(self, volume: VolumeSpec, facts: VolumeFacts) -> VolumeFacts:
        place = self._network_place
        return replace(facts, location={"host": place.host, "port": str(place.port), "export": volume.id})

    def _require(self, volume: VolumeSpec) -> Path:
        return Path(self._files.connect(volume).path)

    def _mark(self, volume: VolumeSpec) -> Path:
        """That a guest of this host has the volume, or is about to: what an agent finds that was killed."""
        return self._run / CONNECTED / self._directory.volume(volume.id).name

    def _serving(self, volume: VolumeSpec) -> StorageDaemon:
        return self._local if node_of(volume.id) in self._local.exports() else self._network

    @contextmanager
    def _withdrawn(self, volume: VolumeSpec) -> Iterator[None]:
        """Nobody else has the volume inside. Raises VolumeBackendError where a guest has it."""
        self._directory.identity()
        with self._lock:
            for daemon in (self._network, self._local):
                if not daemon.withdraw(volume.id, wait_s=self._let_go_s):
                    raise VolumeBackendError(f"a guest has volume {volume.id} open")
            self._out.add(volume.id)
        try:
            yield
        finally:
            self._out.discard(volume.id)
            with suppress(VolumeBackendError):  # it is tried again with each report
                self._serve()

    def _serve(self) -> None:
        """Have every volume served where it should be, and nothing else. What cannot be done to one keeps no other from
        being served. Raises VolumeBackendError.
        """
        with self._lock, host_errors("serving the pool"):
            identity = self._directory.identity()
            directories_make(self._run, self._network_place.account)
            self._network.ensure(identity)
            volumes = {node_of(each): each for each in self._directory.held()[0] if each not in self._out}
            here = {node_of(path.name) for path in (self._run / CONNECTED).iterdir()} & set(volumes)
            if here:
                self._local.ensure(identity)
            problems: list[VolumeBackendError] = []
            for daemon, other, wanted in (
                (self._local, self._network, here),
                (self._network, self._local, set(volumes) - here),
            ):
                served, elsewhere = daemon.exports(), other.exports()
                for node in sorted(wanted - served):
                    try:
                        if node not in elsewhere or other.withdraw(volumes[node], wait_s=HAND_OVER_S):
                            daemon.export(volumes[node], self._directory.volume(volumes[node]))
                    except VolumeBackendError as error:
                        problems.append(error)
            if problems:
                raise problems[0]
