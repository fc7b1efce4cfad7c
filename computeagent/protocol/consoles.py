"""Consoles that people type into: what a host is asked to open, and how its way outward is told from others."""

from dataclasses import dataclass
from enum import StrEnum

from controlplane.kernel.texts import phrase as _


class ConsoleKind(StrEnum):
    """VNC: the guest's screen, keyboard and mouse, in the RFB protocol. SERIAL: the bytes of its first serial port."""

    VNC = "vnc"
    SERIAL = "serial"


CONSOLE_PATH = "/agent/v1/console"
"""Where an agent opens a WebSocket for one session."""
BROWSER_CONSOLE_PATH = "/consoles/stream/"
"""Where whoever has a session's token opens one."""
CONSOLE_HEADER = "Kilonova-Console"
"""The header of that request with the session's id."""
MAX_MESSAGE_BYTES = 2**20
"""The largest message of such a WebSocket. A message has no meaning of its own: all of them together are a stream."""

GUEST_OFF = _("The guest is off, so it has no console.")


@dataclass(frozen=True, slots=True)
class ConsoleOrder:
    """A session that somebody opened and that waits for its guest's host."""

    session_id: str
    instance_uuid: str
    kind: ConsoleKind
