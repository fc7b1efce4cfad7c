"""Consoles that people type into: for each session that waits for this host, a way outward.

The agent opens a WebSocket to the control plane and passes bytes between it and the guest. Nothing here listens. Asked
twice for a session it is one; what a killed agent had open is over, and browsers ask again.
"""

import logging
import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from computeagent.agent.context import AgentContext
from computeagent.drivers.base import DriverError
from computeagent.protocol.consoles import ConsoleKind, ConsoleOrder
from computeagent.protocol.steps import FailureClass
from controlplane.kernel.errors import KilonovaError, NotFound, Unavailable
from controlplane.kernel.kill_points import reach

log = logging.getLogger(__name__)

MAX_CONSOLES = 64
READ_BYTES = 2**16
LOOK_MS = 1000
"""How often who waits for a guest looks whether anybody is still there."""


class ConsoleStream(Protocol):
    """The way to the control plane, for one session."""

    @property
    def is_over(self) -> bool:
        """Whether the other side has gone."""

    def read(self) -> bytes:
        """The next bytes; none once it is over."""

    def write(self, data: bytes) -> None:
        """Raises OSError once it is over."""

    def close(self) -> None:
        """Nothing happens the second time."""


ConsoleDialer = Callable[[str], ConsoleStream]
"""Opens the way for a session, by its id. Raises Unavailable, and NotFound for a session that waits no more."""


class LiveConsoles:
    """Those of this host. Safe to use from any thread."""

    def __init__(self, context: AgentContext, dial: ConsoleDialer) -> None:
        self._context = context
        self._dial = dial
        self._lock = threading.Lock()
        self._open: dict[str, ConsoleStream | None] = {}
        self._serials: dict[str, str] = {}

    def ask(self) -> None:
        """Begin what waits for this host. Raises KilonovaError where it cannot be asked."""
        context = self._context
        try:
            wanted = context.conductor.consoles_wanted(host=context.host)
        except NotFound:  # a control plane of the release before
            return
        for order in wanted:
            with self._lock:
                if order.session_id in self._open:
                    continue
                is_full = len(self._open) >= MAX_CONSOLES
                if not is_full:
                    self._open[order.session_id] = None
            if is_full:
                self._failed(order, f"this host has {MAX_CONSOLES} consoles open, and no more than that")
            else:
                name = f"console-{order.session_id[:8]}"
                threading.Thread(target=self._serve, args=(order,), name=name, daemon=True).start()

    def __len__(self) -> int:
        return len(self._open)

    def _serve(self, order: ConsoleOrder) -> None:
        try:
            descriptor = self._context.driver.console_open(order.instance_uuid, order.kind)
        except DriverError as error:
            log.warning("instance %s: its %s console cannot be opened: %s", order.instance_uuid, order.kind, error)
            self._failed(order, error.message, error.failure_class)
            self._forget(order)
            return
        try:
            os.set_blocking(descriptor, False)
            stream = self._dial(order.session_id)
            reach("computeagent.agent.console:dialled")
            self._begun(order, stream)
            log.info("instance %s: its %s console is open", order.instance_uuid, order.kind)
            _join(descriptor, stream)
        except (NotFound, Unavailable) as error:
            log.info("instance %s: nobody waits for its %s console: %s", order.instance_uuid, order.kind, error.message)
        finally:
            reach("computeagent.agent.console:over")
            os.close(descriptor)
            self._forget(order)
        log.info("instance %s: its %s console is closed", order.instance_uuid, order.kind)

    def _begun(self, order: ConsoleOrder, stream: ConsoleStream) -> None:
        """A serial port has one reader: who comes later takes it. The control plane has ended the earlier session when
        it let the later one in, so that its user is not brought back by itself.
        """
        with self._lock:
            self._open[order.session_id] = stream
            before = None
            if order.kind is ConsoleKind.SERIAL:
                before = self._open.get(self._serials.get(order.instance_uuid, ""))
                self._serials[order.instance_uuid] = order.session_id
        if before is not None:
            before.close()

    def _forget(self, order: ConsoleOrder) -> None:
        with self._lock:
            self._open.pop(order.session_id, None)
            if self._serials.get(order.instance_uuid) == order.session_id:
                del self._serials[order.instance_uuid]

    def _failed(self, order: ConsoleOrder, message: str, failure_class: FailureClass = FailureClass.HOST) -> None:
        context = self._context
        with suppress(KilonovaError):  # who waits for it gives up by itself
            context.conductor.console_failed(
                host=context.host,
                session_id=order.session_id,
                message=message[:500],
                failure_class=failure_class,
            )


def _join(descriptor: int, stream: ConsoleStream) -> None:
    """Pass bytes both ways until one side ends."""
    ended_reader, ended_writer = os.pipe()

    def inward() -> None:
        try:
            while data := stream.read():
                _write(descriptor, data, stream)
        except OSError as error:
            log.debug("a console ended: %s", error)
        finally:
            os.close(ended_writer)

    thread = threading.Thread(target=inward, name="console-inward", daemon=True)
    thread.start()
    try:
        with suppress(OSError):
            while data := _read(descriptor, ended_reader, stream):
                stream.write(data)
    finally:
        stream.close()
        thread.join()
        os.close(ended_reader)


def _read(descriptor: int, ended: int, stream: ConsoleStream) -> bytes:
    """What the guest said next; none when either side is over. Raises OSError as a terminal does whose guest is off."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    poll.register(ended, select.POLLIN)
    while not stream.is_over:
        ready = {one for one, _ in poll.poll(LOOK_MS)}
        if ended in ready:
            return b""
        if descriptor in ready:
            with suppress(BlockingIOError):
                return os.read(descriptor, READ_BYTES)
    return b""


def _write(descriptor: int, data: bytes, stream: ConsoleStream) -> None:
    """All of it, as fast as the guest takes it; a guest that stands still takes nothing. Raises OSError."""
    left, poll = memoryview(data), select.poll()
    poll.register(descriptor, select.POLLOUT)
    while left and not stream.is_over:
        if poll.poll(LOOK_MS):
            with suppress(BlockingIOError):
                left = left[os.write(descriptor, left) :]
