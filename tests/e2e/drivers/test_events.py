"""What hypervisors tell of guests by themselves, and how soon the control plane hears of it from the agent."""

import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from computeagent.agent.loop import Agent
from computeagent.agent.options import AgentOptions
from computeagent.drivers.fake import FakeDriver
from computeagent.drivers.libvirt.boot_sector import SECTOR_BYTES
from computeagent.protocol.guests import GuestFacts, GuestSpec
from computeagent.protocol.power import PowerState, StateReason
from tests.e2e.drivers.conftest import Hypervisor
from tests.fixtures.panicking_image import PANICS_IMAGE
from tests.fixtures.patience import PATIENCE_S, eventually
from tests.units.computeagent.agent.conductor_double import ConductorDouble, InstanceRow

PR_SET_CHILD_SUBREAPER = 36

# mov dx, 0x604; mov ax, 0x2000; out dx, ax: ACPI's "sleep state 5, now"; hlt for ever.
POWERS_OFF = bytes([0xBA, 0x04, 0x06, 0xB8, 0x00, 0x20, 0xEF, 0xF4, 0xEB, 0xFD])
POWERS_OFF_IMAGE = (POWERS_OFF.ljust(SECTOR_BYTES - 2, b"\0") + b"\x55\xaa").ljust(2**20, b"\0")

# Finds the watchdog i6300esb (8086:25ab) among the PCI devices, sets its clock to 1 MHz (register 0x60) and starts it
# (register 0x68); hlt for ever. Nobody stills it, so it fires two seconds later.
HANGS = bytes.fromhex(
    "fa66b900000080baf80c6689c866efbafc0c66ed663d8680ab2574136681c1000100006681f90000008172dbf4ebfd6689c8b060baf80c66ef"
    "bafc0cb80400ef6689c8b068baf80c66efbafc0cb002eeebda"
)
HANGS_IMAGE = (HANGS.ljust(SECTOR_BYTES - 2, b"\0") + b"\x55\xaa").ljust(2**20, b"\0")


def heard_of(hypervisor: Hypervisor, guest_uuid: str, verb: Callable[[], object]) -> bool:
    """Whether the hypervisor names the guest once `verb` has begun."""
    told = threading.Event()
    hypervisor.driver.watch(lambda uuid: told.set() if uuid == guest_uuid else None)
    verb()
    return told.wait(PATIENCE_S)


def test_each_change_of_a_guest_is_told(hypervisor: Hypervisor) -> None:
    guest = hypervisor.guest()
    driver = hypervisor.driver
    assert heard_of(hypervisor, guest.uuid, lambda: hypervisor.build(guest))
    assert heard_of(hypervisor, guest.uuid, lambda: driver.pause(guest.uuid))
    assert heard_of(hypervisor, guest.uuid, lambda: driver.unpause(guest.uuid))
    assert heard_of(hypervisor, guest.uuid, lambda: driver.stop(guest.uuid, grace_s=0))
    assert heard_of(hypervisor, guest.uuid, lambda: driver.start(guest))
    assert heard_of(hypervisor, guest.uuid, lambda: driver.destroy(guest.uuid))


def test_reopened_hypervisor_tells_again(hypervisor: Hypervisor) -> None:
    guest = hypervisor.guest()
    assert heard_of(hypervisor, guest.uuid, lambda: hypervisor.build(guest))
    hypervisor.driver.close()
    hypervisor.driver.open()
    other = hypervisor.guest()
    assert heard_of(hypervisor, other.uuid, lambda: hypervisor.build(other))


def test_fake_guest_that_changes_by_itself_is_told(tmp_path: Path) -> None:
    fake = Hypervisor("fake", FakeDriver("node-fake"), tmp_path)
    guest = fake.build(fake.guest())
    assert isinstance(fake.driver, FakeDriver)
    happen = fake.driver.happen
    assert heard_of(
        fake, guest.uuid, lambda: happen(guest.uuid, PowerState.CRASHED, reason=StateReason.PANICKED, details="x")
    )
    (found,) = fake.driver.guests()
    assert found.power_state is PowerState.CRASHED
    facts = fake.driver.facts(guest.uuid)
    assert facts is not None
    assert (facts.reason, facts.details) == (StateReason.PANICKED, "x")
    fake.driver.start(guest)
    facts = fake.driver.facts(guest.uuid)
    assert facts is not None
    assert facts.reason == ""


