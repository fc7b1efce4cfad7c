"""A driver whose every failure is a DriverError, as its Protocol says: whatever else it raises is the host's fault."""

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Protocol, TypeVar

from computeagent.drivers.base import Check, CopyProgress, Driver, DriverError, GuestNotice, ImageSource, always
from computeagent.protocol.consoles import ConsoleKind
from computeagent.protocol.guest_config import BootFile
from computeagent.protocol.guests import GuestCounters, GuestFacts, GuestOnHypervisor, GuestSpec
from computeagent.protocol.hosts import HostReport
from computeagent.protocol.images import CachedImage, WantedImage
from computeagent.protocol.volumes import VolumeFacts
from controlplane.kernel.errors import KilonovaError
from controlplane.kernel.kill_points import Injected, reach

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")


def guarded(verb: Callable[[], Answer]) -> Answer:
    """Call a verb. Errors of the control plane (Fenced, Unavailable, met while reading an image) pass as they are."""
    try:
        return verb()
    except Injected as error:
        raise DriverError(error.message) from error
    except (DriverError, KilonovaError):
        raise
    except Exception as error:
        raise DriverError(f"{type(error).__name__}: {error}") from error


def logged(verb: str, guest_uuid: str, call: Callable[[], Answer]) -> Answer:
    """Guarded, with a line in the log that says which verb changed which guest, how long it took and how it ended."""
    began = time.monotonic()
    try:
        answer = guarded(lambda: _between_points(verb, call))
    except (DriverError, KilonovaError) as error:
        log.info("driver: %s of %s failed after %.3f s: %s", verb, guest_uuid, time.monotonic() - began, error.message)
        raise
    log.info("driver: %s of %s took %.3f s", verb, guest_uuid, time.monotonic() - began)
    return answer


def _between_points(verb: str, call: Callable[[], Answer]) -> Answer:
    reach(f"computeagent.driver.{verb}:before")
    answer = call()
    reach(f"computeagent.driver.{verb}:after")
    return answer


def with_volume_alone(guest: GuestSpec, volume_id: str) -> GuestSpec:
    """The guest with this volume and no other."""
    return replace(guest, volumes=tuple(each for each in guest.volumes if each.volume.id == volume_id))


class GuestPorts(Protocol):
    """What joins guests to networks before they start."""

    def plugged(self, guest: GuestSpec) -> GuestSpec:
        """The guest, with what its ports are joined to. Raises DriverError, Unavailable."""

    def unplug(self, guest_uuid: str) -> None:
        """Nothing joins the guest to a network any more. Raises DriverError."""


class GuestVolumes(Protocol):
    """What has the volumes of guests ready before they start."""

    def connected(self, guest: GuestSpec) -> GuestSpec:
        """The guest, with where its volumes are. Raises DriverError, Unavailable."""

    def disconnect(self, guest_uuid: str, volume_id: str = "") -> None:
        """Nothing here serves the guest this volume, or any, any more. Raises DriverError."""


