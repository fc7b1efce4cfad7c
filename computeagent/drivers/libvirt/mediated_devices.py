"""Mediated devices: virtual GPUs that a card of the host is divided into, made for a guest and removed with it.

A device's uuid follows from its guest's, so that making it twice makes one, and a killed agent leaves none that nobody
knows. They do not outlive a restart of the machine: a guest that is started has them made again. Source: the kernel's
Documentation/driver-api/vfio-mediated-device.rst.
"""

import uuid
from collections.abc import Iterator
from pathlib import Path

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.files import host_errors
from computeagent.protocol.steps import FailureClass

EACH_GUEST_MAX = 16


def device_uuids(guest_uuid: str, count: int) -> tuple[str, ...]:
    """The uuids of a guest's devices. Raises DriverError (USER) for more than a guest can have."""
    if count > EACH_GUEST_MAX:
        raise DriverError(
            f"the guest wants {count} virtual GPUs; it can have {EACH_GUEST_MAX}", failure_class=FailureClass.USER
        )
    return tuple(str(uuid.uuid5(uuid.UUID(guest_uuid), f"vgpu-{number}")) for number in range(count))


class KernelMediatedDevices:
    """Devices of these `types`, made by the kernel. A card that offers several of them is divided by the first."""

    def __init__(self, types: tuple[str, ...], *, sysfs: Path = Path("/sys")) -> None:
        self._types = types
        self._cards = sysfs / "class" / "mdev_bus"
        self._devices = sysfs / "bus" / "mdev" / "devices"

    def total(self) -> int | None:
        """Free ones and those that exist."""
        if not self._types:
            return None
        with host_errors("counting virtual GPUs"):
            return sum(_available(offer) + len(list((offer / "devices").glob("*"))) for offer in self._offers())

    def ensure(self, guest_uuid: str, count: int) -> tuple[str, ...]:
        """Each on the first card that has room."""
        wanted = device_uuids(guest_uuid, count)
        for device in wanted:
            with host_errors(f"making the virtual GPU {device}"):
                if (self._devices / device).exists():
                    continue
                offer = next((offer for offer in self._offers() if _available(offer)), None)
                if offer is None:
                    raise DriverError(
                        f"this host has no virtual GPU of type {', '.join(self._types) or '(none is set)'} left"
                    )
                (offer / "create").write_text(device)
        return wanted

    def release(self, guest_uuid: str) -> None:
        """Those that exist."""
        for device in device_uuids(guest_uuid, EACH_GUEST_MAX):
            with host_errors(f"removing the virtual GPU {device}"):
                if (self._devices / device).exists():
                    (self._devices / device / "remove").write_text("1")

    def _offers(self) -> Iterator[Path]:
        """The directory of one type of each card."""
        for card in sorted(self._cards.glob("*")):
            found = (card / "mdev_supported_types" / name for name in self._types)
            offer = next((offer for offer in found if offer.is_dir()), None)
            if offer is not None:
                yield offer


class SimulatedMediatedDevices:
    """So many devices of no card: each is an empty file below `directory`."""

    def __init__(self, count: int, directory: Path) -> None:
        self._count = count
        self._directory = directory

    def total(self) -> int | None:
        """As many as were set."""
        return self._count or None

    def ensure(self, guest_uuid: str, count: int) -> tuple[str, ...]:
        """One file each."""
        wanted = device_uuids(guest_uuid, count)
        with host_errors("making simulated virtual GPUs"):
            present = {path.name for path in self._directory.glob("*")}
            missing = [device for device in wanted if device not in present]
            if len(present) + len(missing) > self._count:
                raise DriverError(f"this host has {self._count - len(present)} of {len(missing)} virtual GPUs left")
            if missing:
                self._directory.mkdir(parents=True, exist_ok=True)
            for device in missing:
                (self._directory / device).touch()
        return wanted

    def release(self, guest_uuid: str) -> None:
        """Its files."""
        with host_errors("removing simulated virtual GPUs"):
            for device in device_uuids(guest_uuid, EACH_GUEST_MAX):
                (self._directory / device).unlink(missing_ok=True)


def _available(offer: Path) -> int:
    return int((offer / "available_instances").read_text())
