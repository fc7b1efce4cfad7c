"""A libvirt connection that opens itself again when it was lost."""

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from computeagent.drivers.base import DriverError, GuestNotice
from computeagent.drivers.libvirt.binding import (
    LibvirtError,
    error_text,
    event_loop_start,
    libvirt,
    require_libvirt,
)
from computeagent.drivers.libvirt.state_reasons import GuestHistories
from computeagent.protocol.steps import HostBlame

KEEPALIVE_INTERVAL_S = 5
KEEPALIVE_COUNT = 3

logger = logging.getLogger(__name__)


class Connection:
    """One URI. `handle()` may be called from any thread; libvirt's handles are safe to share between threads.

    `before_connect` is called before each connection, the first and those after a loss.
    """

    def __init__(self, uri: str, *, before_connect: Callable[[], None] = lambda: None) -> None:
        self._uri = uri
        self._before_connect = before_connect
        self._lock = threading.Lock()
        self._handle: Any = None
        self._notice: GuestNotice | None = None
        self._callbacks: list[int] = []
        self._closed = True
        self.histories = GuestHistories()

    def open(self) -> None:
        """Connect. Raises DriverError (HOST) when libvirt cannot be reached."""
        require_libvirt()
        event_loop_start()
        with self._lock:
            self._closed = False
            if self._handle is None:
                self._handle = self._connected()

    def watch(self, notice: GuestNotice) -> None:
        """Call `notice` on each lifecycle event of a domain, from libvirt's event loop: in it libvirt cannot be asked.

        After a reconnection events are heard again, and `notice(None)` says that some were not.
        """
        with self._lock:
            self._notice = notice
            if self._handle is not None and not self._callbacks:
                self._listen(self._handle)

    def close(self) -> None:
        """Let go; guests keep running. Closing twice is fine."""
        with self._lock:
            self._closed = True
            self._drop()

    def handle(self) -> Any:
        """The live connection; one that died since (a libvirtd that restarted) is opened again."""
        with self._lock:
            if self._closed:
                raise DriverError(f"the connection to {self._uri} is not open")
            if self._handle is not None and not self._is_alive():
                logger.warning("lost the connection to %s; opening it again", self._uri)
                self._drop()
            if self._handle is None:
                self._handle = self._connected()
                if self._notice is not None:
                    self._listen(self._handle)
                    self._notice(None)
            return self._handle

    def _is_alive(self) -> bool:
        """Asked of the daemon itself: until the event loop has read that a socket ended, `isAlive` still says yes."""
        try:
            return bool(self._handle.isAlive() and self._handle.getLibVersion())
        except LibvirtError:
            return False

    def _drop(self) -> None:
        handle, self._handle = self._handle, None
        if handle is None:
            return
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            with suppress(LibvirtError):  # a dead connection has forgotten them
                handle.domainEventDeregisterAny(callback)
        if callbacks:
            with suppress(LibvirtError):
                handle.unregisterCloseCallback()
        try:
            handle.close()
        except LibvirtError as error:
            logger.info("closing %s: %s", self._uri, error_text(error))

    def _listen(self, handle: Any) -> None:
        """Without events there is still whoever looks now and then, so a refusal is no failure.

        Lifecycle events cover what a guest's watchdog, a panic or an error of its disk does to its power state; a
        watchdog that resets the guest is told by an event of its own alone.
        """

        def on_lifecycle(_handle: Any, domain: Any, event: int, detail: int, _opaque: None) -> None:
            if event != libvirt.VIR_DOMAIN_EVENT_DEFINED:
                self.histories.note_lifecycle(domain.UUIDString(), event, detail)
                self._tell(domain.UUIDString())

        def on_watchdog(_handle: Any, domain: Any, action: int, _opaque: None) -> None:
            self.histories.note_watchdog(domain.UUIDString(), action)
            self._tell(domain.UUIDString())

        try:
            for kind, callback in (
                (libvirt.VIR_DOMAIN_EVENT_ID_LIFECYCLE, on_lifecycle),
                (libvirt.VIR_DOMAIN_EVENT_ID_WATCHDOG, on_watchdog),
            ):
                self._callbacks.append(handle.domainEventRegisterAny(None, kind, callback, None))
            handle.registerCloseCallback(lambda _handle, _reason, _opaque: self._tell(None), None)
        except LibvirtError as error:
            logger.warning("%s tells no events: %s", self._uri, error_text(error))

    def _tell(self, guest_uuid: str | None) -> None:
        """Without the lock: whoever holds it may be waiting for libvirt's event loop, which is here."""
        if self._notice is not None:
            self._notice(guest_uuid)

    def _connected(self) -> Any:
        self._before_connect()
        try:
            handle = libvirt.open(self._uri)
        except LibvirtError as error:
            message = f"cannot connect to {self._uri}: {error_text(error)}"
            raise DriverError(message, blame=HostBlame.AT_ONCE) from error
        try:
            handle.setKeepAlive(KEEPALIVE_INTERVAL_S, KEEPALIVE_COUNT)
        except LibvirtError:
            logger.debug("%s needs no keepalive", self._uri)
        return handle
