"""Guests that stand still for a volume failed: told to run on once their pools can be used, and not before."""

import time
import uuid
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from computeagent.agent.context import AgentContext
from computeagent.agent.driver_guard import GuardedDriver
from computeagent.agent.guest_events import GuestEvents
from computeagent.agent.host_report import HostReports
from computeagent.agent.io_errors import FIRST_S, LONGEST_S, QUIET_S, IoErrorRelief
from computeagent.agent.networking import Networking
from computeagent.agent.options import AgentOptions
from computeagent.agent.retry import Retry
from computeagent.agent.volumes import HostVolumes
from computeagent.drivers.fake import FakeDriver
from computeagent.networks.memory import MemoryPlug
from computeagent.protocol.power import PowerState, StateReason
from computeagent.protocol.volumes import GuestVolume, PoolKind, VolumeSource, VolumeSpec
from computeagent.volumes.memory import MemoryBackend
from tests.units.computeagent.agent.conductor_double import ConductorDouble
from tests.units.computeagent.agent.conftest import guest_spec


class Host:
    """A host with one pool, whose clock is set by hand."""

    def __init__(self, path: Path) -> None:
        self.now = 1000.0
        self.fake, self.pool = FakeDriver("h1"), MemoryBackend("local")
        conductor: Any = ConductorDouble()
        retry = Retry(stopping=lambda: False, pause=lambda _seconds: None)
        volumes = HostVolumes(
            host="h1",
            conductor=conductor,
            pools={"local": self.pool},
            retry=retry,
            state_file=path / "volumes.json",
        )
        networking = Networking(
            host="h1", conductor=conductor, plug=MemoryPlug(), retry=retry, clock=time.monotonic, interval_s=30.0
        )
        self.driver = GuardedDriver(lambda: self.fake, networking, volumes)
        self.driver.open()
        self.context = AgentContext(
            host="h1",
            owner="h1:1",
            conductor=conductor,
            driver=self.driver,
            reports=HostReports(self.driver),
            state_dir=path,
            options=AgentOptions(),
            clock=lambda: self.now,
            pause=lambda _seconds: None,
            retry=retry,
            guest_events=GuestEvents(time.monotonic),
            networking=networking,
            volumes=volumes,
        )
        self.relief = IoErrorRelief(self.context)

    def guest(self, *, has_volume: bool = True) -> str:
        """The uuid of one that runs."""
        spec = VolumeSpec(str(uuid.uuid4()), "local", PoolKind.FILE, 1)
        self.pool.create(spec, VolumeSource(), image_file=Path, key_of=str.encode, progress=lambda _a, _b: None)
        volumes = (GuestVolume(str(uuid.uuid4()), spec),) if has_volume else ()
        guest = replace(guest_spec(), volumes=volumes)
        self.driver.spawn(guest)
        return guest.uuid

    def fails(self, guest_uuid: str) -> None:
        self.fake.happen(guest_uuid, PowerState.PAUSED, reason=StateReason.IO_ERROR)

    def after(self, seconds: float) -> "Host":
        self.now += seconds
        self.relief.tick()
        return self

    def runs(self, guest_uuid: str) -> bool:
        facts = self.fake.facts(guest_uuid)
        assert facts is not None
        return facts.power_state is PowerState.RUNNING


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_guest_runs_on_once_its_pool_is_back(host: Host) -> None:
    guest = host.guest()
    host.pool.faults["pool"] = "not mounted"
    host.fails(guest)
    for _ in range(3):
        assert not host.after(100).runs(guest)
    host.pool.faults.clear()
    host.after(0)
    assert host.after(FIRST_S).runs(guest)
    assert host.context.counts["run_on_after_io_error"] == 1


def test_guest_that_stops_again_and_again_is_told_less_and_less_often(host: Host) -> None:
    guest = host.guest()
    told = []
    for second in range(1800):
        if host.runs(guest):
            host.fails(guest)
        if host.after(1).runs(guest):
            told.append(second)
    waits = [after - before for before, after in pairwise(told)]
    assert waits == sorted(waits) and waits[0] < waits[-1] <= LONGEST_S + 1
    while not host.runs(guest):
        host.after(1)
    host.after(QUIET_S + LONGEST_S)
    host.fails(guest)
    host.after(0)
    assert host.after(FIRST_S).runs(guest)


@pytest.mark.parametrize("reason", ["", StateReason.WATCHDOG])
def test_guest_that_somebody_paused_or_that_its_watchdog_stopped_is_left_alone(host: Host, reason: str) -> None:
    guest = host.guest()
    host.fake.happen(guest, PowerState.PAUSED, reason=reason)
    host.after(0)
    assert not host.after(1000).runs(guest)


def test_guest_whose_own_disk_failed_waits_for_a_person(host: Host) -> None:
    guest = host.guest(has_volume=False)
    host.fails(guest)
    host.after(0)
    assert not host.after(1000).runs(guest)


def test_guest_that_somebody_works_on_is_left_alone(host: Host) -> None:
    guest = host.guest()
    host.fails(guest)
    assert host.context.instance_mutex.try_enter(guest)
    host.after(0)
    assert not host.after(1000).runs(guest)
    host.context.instance_mutex.leave(guest)
    assert host.after(1000).runs(guest)
