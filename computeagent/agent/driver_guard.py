"""A driver whose every failure is a DriverError, as its Protocol says: whatever else it raises is the host's fault."""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from computeagent.drivers.base import Driver, DriverError, GuestNotice, ImageSource
from computeagent.protocol.guests import GuestCounters, GuestFacts, GuestOnHypervisor, GuestSpec
from computeagent.protocol.hosts import HostReport
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


class GuardedDriver:
    """The Driver Protocol around a driver that `open_driver` opens. Before `open`, only `close` may be called."""

    def __init__(self, open_driver: Callable[[], Driver]) -> None:
        self._open_driver = open_driver
        self._opened: Driver | None = None

    @property
    def _driver(self) -> Driver:
        if self._opened is None:
            raise DriverError("the driver is not open")
        return self._opened

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

    def prepare_disks(self, guest: GuestSpec) -> None:
        """See Driver."""
        logged("prepare_disks", guest.uuid, lambda: self._driver.prepare_disks(guest))

    def spawn(self, guest: GuestSpec) -> GuestFacts:
        """See Driver."""
        return logged("spawn", guest.uuid, lambda: self._driver.spawn(guest))

    def destroy(self, guest_uuid: str) -> None:
        """See Driver."""
        logged("destroy", guest_uuid, lambda: self._driver.destroy(guest_uuid))

    def start(self, guest: GuestSpec) -> GuestFacts:
        """See Driver."""
        return logged("start", guest.uuid, lambda: self._driver.start(guest))

    def stop(self, guest_uuid: str, *, grace_s: float) -> GuestFacts:
        """See Driver."""
        return logged("stop", guest_uuid, lambda: self._driver.stop(guest_uuid, grace_s=grace_s))

    def hard_reboot(self, guest: GuestSpec) -> GuestFacts:
        """See Driver."""
        return logged("hard_reboot", guest.uuid, lambda: self._driver.hard_reboot(guest))

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
        return logged("resume", guest.uuid, lambda: self._driver.resume(guest))

    def facts(self, guest_uuid: str) -> GuestFacts | None:
        """See Driver."""
        return guarded(lambda: self._driver.facts(guest_uuid))

    def guests(self) -> list[GuestOnHypervisor]:
        """See Driver."""
        return guarded(self._driver.guests)

    def guest_counters(self) -> dict[str, GuestCounters]:
        """See Driver."""
        return guarded(self._driver.guest_counters)

    def console_log(self, guest_uuid: str, *, max_bytes: int) -> bytes:
        """See Driver."""
        return guarded(lambda: self._driver.console_log(guest_uuid, max_bytes=max_bytes))
