"""Volumes of this host's guests: had ready before a guest starts, let go of when it is gone.

Which volumes are ready for which guest is written down, so that an agent that was killed lets go of what an earlier
one connected. Neither bytes nor secrets are in there.
"""

import json
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from weakref import WeakValueDictionary

from computeagent.agent.pool_reports import PoolReports
from computeagent.agent.retry import Retry
from computeagent.drivers.base import DriverError
from computeagent.protocol.conductor import Conductor
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.hosts import HostReport
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.volumes import DiskSource, PoolKind, VolumeFacts, VolumeSource, VolumeSpec
from computeagent.volumes.away import is_away_error
from computeagent.volumes.base import ImageFile, VolumeBackend, VolumeBackendError, VolumeProgress
from controlplane.kernel.errors import KilonovaError, Unavailable
from controlplane.kernel.kill_points import Injected, reach

log = logging.getLogger(__name__)

KEY_TRIES = 5


class PoolAway(DriverError):
    """A pool does not answer this host now: nobody is at fault here, and a later try, or another host, may find it."""

    def __init__(self, message: str) -> None:
        super().__init__(message, failure_class=FailureClass.NETWORK)


class HostVolumes:
    """The pools of one host, by name. Safe to use from any thread: of one volume, by one at a time."""

    def __init__(
        self,
        *,
        host: str,
        conductor: Conductor,
        pools: Mapping[str, VolumeBackend],
        retry: Retry,
        state_file: Path,
    ) -> None:
        self._host = host
        self._conductor = conductor
        self._pools = pools
        self._retry = retry
        self._state_file = state_file
        self._reports = PoolReports(pools)
        self._lock = threading.Lock()
        self._volume_locks: WeakValueDictionary[str, threading.RLock] = WeakValueDictionary()
        self._connected: dict[str, dict[str, VolumeSpec]] | None = None

    @property
    def pools(self) -> Mapping[str, VolumeBackend]:
        """Those that this host reaches, or is meant to."""
        return self._pools

    def in_report(self, report: HostReport) -> HostReport:
        """The host's report, with what its pools say."""
        return replace(report, pools=self._reports.now())

    def pools_of(self, guest_uuid: str) -> frozenset[str]:
        """The pools of the volumes that are connected for this guest. Raises DriverError."""
        with self._lock:
            return frozenset(volume.pool for volume in self._known().get(guest_uuid, {}).values())

    def backend(self, pool: str) -> VolumeBackend:
        """What stores this pool's volumes. Raises DriverError."""
        found = self._pools.get(pool)
        if found is None:
            raise DriverError(f"this host has no pool {pool!r:.80}")
        return found

    @contextmanager
    def turn(self, volume_id: str) -> Iterator[None]:
        """The caller alone has to do with the volume, inside this process."""
        with self._lock:
            lock = self._volume_locks.setdefault(volume_id, threading.RLock())
        with lock:
            yield

    def connected(self, guest: GuestSpec) -> GuestSpec:
        """The guest, its volumes ready and their places known, so that it may have them. Raises DriverError,
        Unavailable.
        """
        volumes = tuple(
            each if each.source is not None else replace(each, source=self._connect(each.volume, guest.uuid))
            for each in guest.volumes
        )
        return replace(guest, volumes=volumes) if volumes else guest

    def disconnect(self, guest_uuid: str, volume_id: str = "") -> None:
        """The guest has this volume no more; without one, it has none. Raises DriverError."""
        with self._lock:
            mine = dict(self._known().get(guest_uuid, {}))
        for pk, volume in mine.items():
            if volume_id in ("", pk):
                self._disconnect(volume, guest_uuid)

    def make(
        self, volume: VolumeSpec, source: VolumeSource, *, image_file: ImageFile, progress: VolumeProgress
    ) -> VolumeFacts:
        """Have the volume, with what its source says; one that is there is a success. Raises DriverError."""
        with self.turn(volume.id), backend_errors():
            return self.backend(volume.pool).create(
                volume, source, image_file=image_file, key_of=self.key_of, progress=progress
            )

    def key_of(self, volume_id: str) -> bytes:
        """The passphrase, which is asked for each time and written down nowhere. Raises DriverError, Unavailable."""
        try:
            key = self._retry.call(
                lambda: self._conductor.volume_key(host=self._host, volume_id=volume_id), tries=KEY_TRIES
            )
        except Unavailable:
            raise
        except KilonovaError as error:
            message = f"the key of volume {volume_id} cannot be had: {error.message}"
            raise DriverError(message, failure_class=FailureClass.NETWORK) from error
        return key.encode()

    def _connect(self, volume: VolumeSpec, guest_uuid: str) -> DiskSource:
        with self.turn(volume.id), backend_errors():
            backend = self.backend(volume.pool)
            key = self.key_of(volume.id).decode() if volume.is_encrypted else ""
            # First of all: what is begun and cut off is let go of with the guest.
            self._change(lambda known: known.setdefault(guest_uuid, {}).update({volume.id: volume}))
            reach("computeagent.volumes.connect:before")
            source = backend.connect(volume)
            reach("computeagent.volumes.connect:after")
            return replace(source, passphrase=key)

    def _disconnect(self, volume: VolumeSpec, guest_uuid: str) -> None:
        with self.turn(volume.id), backend_errors():
            with self._lock:
                others = [guest for guest, had in self._known().items() if volume.id in had and guest != guest_uuid]
            if volume.pool not in self._pools:
                log.warning("volume %s is of pool %s, which this host has no more", volume.id, volume.pool)
            elif not others:
                reach("computeagent.volumes.disconnect:before")
                self.backend(volume.pool).disconnect(volume)
                reach("computeagent.volumes.disconnect:after")
            self._change(lambda known: _without(known, guest_uuid, volume.id))

    def _known(self) -> dict[str, dict[str, VolumeSpec]]:
        """By guest and volume. Called with the lock held. Raises DriverError."""
        if self._connected is None:
            try:
                text = self._state_file.read_text() if self._state_file.exists() else "{}"
                self._connected = {
                    guest: {each["id"]: VolumeSpec(**{**each, "kind": PoolKind(each["kind"])}) for each in volumes}
                    for guest, volumes in json.loads(text).items()
                }
            except (OSError, ValueError, TypeError, KeyError) as error:
                raise DriverError(f"cannot read {self._state_file}: {error}") from error
        return self._connected

    def _change(self, change: Callable[[dict[str, dict[str, VolumeSpec]]], object]) -> None:
        """Whole or not at all. Raises DriverError."""
        with self._lock:
            known = {guest: dict(volumes) for guest, volumes in self._known().items()}
            change(known)
            if known == self._connected:
                return
            stored = {guest: [asdict(one) for one in volumes.values()] for guest, volumes in known.items()}
            try:
                self._state_file.parent.mkdir(parents=True, exist_ok=True)
                part = self._state_file.with_suffix(f".{os.getpid()}.part")
                part.write_text(json.dumps(stored))
                part.replace(self._state_file)
            except OSError as error:
                raise DriverError(f"cannot write {self._state_file}: {error}") from error
            self._connected = known


def _without(known: dict[str, dict[str, VolumeSpec]], guest_uuid: str, volume_id: str) -> None:
    volumes = known.get(guest_uuid, {})
    volumes.pop(volume_id, None)
    if not volumes:
        known.pop(guest_uuid, None)


@contextmanager
def backend_errors() -> Iterator[None]:
    """What a pool cannot do is a DriverError: class USER where the volume's owner may read why, PoolAway where the pool
    does not answer.
    """
    try:
        yield
    except VolumeBackendError as error:
        if error.is_away:
            raise PoolAway(error.message) from error
        failure_class = FailureClass.USER if error.is_users else FailureClass.HOST
        raise DriverError(error.message, failure_class=failure_class) from error
    except Injected as error:
        raise DriverError(error.message) from error
    except OSError as error:
        said = f"{type(error).__name__}: {error}"
        raise (PoolAway(said) if is_away_error(error) else DriverError(said)) from error