class GuardedDriver:
    """The Driver Protocol around a driver that `open_driver` opens. Before `open`, only `close` may be called.

    Whatever starts a guest joins it to its networks and volumes first; what destroys it takes it off them.
    """

    def __init__(self, open_driver: Callable[[], Driver], ports: GuestPorts, volumes: GuestVolumes) -> None:
        self._open_driver = open_driver
        self._ports = ports
        self._volumes = volumes
        self._opened: Driver | None = None

    @property
    def _driver(self) -> Driver:
        if self._opened is None:
            raise DriverError("the driver is not open")
        return self._opened

    def _joined(self, guest: GuestSpec) -> GuestSpec:
        return self._volumes.connected(self._ports.plugged(guest))

    def open(self) -> None:
        """See Driver."""
        self._opened = guarded(self._open_driver)

    def close(self) -> None:
        """See Driver."""
        if self._opened is not None:
            guarded(self._opened.close)

    def watch(self, notice: GuestNotice) -> None:
        """See Driver."""
        guarded(lambda: self._driver.watch(notice))

    def host_report(self) -> HostReport:
        """See Driver."""
        return guarded(self._driver.host_report)

    def prepare_image(self, guest: GuestSpec, source: ImageSource) -> None:
        """See Driver."""
        logged("prepare_image", guest.uuid, lambda: self._driver.prepare_image(guest, source))

    def prepare_boot_file(self, file: BootFile, source: ImageSource) -> None:
        """See Driver."""
        logged("prepare_boot_file", file.image_id, lambda: self._driver.prepare_boot_file(file, source))

    def cache_image(self, image: WantedImage, source: ImageSource) -> Path | None:
        """See Driver."""
        return guarded(lambda: self._driver.cache_image(image, source))

    def cached_images(self) -> list[CachedImage]:
        """See Driver."""
        return guarded(self._driver.cached_images)

    def prepare_disks(self, guest: GuestSpec) -> None:
        """See Driver."""
        logged("prepare_disks", guest.uuid, lambda: self._driver.prepare_disks(guest))

    def spawn(self, guest: GuestSpec) -> GuestFacts:
        """See Driver."""
        return logged("spawn", guest.uuid, lambda: self._driver.spawn(self._joined(guest)))

    def destroy(self, guest_uuid: str) -> None:
        """See Driver."""
        logged("destroy", guest_uuid, lambda: self._driver.destroy(guest_uuid))
        guarded(lambda: self._ports.unplug(guest_uuid))
        guarded(lambda: self._volumes.disconnect(guest_uuid))

    def start(self, guest: GuestSpec) -> GuestFacts:
        """See Driver."""
        return logged("start", guest.uuid, lambda: self._driver.start(self._joined(guest)))

    def stop(
        self, guest_uuid: str, *, grace_s: float, check: Check = always, plug_pulled: Callable[[], None] = always
    ) -> GuestFacts:
        """See Driver."""
        return logged(
            "stop",
            guest_uuid,
            lambda: self._driver.stop(guest_uuid, grace_s=grace_s, check=check, plug_pulled=plug_pulled),
        )

    def hard_reboot(self, guest: GuestSpec) -> GuestFacts:
        """See Driver."""
        return logged("hard_reboot", guest.uuid, lambda: self._driver.hard_reboot(self._joined(guest)))

    def attach_interface(self, guest: GuestSpec, port_id: str) -> GuestFacts:
        """See Driver."""
        return logged(
            "attach_interface", guest.uuid, lambda: self._driver.attach_interface(self._ports.plugged(guest), port_id)
        )

    def detach_interface(self, guest: GuestSpec, port_id: str, *, timeout_s: float) -> GuestFacts:
        """See Driver."""
        return logged(
            "detach_interface",
            guest.uuid,
            lambda: self._driver.detach_interface(guest, port_id, timeout_s=timeout_s),
        )

    def attach_volume(self, guest: GuestSpec, volume_id: str) -> GuestFacts:
        """See Driver. Of the guest's volumes only this one has to be within reach."""
        alone = with_volume_alone(guest, volume_id)
        try:
            return logged(
                "attach_volume",
                guest.uuid,
                lambda: self._driver.attach_volume(self._volumes.connected(alone), volume_id),
            )
        except DriverError:
            if volume_id not in self.volumes_of_guests().get(guest.uuid, ()):
                guarded(lambda: self._volumes.disconnect(guest.uuid, volume_id))
            raise

    def detach_volume(self, guest: GuestSpec, volume_id: str, *, timeout_s: float) -> GuestFacts:
        """See Driver. Nothing serves the volume afterwards."""
        facts = logged(
            "detach_volume", guest.uuid, lambda: self._driver.detach_volume(guest, volume_id, timeout_s=timeout_s)
        )
        guarded(lambda: self._volumes.disconnect(guest.uuid, volume_id))
        return facts

    def resize_volume(self, guest: GuestSpec, volume_id: str, size_bytes: int) -> None:
        """See Driver."""
        logged("resize_volume", guest.uuid, lambda: self._driver.resize_volume(guest, volume_id, size_bytes))

    def limit_volume(self, guest: GuestSpec, volume_id: str) -> None:
        """See Driver."""
        logged("limit_volume", guest.uuid, lambda: self._driver.limit_volume(guest, volume_id))

    def copy_volume(self, guest: GuestSpec, volume_id: str, target: Path, progress: CopyProgress) -> VolumeFacts:
        """See Driver."""
        alone = with_volume_alone(guest, volume_id)
        return logged(
            "copy_volume",
            guest.uuid,
            lambda: self._driver.copy_volume(self._volumes.connected(alone), volume_id, target, progress),
        )

    def quiesce(self, guest: GuestSpec, take: Callable[[], VolumeFacts]) -> VolumeFacts:
        """See Driver."""
        return logged("quiesce", guest.uuid, lambda: self._driver.quiesce(guest, take))

    def volumes_of_guests(self) -> dict[str, tuple[str, ...]]:
        """See Driver."""
        return guarded(self._driver.volumes_of_guests)

    def pause(self, guest_uuid: str) -> GuestFacts:
        """See Driver."""
        return logged("pause", guest_uuid, lambda: self._driver.pause(guest_uuid))

    def unpause(self, guest_uuid: str) -> GuestFacts:
        """See Driver."""
        return logged("unpause", guest_uuid, lambda: self._driver.unpause(guest_uuid))

    def suspend(self, guest_uuid: str) -> GuestFacts:
        """See Driver."""
        return logged("suspend", guest_uuid, lambda: self._driver.suspend(guest_uuid))

    def resume(self, guest: GuestSpec) -> GuestFacts:
        """See Driver."""
        return logged("resume", guest.uuid, lambda: self._driver.resume(self._joined(guest)))

    def snapshot(self, guest: GuestSpec, image_id: str, progress: CopyProgress) -> None:
        """See Driver."""
        logged("snapshot", guest.uuid, lambda: self._driver.snapshot(guest, image_id, progress))

    def snapshot_open(self, guest_uuid: str, image_id: str) -> BinaryIO:
        """See Driver."""
        return guarded(lambda: self._driver.snapshot_open(guest_uuid, image_id))

    def snapshot_remove(self, guest_uuid: str, image_id: str) -> None:
        """See Driver."""
        guarded(lambda: self._driver.snapshot_remove(guest_uuid, image_id))

    def define(self, guest: GuestSpec) -> GuestFacts:
        """See Driver."""
        return logged("define", guest.uuid, lambda: self._driver.define(self._volumes.connected(guest)))

    def rescue(self, guest: GuestSpec) -> GuestFacts:
        """See Driver."""
        return logged("rescue", guest.uuid, lambda: self._driver.rescue(self._joined(guest)))

    def set_password(self, guest: GuestSpec, *, user: str, password: str) -> None:
        """See Driver."""
        logged("set_password", guest.uuid, lambda: self._driver.set_password(guest, user=user, password=password))

    def inject_nmi(self, guest_uuid: str) -> GuestFacts:
        """See Driver."""
        return logged("inject_nmi", guest_uuid, lambda: self._driver.inject_nmi(guest_uuid))

    def facts(self, guest_uuid: str) -> GuestFacts | None:
        """See Driver."""
        return guarded(lambda: self._driver.facts(guest_uuid))

    def guests(self) -> list[GuestOnHypervisor]:
        """See Driver."""
        return guarded(self._driver.guests)

    def guest_counters(self) -> dict[str, GuestCounters]:
        """See Driver."""
        return guarded(self._driver.guest_counters)

    def screenshot(self, guest_uuid: str) -> bytes:
        """See Driver."""
        return logged("screenshot", guest_uuid, lambda: self._driver.screenshot(guest_uuid))

    def console_open(self, guest_uuid: str, kind: ConsoleKind) -> int:
        """See Driver."""
        return logged("console_open", guest_uuid, lambda: self._driver.console_open(guest_uuid, kind))

    def console_log(self, guest_uuid: str, *, max_bytes: int) -> bytes:
        """See Driver."""
        return guarded(lambda: self._driver.console_log(guest_uuid, max_bytes=max_bytes))
