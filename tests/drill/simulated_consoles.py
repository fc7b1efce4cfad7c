"""Consoles of simulated hosts, where libvirt has none: what is typed comes back while the guest runs."""

from typing import Any

from computeagent.drivers.base import Driver, DriverError
from computeagent.drivers.fake_console import echoing_console
from computeagent.protocol.consoles import ConsoleKind
from computeagent.protocol.power import PowerState

RUNS = frozenset({PowerState.RUNNING, PowerState.PAUSED})


def greeting(guest_uuid: str, kind: ConsoleKind) -> bytes:
    """What such a console says first."""
    return f"console {kind} of {guest_uuid}\r\n".encode()


class EchoingConsoles:
    """A driver whose guests have such consoles."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)

    def console_open(self, guest_uuid: str, kind: ConsoleKind) -> int:
        """See Driver."""
        facts = self._driver.facts(guest_uuid)
        if facts is None or facts.power_state not in RUNS:
            raise DriverError(f"guest {guest_uuid} is off, so it has no console")
        return echoing_console(greeting(guest_uuid, kind).decode())