class Watched:
    """An agent on real QEMU that looks at all guests once an hour: what it tells sooner, it was told."""

    def __init__(self, hypervisor: Hypervisor, state_dir: Path) -> None:
        self.hypervisor = hypervisor
        self.conductor = ConductorDouble()
        self.agent = Agent(
            host="h1",
            conductor=self.conductor,
            open_driver=lambda: hypervisor.driver,
            state_dir=state_dir,
            options=AgentOptions(power_sync_interval_s=3600.0, shutdown_s=3.0, wakeup_wait_s=0.1),
        )
        self._thread = threading.Thread(target=self.agent.run)

    def guest(self) -> tuple[GuestSpec, InstanceRow]:
        """An instance and its guest, which runs; the agent runs from the first one on."""
        guest = self.hypervisor.build(self.hypervisor.guest())
        row = self.conductor.place(guest)
        if not self._thread.is_alive():
            self._thread.start()
            eventually(lambda: any(thread.name == "power" for thread in threading.enumerate()))
        return guest, row

    @contextmanager
    def heard_events(self) -> Iterator[list[tuple[float, str | None]]]:
        """What is told to the agent, and when, in seconds. Libvirt takes one listener of a kind."""
        heard: list[tuple[float, str | None]] = []
        note = self.agent.context.guest_events.note

        def pass_on(uuid: str | None) -> None:
            heard.append((time.monotonic(), uuid))
            note(uuid)

        self.hypervisor.driver.watch(pass_on)
        yield heard
        self.hypervisor.driver.watch(note)

    def end(self) -> None:
        """Stop the agent, which closes its driver: the next test has it open."""
        self.agent.stop()
        if self._thread.ident is not None:
            self._thread.join()
        self.hypervisor.driver.open()


@pytest.fixture
def watched(qemu: Hypervisor, tmp_path: Path) -> Iterator[Watched]:
    watched = Watched(qemu, tmp_path)
    yield watched
    watched.end()


@contextmanager
def guests_are_our_children() -> Iterator[None]:
    """QEMUs that are started inside become children of this process, as they are of init elsewhere.

    libvirt says that a guest has stopped once init has reaped it, and not every container's init does so at once.
    """
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    assert prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    try:
        yield
    finally:
        prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def reap_soon(hypervisor: Hypervisor, guest: GuestSpec) -> int:
    """Wait for the end of the guest's QEMU, as init does; its process id, or 0 when libvirt saw the end already."""
    pids = [int(path.read_text()) for path in hypervisor.state_dir.glob(f"hv/run/qemu/i-{guest.uuid[:8]}*.pid")]
    if not pids:
        return 0
    (pid,) = pids
    threading.Thread(target=os.waitpid, args=(pid, 0), daemon=True).start()
    return pid


def handle_of(hypervisor: Hypervisor) -> Any:
    """The hypervisor's own handle: libvirt lets a process open a root once, so others have to come by it."""
    return hypervisor.driver._connection.handle()  # type: ignore[attr-defined]


def power_of(hypervisor: Hypervisor, guest: GuestSpec) -> PowerState | None:
    facts = hypervisor.driver.facts(guest.uuid)
    return None if facts is None else facts.power_state


@pytest.mark.libvirt
@pytest.mark.qemu
def test_guest_that_is_killed_is_told_as_crashed(watched: Watched) -> None:
    with guests_are_our_children():
        guest, row = watched.guest()
    pid = reap_soon(watched.hypervisor, guest)
    eventually(lambda: row.power_state is PowerState.RUNNING)

    os.kill(pid, signal.SIGKILL)

    eventually(lambda: row.power_state is PowerState.CRASHED)
    facts = watched.hypervisor.driver.facts(guest.uuid)
    assert facts is not None
    assert facts.reason == StateReason.CRASHED


