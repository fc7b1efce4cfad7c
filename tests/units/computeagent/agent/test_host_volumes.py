"""Volumes had ready for guests: their places and secrets, what is let go of when, and pools that do not answer."""

import json
import threading
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from computeagent.agent.pool_reports import PoolReports
from computeagent.agent.retry import Retry
from computeagent.agent.volumes import HostVolumes
from computeagent.drivers.base import DriverError
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.volumes import NO_SOURCE, GuestVolume, PoolKind, PoolReport, VolumeSpec
from computeagent.volumes.memory import MemoryBackend
from tests.fixtures.patience import PATIENCE_S
from tests.units.computeagent.agent.conductor_double import ConductorDouble
from tests.units.computeagent.agent.conftest import guest_spec


class OneHost:
    """The volumes of one host, its two pools, and the control plane that it asks for keys."""

    def __init__(self, directory: Path) -> None:
        self.conductor = ConductorDouble()
        self.local, self.nfs = MemoryBackend("local"), MemoryBackend("nfs", is_shared=True)
        self.state_file = directory / "volumes.json"
        self.volumes = self.begun()

    def begun(self) -> HostVolumes:
        """As an agent begins that was started anew."""
        return HostVolumes(
            host="h1",
            conductor=self.conductor,
            pools={"local": self.local, "nfs": self.nfs},
            retry=Retry(stopping=lambda: False, pause=lambda _seconds: None),
            state_file=self.state_file,
        )

    def made(self, **more: object) -> VolumeSpec:
        """A volume that is there."""
        volume = VolumeSpec(str(uuid.uuid4()), "local", PoolKind.FILE, 1, **more)  # type: ignore[arg-type]
        self.volumes.make(volume, NO_SOURCE, image_file=Path, progress=lambda _done, _total: None)
        return volume


def having(*volumes: VolumeSpec) -> GuestSpec:
    """A guest with these."""
    return guest_spec(volumes=tuple(GuestVolume(f"a-{volume.id}", volume) for volume in volumes))


@pytest.fixture
def host(tmp_path: Path) -> OneHost:
    return OneHost(tmp_path / "state")


def test_guest_is_told_where_its_volumes_are_and_lets_go_of_them(host: OneHost) -> None:
    first, second = host.made(), host.made()
    guest = host.volumes.connected(having(first, second))
    paths = [each.source.path for each in guest.volumes if each.source]
    assert paths == [f"memory:local/{first.id}", f"memory:local/{second.id}"]
    assert host.volumes.connected(guest) == guest
    host.volumes.disconnect(guest.uuid, first.id)
    assert host.local.connected == {second.id}
    host.volumes.disconnect(guest.uuid)
    host.volumes.disconnect(guest.uuid)
    assert host.local.connected == set()
    assert json.loads(host.state_file.read_text()) == {}


def test_agent_that_is_started_anew_lets_go_of_what_an_earlier_one_connected(host: OneHost) -> None:
    volume = host.made()
    guest = having(volume)
    host.volumes.connected(guest)
    anew = host.begun()
    anew.disconnect(guest.uuid)
    assert host.local.connected == set()


def test_connecting_that_was_cut_off_is_let_go_of_too(host: OneHost) -> None:
    volume = host.made()
    guest = having(volume)
    host.local.faults["connect"] = "no port is free"
    with pytest.raises(DriverError, match="no port is free"):
        host.volumes.connected(guest)
    assert list(json.loads(host.state_file.read_text())) == [guest.uuid]
    host.begun().disconnect(guest.uuid)
    assert json.loads(host.state_file.read_text()) == {}


def test_pool_that_is_away_is_no_fault_of_its_host(host: OneHost) -> None:
    guest = having(host.made())
    for fault, failure_class in (("pool", FailureClass.NETWORK), ("connect", FailureClass.HOST)):
        host.local.faults = {fault: "it does not work"}
        with pytest.raises(DriverError, match="it does not work") as raised:
            host.volumes.connected(guest)
        assert raised.value.failure_class is failure_class


def test_volume_of_several_guests_stays_until_the_last_lets_go(host: OneHost) -> None:
    volume = host.made()
    one, other = having(volume), having(volume)
    host.volumes.connected(one)
    host.volumes.connected(other)
    host.volumes.disconnect(one.uuid)
    assert host.local.connected == {volume.id}
    host.volumes.disconnect(other.uuid)
    assert host.local.connected == set()


def test_key_comes_with_the_source_and_is_written_down_nowhere(host: OneHost) -> None:
    volume = replace(host.made(), is_encrypted=True)
    with pytest.raises(DriverError, match="cannot be had"):
        host.volumes.connected(having(volume))
    host.conductor.volume_keys[volume.id] = "open sesame"
    (found,) = host.volumes.connected(having(volume)).volumes
    assert found.source is not None
    assert found.source.passphrase == "open sesame"
    assert "sesame" not in repr(found)
    assert "sesame" not in host.state_file.read_text()


def test_pool_that_the_host_has_no_more_holds_up_no_deletion(host: OneHost) -> None:
    volume = VolumeSpec(str(uuid.uuid4()), "gone", PoolKind.FILE, 1)
    guest = having(volume)
    with pytest.raises(DriverError, match="no pool 'gone'") as raised:
        host.volumes.connected(guest)
    assert raised.value.failure_class is FailureClass.HOST
    host.volumes.disconnect(guest.uuid)


def test_file_that_cannot_be_read_is_said_so(host: OneHost) -> None:
    host.state_file.parent.mkdir(parents=True, exist_ok=True)
    host.state_file.write_text("[nonsense")
    with pytest.raises(DriverError, match="cannot read"):
        host.begun().disconnect("g")


def test_pool_that_hangs_is_a_problem_of_its_own() -> None:
    gate = threading.Event()

    class Hanging(MemoryBackend):
        is_stuck = False

        def report(self) -> PoolReport:
            if self.is_stuck:
                gate.wait(PATIENCE_S)
            return super().report()

    hanging = Hanging("nfs", is_shared=True)
    reports = PoolReports({"nfs": hanging, "local": MemoryBackend("local")}, wait_s=0.1)
    assert [(one.name, one.problem) for one in reports.now()] == [("local", ""), ("nfs", "")]
    hanging.is_stuck = True
    local, nfs = reports.now()
    assert (local.problem, nfs.problem) == ("", "it did not answer within 0 s")
    hanging.is_stuck = False
    gate.set()
    assert [one.problem for one in reports.now()] == ["", ""]
