"""Copies of the disks of fake guests: in memory, one for each guest, as the guests have no disks."""

import io
import threading
from typing import BinaryIO

from computeagent.drivers.base import CopyProgress, DriverError
from computeagent.drivers.blank_disk import blank_disk
from computeagent.protocol.guests import GuestSpec


class FakeSnapshots:
    """The newest copy of each guest. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_guest: dict[str, tuple[str, bytes]] = {}

    def make(self, guest: GuestSpec, image_id: str, progress: CopyProgress) -> None:
        """A blank disk. What `progress` raises leaves none."""
        disk = blank_disk(guest)
        progress(len(disk), len(disk))
        with self._lock:
            self._by_guest[guest.uuid] = (image_id, disk)

    def open(self, guest_uuid: str, image_id: str) -> BinaryIO:
        """The bytes. Raises DriverError when there is no copy for this image."""
        with self._lock:
            of_image, disk = self._by_guest.get(guest_uuid, ("", b""))
        if of_image != image_id:
            raise DriverError(f"there is no copy of the disk of {guest_uuid} for image {image_id}")
        return io.BytesIO(disk)

    def remove(self, guest_uuid: str, image_id: str) -> None:
        """The copy for this image; it may be gone."""
        with self._lock:
            if self._by_guest.get(guest_uuid, ("", b""))[0] == image_id:
                del self._by_guest[guest_uuid]

    def forget(self, guest_uuid: str) -> None:
        """Whatever there is of this guest."""
        with self._lock:
            self._by_guest.pop(guest_uuid, None)
