"""What is seen of guests from outside, and the ways into them: counters, screen, serial log, consoles."""

from computeagent.drivers.libvirt.binding import translated
from computeagent.drivers.libvirt.consoles import console_descriptor
from computeagent.drivers.libvirt.guest_base import GuestBase
from computeagent.drivers.libvirt.guest_stats import guest_stats
from computeagent.drivers.libvirt.screenshots import domain_screenshot
from computeagent.protocol.consoles import ConsoleKind
from computeagent.protocol.guests import GuestCounters


class GuestViews(GuestBase):
    """A part of `LibvirtDriver`. See `computeagent.drivers.base.Driver` for what each verb promises."""

    def guest_counters(self) -> dict[str, GuestCounters]:
        """Of all guests that are on, in one call of libvirt."""
        with translated("reading what the guests use"):
            return guest_stats(self._connection.handle())

    def screenshot(self, guest_uuid: str) -> bytes:
        """What libvirt gives of the first screen, as PNG."""
        conn = self._connection.handle()
        with translated(f"taking a picture of the screen of {guest_uuid}"):
            return domain_screenshot(conn, self._there(conn, guest_uuid))

    def console_log(self, guest_uuid: str, *, max_bytes: int) -> bytes:
        """The end of the serial log."""
        return self._profile.console_tail(guest_uuid, max_bytes)

    def console_open(self, guest_uuid: str, kind: ConsoleKind) -> int:
        """QEMU's own end of it."""
        conn = self._connection.handle()
        with translated(f"opening the {kind} console of {guest_uuid}"):
            return console_descriptor(self._there(conn, guest_uuid), kind)
