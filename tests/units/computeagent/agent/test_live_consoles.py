"""The ways outward for consoles: one for each session, both ways, ended by either side, taken over by the next."""

import queue
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest

from computeagent.agent.live_consoles import MAX_CONSOLES, LiveConsoles
from computeagent.drivers.base import DriverError
from computeagent.protocol.consoles import GUEST_OFF, ConsoleKind, ConsoleOrder
from computeagent.protocol.steps import FailureClass
from controlplane.kernel.errors import NotFound
from tests.fixtures.patience import eventually
from tests.units.computeagent.agent.conftest import World


@dataclass
class Stream:
    """What the control plane says and hears."""

    said: "queue.Queue[bytes]" = field(default_factory=queue.Queue)
    received: bytearray = field(default_factory=bytearray)
    is_over: bool = False

    def read(self) -> bytes:
        return self.said.get()

    def write(self, data: bytes) -> None:
        if self.is_over:
            raise ConnectionResetError("over")
        self.received += data

    def close(self) -> None:
        self.is_over = True
        self.said.put(b"")


@dataclass
class Stage:
    """Consoles of an agent, whose guests are sockets."""

    consoles: LiveConsoles
    streams: dict[str, Stream]
    guests: dict[str, socket.socket]
    wanted: list[ConsoleOrder]
    failed: list[tuple[str, str, FailureClass]]


@pytest.fixture
def stage(world: World) -> Iterator[Stage]:
    streams: dict[str, Stream] = {}
    guests: dict[str, socket.socket] = {}
    wanted: list[ConsoleOrder] = []
    failed: list[tuple[str, str, FailureClass]] = []
    held: list[socket.socket] = []

    class Hypervisor:
        def console_open(self, guest_uuid: str, kind: ConsoleKind) -> int:
            if guest_uuid == "off":
                raise DriverError(GUEST_OFF, failure_class=FailureClass.USER)
            if guest_uuid == "broken":
                raise DriverError("no /run/socket")
            ours, theirs = socket.socketpair()
            guests[guest_uuid] = ours
            held.append(ours)
            return theirs.detach()

    class ControlPlane:
        def consoles_wanted(self, *, host: str) -> list[ConsoleOrder]:
            return list(wanted)

        def console_failed(
            self, *, host: str, session_id: str, message: str, failure_class: FailureClass = FailureClass.HOST
        ) -> None:
            failed.append((session_id, message, failure_class))

    def dial(session_id: str) -> Stream:
        if session_id.startswith("gone"):
            raise NotFound("nobody waits for it any more")
        return streams.setdefault(session_id, Stream())

    context = replace(
        world.start().agent.context,
        driver=Hypervisor(),  # type: ignore[arg-type]
        conductor=ControlPlane(),  # type: ignore[arg-type]
    )
    yield Stage(LiveConsoles(context, dial), streams, guests, wanted, failed)
    for stream in streams.values():
        stream.close()
    for ours in held:
        ours.close()


def order(session_id: str, guest: str = "vm", kind: ConsoleKind = ConsoleKind.SERIAL) -> ConsoleOrder:
    return ConsoleOrder(session_id, guest, kind)


def test_bytes_go_both_ways_and_asking_twice_is_asking_once(stage: Stage) -> None:
    stage.wanted.append(order("one"))
    stage.consoles.ask()
    stage.consoles.ask()
    eventually(lambda: "one" in stage.streams)
    stage.streams["one"].said.put(b"ls\r")
    assert stage.guests["vm"].recv(10) == b"ls\r"
    stage.guests["vm"].sendall(b"bin etc")
    eventually(lambda: stage.streams["one"].received == b"bin etc")
    assert len(stage.consoles) == 1


def test_guest_that_ends_ends_it(stage: Stage) -> None:
    stage.wanted.append(order("one"))
    stage.consoles.ask()
    eventually(lambda: "one" in stage.streams)
    stage.guests["vm"].close()
    eventually(lambda: stage.streams["one"].is_over and not len(stage.consoles))


def test_user_who_leaves_ends_it_though_the_guest_takes_nothing(stage: Stage) -> None:
    stage.wanted.append(order("one"))
    stage.consoles.ask()
    eventually(lambda: "one" in stage.streams)
    stage.streams["one"].said.put(b"x" * 2**22)
    time.sleep(0.05)
    stage.streams["one"].close()
    eventually(lambda: not len(stage.consoles))
    with pytest.raises(BrokenPipeError):  # nothing holds the other end any more
        while True:
            stage.guests["vm"].sendall(b"x")


def test_later_serial_console_takes_the_port_and_screens_are_shared(stage: Stage) -> None:
    stage.wanted += [order("first"), order("look", kind=ConsoleKind.VNC)]
    stage.consoles.ask()
    eventually(lambda: {"first", "look"} <= set(stage.streams))
    stage.wanted[:] = [order("second"), order("look-2", kind=ConsoleKind.VNC)]
    stage.consoles.ask()
    eventually(lambda: stage.streams["first"].is_over and len(stage.consoles) == 3)
    assert not stage.streams["look"].is_over


def test_what_cannot_be_opened_is_reported_and_who_is_gone_leaves_nothing(stage: Stage) -> None:
    stage.wanted += [order("one", "off"), order("two", "broken"), order("gone")]
    stage.consoles.ask()
    eventually(lambda: len(stage.failed) == 2 and not len(stage.consoles))
    assert sorted(stage.failed) == [
        ("one", GUEST_OFF, FailureClass.USER),
        ("two", "no /run/socket", FailureClass.HOST),
    ]
    assert stage.guests["vm"].recv(1) == b""  # the other end is closed


def test_a_host_has_a_bounded_number(stage: Stage) -> None:
    stage.wanted += [order(f"s{number}", f"vm{number}") for number in range(MAX_CONSOLES + 1)]
    stage.consoles.ask()
    eventually(lambda: len(stage.streams) == MAX_CONSOLES)
    assert [session for session, _, _ in stage.failed] == [f"s{MAX_CONSOLES}"]
