"""A libvirt connection that opens itself again when it was lost."""

import logging
import threading
from typing import Any

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.binding import (
    LibvirtError,
    error_text,
    event_loop_start,
    libvirt,
    require_libvirt,
)

KEEPALIVE_INTERVAL_S = 5
KEEPALIVE_COUNT = 3

logger = logging.getLogger(__name__)


class Connection:
    """One URI. `handle()` may be called from any thread; libvirt's handles are safe to share between threads."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._lock = threading.Lock()
        self._handle: Any = None
        self._closed = True

    def open(self) -> None:
        """Connect. Raises DriverError (HOST) when libvirt cannot be reached."""
        require_libvirt()
        event_loop_start()
        with self._lock:
            self._closed = False
            if self._handle is None:
                self._handle = self._connected()

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
            return self._handle

    def _is_alive(self) -> bool:
        try:
            return bool(self._handle.isAlive())
        except LibvirtError:
            return False

    def _drop(self) -> None:
        handle, self._handle = self._handle, None
        if handle is None:
            return
        try:
            handle.close()
        except LibvirtError as error:
            logger.info("closing %s: %s", self._uri, error_text(error))

    def _connected(self) -> Any:
        try:
            handle = libvirt.open(self._uri)
        except LibvirtError as error:
            raise DriverError(f"cannot connect to {self._uri}: {error_text(error)}") from error
        try:
            handle.setKeepAlive(KEEPALIVE_INTERVAL_S, KEEPALIVE_COUNT)
        except LibvirtError:
            logger.debug("%s needs no keepalive", self._uri)
        return handle