@pytest.mark.libvirt
@pytest.mark.qemu
def test_guest_that_panics_is_told_as_crashed_and_why(watched: Watched) -> None:
    _, row_of_other = watched.guest()
    eventually(lambda: row_of_other.power_state is PowerState.RUNNING)
    guest = watched.hypervisor.guest(PANICS_IMAGE)
    row = watched.conductor.place(guest)
    with guests_are_our_children():
        watched.hypervisor.build(guest, PANICS_IMAGE)
    reap_soon(watched.hypervisor, guest)
    eventually(lambda: row.power_state is PowerState.CRASHED)
    facts = watched.hypervisor.driver.facts(guest.uuid)
    assert facts is not None
    assert facts.reason == StateReason.PANICKED


@pytest.mark.libvirt
@pytest.mark.qemu
@pytest.mark.parametrize(
    ("action", "state"),
    [("pause", PowerState.PAUSED), ("reset", PowerState.RUNNING), ("poweroff", PowerState.SHUTDOWN)],
)
def test_guest_that_hangs_is_told_by_its_watchdog(qemu: Hypervisor, action: str, state: PowerState) -> None:
    guest = qemu.guest(HANGS_IMAGE, image_properties={"hw_watchdog_action": action})
    qemu.driver.watch(lambda uuid: None)
    with guests_are_our_children():
        qemu.build(guest, HANGS_IMAGE)
    reap_soon(qemu, guest)

    def facts() -> GuestFacts:
        found = qemu.driver.facts(guest.uuid)
        assert found is not None
        return found

    eventually(lambda: facts().watchdog_fired > 0)
    eventually(lambda: facts().power_state is state)
    found = facts()
    assert found.reason == (StateReason.WATCHDOG if action == "pause" else "")


@pytest.mark.libvirt
@pytest.mark.qemu
def test_what_somebody_else_does_to_a_guest_is_told(watched: Watched) -> None:
    guest, row = watched.guest()
    eventually(lambda: row.power_state is PowerState.RUNNING)
    domain = handle_of(watched.hypervisor).lookupByUUIDString(guest.uuid)

    domain.suspend()
    eventually(lambda: row.power_state is PowerState.PAUSED)
    domain.destroy()
    eventually(lambda: row.power_state is PowerState.SHUTDOWN)


@pytest.mark.libvirt
@pytest.mark.qemu
@pytest.mark.parametrize("machine", ["pc", "q35"])
def test_guest_that_powers_itself_off_is_told(watched: Watched, machine: str) -> None:
    _, row_of_other = watched.guest()
    eventually(lambda: row_of_other.power_state is PowerState.RUNNING)
    guest = watched.hypervisor.guest(POWERS_OFF_IMAGE, image_properties={"hw_machine_type": machine})
    row = watched.conductor.place(guest)
    with watched.heard_events() as heard:
        with guests_are_our_children():
            watched.hypervisor.build(guest, POWERS_OFF_IMAGE)
        reap_soon(watched.hypervisor, guest)
        eventually(lambda: row.power_state is PowerState.SHUTDOWN)
        told_at = time.monotonic()

    resumed_at, started_at, off_at = [at for at, uuid in heard if uuid == guest.uuid][:3]
    assert resumed_at <= started_at < off_at
    print(f"told {told_at - off_at:.3f} s after it went off")


@pytest.mark.libvirt
@pytest.mark.qemu
def test_guest_that_powered_itself_off_is_started_although_its_qemu_has_not_ended(qemu: Hypervisor) -> None:
    guest = qemu.build(qemu.guest(POWERS_OFF_IMAGE), POWERS_OFF_IMAGE)
    eventually(lambda: power_of(qemu, guest) is PowerState.SHUTDOWN)
    (log,) = qemu.state_dir.glob(f"hv/**/log/**/i-{guest.uuid[:8]}*.log")
    assert log.read_text().count("starting up") == 1

    qemu.driver.start(guest)

    # The second QEMU may have ended before anybody looks, but libvirt has written that there was one.
    assert log.read_text().count("starting up") == 2
