"""Cards and volumes that come to a fake guest and leave it."""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from computeagent.drivers.base import CopyProgress, DriverError, port_of, volume_of
from computeagent.drivers.fake_guest import FakeGuest
from computeagent.protocol.guests import GuestFacts, GuestSpec
from computeagent.protocol.power import PowerState
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.volumes import GuestVolume, VolumeFacts
from controlplane.kernel.units import GIB

ON = (PowerState.RUNNING, PowerState.PAUSED)


class FakeDevices:
    """A part of `FakeDriver`. `unresponsive`: guests, by uuid, that let go of nothing while they are on."""

    _lock: threading.RLock
    _guests: dict[str, FakeGuest]
    _pause: Callable[[], None]
    _save: Callable[[str], None]
    unresponsive: set[str]

    def attach_interface(self, guest: GuestSpec, port_id: str) -> GuestFacts:
        """Remember the card."""
        mac = port_of(guest, port_id).mac
        return self._changed_by(
            guest.uuid, lambda known: replace(known, macs=[*(one for one in known.macs if one != mac), mac])
        )

    def detach_interface(self, guest: GuestSpec, port_id: str, *, timeout_s: float) -> GuestFacts:
        """Forget the card; a fake guest lets go at once."""
        del timeout_s
        mac = port_of(guest, port_id).mac
        return self._changed_by(
            guest.uuid, lambda known: replace(known, macs=[one for one in known.macs if one != mac])
        )

    def attach_volume(self, guest: GuestSpec, volume_id: str) -> GuestFacts:
        """Remember the volume."""
        size_bytes = volume_bytes(connected(volume_of(guest, volume_id)))
        return self._changed_by(
            guest.uuid, lambda known: replace(known, volumes={volume_id: size_bytes, **known.volumes})
        )

    def detach_volume(self, guest: GuestSpec, volume_id: str, *, timeout_s: float) -> GuestFacts:
        """Forget the volume; a fake guest lets go at once, unless it is an unresponsive one."""
        volume_of(guest, volume_id)

        def without(known: FakeGuest) -> FakeGuest:
            if guest.uuid in self.unresponsive and known.power_state in ON and volume_id in known.volumes:
                message = f"the guest did not let go of the disk in {timeout_s:.0f} s"
                raise DriverError(message, failure_class=FailureClass.USER)
            return replace(known, volumes={pk: size for pk, size in known.volumes.items() if pk != volume_id})

        with self._lock:
            if guest.uuid not in self._guests:
                return GuestFacts(PowerState.NOSTATE)
            return self._changed_by(guest.uuid, without)

    def resize_volume(self, guest: GuestSpec, volume_id: str, size_bytes: int) -> None:
        """Remember the size."""
        volume = self._running_with(guest, volume_id)
        grown = {volume_id: max(size_bytes, volume.volumes[volume_id])}
        self._changed_by(guest.uuid, lambda known: replace(known, volumes={**known.volumes, **grown}))

    def limit_volume(self, guest: GuestSpec, volume_id: str) -> None:
        """Nothing is limited that does nothing."""
        self._running_with(guest, volume_id)

    def copy_volume(self, guest: GuestSpec, volume_id: str, target: Path, progress: CopyProgress) -> VolumeFacts:
        """Of a fake guest's volume everything is zero."""
        size_bytes = self._running_with(guest, volume_id).volumes[volume_id]
        progress(0, size_bytes)
        try:
            with target.open("wb") as file:
                file.truncate(size_bytes)
        except OSError as error:
            raise DriverError(f"cannot write {target}: {error}") from error
        progress(size_bytes, size_bytes)
        return VolumeFacts(size_bytes=size_bytes)

    def quiesce(self, guest: GuestSpec, take: Callable[[], VolumeFacts]) -> VolumeFacts:
        """A fake guest has no file systems."""
        return take()

    def volumes_of_guests(self) -> dict[str, tuple[str, ...]]:
        """Of guests that are on."""
        with self._lock:
            return {guest.uuid: tuple(guest.volumes) for guest in self._guests.values() if guest.power_state in ON}

    def _running_with(self, guest: GuestSpec, volume_id: str) -> FakeGuest:
        volume_of(guest, volume_id)
        with self._lock:
            known = self._guests.get(guest.uuid)
        if known is None or known.power_state not in ON or volume_id not in known.volumes:
            raise DriverError(f"guest {guest.uuid} does not have volume {volume_id} now")
        return known

    def _changed_by(self, guest_uuid: str, change: Callable[[FakeGuest], FakeGuest]) -> GuestFacts:
        self._pause()
        with self._lock:
            known = self._guests.get(guest_uuid)
            if known is None:
                raise DriverError(f"guest {guest_uuid} is not there")
            self._guests[guest_uuid] = change(known)
            self._save(guest_uuid)
        return GuestFacts(PowerState(known.power_state))


def connected(volume: GuestVolume) -> GuestVolume:
    """The volume. Raises DriverError for one that nobody connected to this host."""
    if volume.source is None:
        raise DriverError(f"volume {volume.volume.id} is not connected to this host")
    return volume


def volume_bytes(volume: GuestVolume) -> int:
    """How large the guest sees it."""
    return volume.volume.size_gib * GIB
