"""A served pool as other hosts have it: its volumes can be connected here, and its files are their host's alone."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from threading import RLock
from typing import NoReturn

from computeagent.protocol.volumes import (
    DiskSource,
    PoolKind,
    PoolReport,
    VolumeFacts,
    VolumeSource,
    VolumeSpec,
)
from computeagent.volumes.base import ImageFile, KeyOf, VolumeBackendError, VolumeProgress
from computeagent.volumes.file.backend import host_errors
from computeagent.volumes.file.directory import uuid_text
from computeagent.volumes.file.new_volume import LET_GO_S
from computeagent.volumes.nbd.daemon import (
    CONNECTED,
    DAEMONS,
    IDENTITY_PREFIX,
    NbdAddress,
    StorageDaemon,
    directories_make,
)

ANSWER_S = 20.0


class NbdClient:
    """A VolumeBackend that connects, and does nothing else: the host that stores the pool does the rest.

    Guests do not speak to that host themselves: libvirt (9.0) cannot have them connect anew, and they would lose a
    volume whose server was away for a moment. They have a daemon of this host's, which waits for it. Its things are in
    `directory`; certificates are this host's own.
    """

    def __init__(self, name: str, server: NbdAddress, directory: Path) -> None:
        self._name = name
        self._server = server
        self._directory = directory
        self._place = NbdAddress(
            socket=directory / DAEMONS / "nbd.sock", tls_directory=server.tls_directory, account=server.account
        )
        self._daemon = StorageDaemon(directory, "client", self._place)
        self._lock = RLock()

    def report(self) -> PoolReport:
        """See VolumeBackend: whether its server answers. What should be connected is, from then on."""
        try:
            identity = self._identity()
            self._serve()
        except VolumeBackendError as error:
            return PoolReport(self._name, PoolKind.NBD, is_client=True, problem=error.message)
        return PoolReport(self._name, PoolKind.NBD, is_client=True, identity=identity)

    def connect(self, volume: VolumeSpec) -> DiskSource:
        """See VolumeBackend."""
        with self._lock, host_errors("connecting the volume"):
            directories_make(self._directory, self._server.account)
            (self._directory / CONNECTED / uuid_text(volume.id)).touch()
            self._daemon.ensure()
            self._daemon.export_of(volume.id, self._server)
        return self._place.source(volume.id)

    def disconnect(self, volume: VolumeSpec) -> None:
        """See VolumeBackend."""
        with self._lock, host_errors("disconnecting the volume"):
            (self._directory / CONNECTED / uuid_text(volume.id)).unlink(missing_ok=True)
            if not self._daemon.withdraw(volume.id, wait_s=LET_GO_S):
                raise VolumeBackendError(f"a guest has volume {volume.id} open")

    def end(self) -> None:
        """Nothing is connected any more. Raises VolumeBackendError where the daemon does not end."""
        self._daemon.end()

    def create(
        self,
        volume: VolumeSpec,
        source: VolumeSource,
        *,
        image_file: ImageFile,
        key_of: KeyOf,
        progress: VolumeProgress,
    ) -> VolumeFacts:
        """Raises VolumeBackendError, as all that follow."""
        self._refuse()

    def delete(self, volume: VolumeSpec) -> None:
        """See `create`."""
        self._refuse()

    def extend(self, volume: VolumeSpec) -> VolumeFacts:
        """See `create`."""
        self._refuse()

    def snapshot_create(self, volume: VolumeSpec, snapshot_id: str, progress: VolumeProgress) -> VolumeFacts:
        """See `create`."""
        self._refuse()

    def snapshot_target(self, volume: VolumeSpec, snapshot_id: str) -> Path | None:
        """See VolumeBackend."""
        return None

    def snapshot_keep(self, volume: VolumeSpec, snapshot_id: str) -> VolumeFacts:
        """See `create`."""
        self._refuse()

    def snapshot_delete(self, volume: VolumeSpec, snapshot_id: str) -> None:
        """See `create`."""
        self._refuse()

    def revert(self, volume: VolumeSpec, snapshot_id: str, progress: VolumeProgress) -> VolumeFacts:
        """See `create`."""
        self._refuse()

    def read(self, volume: VolumeSpec, snapshot_id: str, *, since_snapshot_id: str = "") -> Iterator[tuple[int, bytes]]:
        """See `create`."""
        self._refuse()

    def write(self, volume: VolumeSpec, parts: Iterator[tuple[int, bytes]], *, is_over_nothing: bool = False) -> None:
        """See `create`."""
        self._refuse()

    def held(self) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
        """See `create`."""
        self._refuse()

    def _serve(self) -> None:
        """Have connected again, behind a daemon that died, what guests here have. Raises VolumeBackendError."""
        with self._lock, host_errors("connecting volumes"):
            connected = list((self._directory / CONNECTED).glob("*"))
            if connected:
                self._daemon.ensure()
            for path in connected:
                self._daemon.export_of(path.name, self._server)

    def _refuse(self) -> NoReturn:
        raise VolumeBackendError(
            f"pool {self._name} is stored by the host at {self._server.host}, which alone changes it"
        )

    def _identity(self) -> str:
        tool = shutil.which("qemu-nbd")
        if tool is None:
            raise VolumeBackendError("qemu-nbd is not installed: install qemu-utils")
        command = [tool, "--list", "--bind", self._server.host, "--port", str(self._server.port)]
        if self._server.tls_directory is not None:
            tls = f"tls-creds-x509,id=tls,endpoint=client,verify-peer=on,dir={self._server.tls_directory}"
            command += ["--object", tls, "--tls-creds", "tls"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise VolumeBackendError(f"the server of the pool does not answer: {error}") from error
        if done.returncode:
            raise VolumeBackendError(f"the server of the pool does not answer: {done.stderr.strip()[-300:]}")
        for line in done.stdout.splitlines():
            name = line.partition("export:")[2].strip().strip("'")
            if name.startswith(IDENTITY_PREFIX):
                return name.removeprefix(IDENTITY_PREFIX)
        raise VolumeBackendError(f"what serves at {self._server.host}:{self._server.port} is no pool of this kind")
