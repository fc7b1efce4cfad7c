"""An agent is cut off from the control plane for longer than its lease: refused connections, and a silent network."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tests.drill.faults.fault import (
    Evidence,
    Fault,
    agents_with,
    delete,
    expect,
    instance,
    is_active,
    log_of,
    make,
    runs_on,
    until,
    works,
)
from tests.drill.stage import Stage

HOST = "t1"
CUT_S = 9.0  # the stage's leases are 3 s
HANG_S = 2.0
CHUNK = 65536


class Wire:
    """A TCP proxy that can be cut: `refuse` closes all connections and takes no new one, `hold` lets nothing pass."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._open: set[socket.socket] = set()
        self._passes = threading.Event()
        self._passes.set()
        self._refuses = self._ended = False
        threading.Thread(target=self._accept, daemon=True).start()

    def refuse(self) -> None:
        """Break what is connected, and refuse what comes."""
        self._refuses = True
        for one in list(self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def hold(self) -> None:
        """Neither data nor news of an end get through; connections are accepted and say nothing."""
        self._passes.clear()

    def heal(self) -> None:
        """Let pass again, what was held back included."""
        self._refuses = False
        self._passes.set()

    def close(self) -> None:
        """End."""
        self._ended = True
        self.refuse()
        self._passes.set()
        self._listener.close()

    def _accept(self) -> None:
        while not self._ended:
            with suppress(OSError):
                near, _ = self._listener.accept()
                if self._refuses:
                    near.close()
                else:
                    threading.Thread(target=self._join, args=(near,), daemon=True).start()

    def _join(self, near: socket.socket) -> None:
        self._passes.wait()
        try:
            far = socket.create_connection(self._target, timeout=5)
        except OSError:
            near.close()
            return
        far.settimeout(None)
        self._open |= {near, far}
        for source, target in ((near, far), (far, near)):
            threading.Thread(target=self._pump, args=(source, target), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(CHUNK):
                self._passes.wait()
                target.sendall(data)
        for one in (source, target):
            self._open.discard(one)
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@contextmanager
def _wired(stage: Stage) -> Iterator[Wire]:
    """The agent of HOST reaches the control plane, and nothing else does, through the wire."""
    wire = Wire("127.0.0.1", stage.client.port)
    try:
        with agents_with(stage, "--control-plane", f"http://127.0.0.1:{wire.port}", hosts=[HOST]):
            first = make(stage, host=HOST)
            until(lambda: is_active(stage, first), 60, "the agent works through the wire")
            yield wire
            wire.heal()
    finally:
        wire.close()


def refused(stage: Stage) -> Evidence:
    """Connections are broken and refused while a build hangs in libvirt."""
    return _cut_during_build(stage, Wire.refuse)


def silent(stage: Stage) -> Evidence:
    """Nothing comes back, not even an error: threads wait for answers until they give up."""
    return _cut_during_build(stage, Wire.hold)


def _cut_during_build(stage: Stage, cut: Callable[[Wire], None]) -> Evidence:
    """A build goes on behind the cut and ends there. Nobody else touches it; its lease runs out, and is taken anew."""
    with _wired(stage) as wire:
        gone = make(stage, host=HOST)
        until(lambda: is_active(stage, gone), 90, f"{gone} is ACTIVE")
        stage.arm("libvirt.create", f"hang {HANG_S}")
        uid = make(stage, host=HOST)
        until(lambda: stage.fired("libvirt.create"), 90, "the start hangs")
        cut(wire)
        delete(stage, gone)
        time.sleep(CUT_S)
        before = (instance(stage, uid) or {}).get("vm_state")
        expect(before == "building", f"nothing of what was done behind the cut is believed: {before}")
        expect(runs_on(stage, uid) == [HOST], "its guest runs behind the cut, and nowhere else")
        wire.heal()
        took = until(lambda: is_active(stage, uid), 90, f"{uid} is ACTIVE after the cut")
        deleted = until(lambda: instance(stage, gone) is None, 90, f"{gone} is deleted after the cut")
        (work,) = works(stage, uid, "build")
        expect(runs_on(stage, uid) == [HOST], "it runs once")
    is_logged = "the control plane does not answer" in log_of(stage, f"agent-{HOST}")
    return {
        "cut_s": CUT_S,
        "active_s": took,
        "deleted_s": deleted,
        "attempts": work["attempt"],
        "agent_told": is_logged,
    }


FAULTS = (
    Fault("partition-refused", refused),
    Fault("partition-silent", silent),
)
