"""Negative controls: what is switched off, and which points show it. A drill that passes without it proves nothing.

Nothing of this is in the product: the harness puts a wrapper around the driver of the agents it starts.
"""

import threading
from dataclasses import dataclass
from typing import Any

from computeagent.drivers.base import Driver
from computeagent.drivers.libvirt.driver import LibvirtDriver
from computeagent.protocol.guests import GuestFacts, GuestSpec

BUILD_THREADS = "work-build"


@dataclass(frozen=True, slots=True)
class Control:
    """`wraps`: functions around every agent's driver. `points`: words of the points to strike."""

    wraps: tuple[str, ...]
    points: tuple[str, ...]


CONTROLS = {
    "running-guest-check": Control(
        wraps=("tests.drill.without:blind",),
        points=(
            "computeagent.drivers.libvirt.driver:started",
            "computeagent.driver.spawn:after",
            "computeagent.agent.build.spawning:finished",
            "computeagent.transport.build_done:before",
        ),
    ),
}


class BlindDriver:
    """A libvirt driver whose builds never see that the guest runs already, and make its disks anew under it."""

    def __init__(self, driver: LibvirtDriver) -> None:
        self._driver = driver

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)

    def facts(self, guest_uuid: str) -> GuestFacts | None:
        """Nothing, to a build."""
        is_build = threading.current_thread().name.startswith(BUILD_THREADS)
        return None if is_build else self._driver.facts(guest_uuid)

    def prepare_disks(self, guest: GuestSpec) -> None:
        """New disks, whoever runs from the old ones."""
        self._driver._profile.prepare_disks(guest)


def blind(driver: Driver) -> Driver:
    """The wrapper around a libvirt driver."""
    assert isinstance(driver, LibvirtDriver)
    return BlindDriver(driver)  # type: ignore[return-value]
