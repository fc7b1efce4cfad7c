"""What every driver promises, tried on each kind of hypervisor."""

import uuid

import pytest

from computeagent.drivers.base import DriverError
from computeagent.protocol.power import PowerState
from tests.e2e.drivers.conftest import Hypervisor

HOSTILE_NAME = "</name>\x01\x00<devices/>&\ud800 ' \" 日本"


def test_host_report_names_host_and_sizes(hypervisor: Hypervisor) -> None:
    report = hypervisor.driver.host_report()

    assert report.hypervisor_hostname == f"node-{hypervisor.kind}"
    assert min(report.vcpus, report.memory_mib, report.disk_gib) > 0
    assert "COMPUTE_NODE" in report.traits
    assert all(len(kind) == 3 for kind in report.supported_instances)


def test_spawned_guest_runs_and_is_counted(hypervisor: Hypervisor) -> None:
    before = hypervisor.driver.host_report()

    guest = hypervisor.build(hypervisor.guest())

    facts = hypervisor.driver.facts(guest.uuid)
    after = hypervisor.driver.host_report()
    assert facts is not None
    assert facts.power_state is PowerState.RUNNING
    assert after.running_guests == before.running_guests + 1
    assert after.memory_used_mib == before.memory_used_mib + guest.memory_mib
    assert after.vcpus_used == before.vcpus_used + guest.vcpus


def test_spawn_twice_is_one_guest(hypervisor: Hypervisor) -> None:
    guest = hypervisor.build(hypervisor.guest())

    assert hypervisor.driver.spawn(guest).power_state is PowerState.RUNNING
    assert hypervisor.uuids() == [guest.uuid]


def test_whole_build_repeated_on_a_running_guest_is_one_guest(hypervisor: Hypervisor) -> None:
    guest = hypervisor.build(hypervisor.guest())

    hypervisor.build(guest)

    assert hypervisor.uuids() == [guest.uuid]


def test_hostile_name_comes_back_as_text(hypervisor: Hypervisor) -> None:
    guest = hypervisor.build(hypervisor.guest(name=HOSTILE_NAME))

    (found,) = hypervisor.driver.guests()
    assert found.uuid == guest.uuid
    assert "</name>" in found.name
    assert "日本" in found.name


def test_destroyed_guest_is_gone(hypervisor: Hypervisor) -> None:
    guest = hypervisor.build(hypervisor.guest())

    hypervisor.driver.destroy(guest.uuid)

    assert hypervisor.driver.facts(guest.uuid) is None
    assert hypervisor.uuids() == []


def test_destroying_what_is_not_there_succeeds(hypervisor: Hypervisor) -> None:
    hypervisor.driver.destroy(str(uuid.uuid4()))


def test_destroy_leaves_no_file(hypervisor: Hypervisor) -> None:
    guest = hypervisor.build(hypervisor.guest())

    hypervisor.driver.destroy(guest.uuid)

    short = guest.uuid.replace("-", "")[:12]
    left = [path for path in hypervisor.state_dir.rglob("*") if guest.uuid in path.name or short in path.name]
    assert left == []


def test_stopped_guest_is_off_and_kept(hypervisor: Hypervisor) -> None:
    guest = hypervisor.build(hypervisor.guest())

    facts = hypervisor.driver.stop(guest.uuid, grace_s=0)

    (found,) = hypervisor.driver.guests()
    assert facts.power_state is PowerState.SHUTDOWN
    assert found.power_state is PowerState.SHUTDOWN


def test_stopping_twice_succeeds(hypervisor: Hypervisor) -> None:
    guest = hypervisor.build(hypervisor.guest())
    hypervisor.driver.stop(guest.uuid, grace_s=0)

    assert hypervisor.driver.stop(guest.uuid, grace_s=0).power_state is PowerState.SHUTDOWN


def test_stopped_guest_starts_again(hypervisor: Hypervisor) -> None:
    guest = hypervisor.build(hypervisor.guest())
    hypervisor.driver.stop(guest.uuid, grace_s=0)

    assert hypervisor.driver.start(guest).power_state is PowerState.RUNNING


def test_starting_a_running_guest_succeeds(hypervisor: Hypervisor) -> None:
    guest = hypervisor.build(hypervisor.guest())

    assert hypervisor.driver.start(guest).power_state is PowerState.RUNNING


def test_hard_rebooted_guest_runs(hypervisor: Hypervisor) -> None:
    guest = hypervisor.build(hypervisor.guest())

    assert hypervisor.driver.hard_reboot(guest).power_state is PowerState.RUNNING
    assert hypervisor.uuids() == [guest.uuid]


def test_paused_guest_stands_still_and_runs_on(hypervisor: Hypervisor) -> None:
    guest = hypervisor.build(hypervisor.guest())
    driver = hypervisor.driver

    assert [driver.pause(guest.uuid).power_state for _ in range(2)] == [PowerState.PAUSED] * 2
    (found,) = driver.guests()
    assert found.power_state is PowerState.PAUSED
    assert [driver.unpause(guest.uuid).power_state for _ in range(2)] == [PowerState.RUNNING] * 2


def test_suspended_guest_is_off_and_is_resumed(hypervisor: Hypervisor) -> None:
    guest = hypervisor.build(hypervisor.guest())
    driver = hypervisor.driver

    assert [driver.suspend(guest.uuid).power_state for _ in range(2)] == [PowerState.SHUTDOWN] * 2
    assert [driver.resume(guest).power_state for _ in range(2)] == [PowerState.RUNNING] * 2
    assert hypervisor.uuids() == [guest.uuid]


def test_guest_that_is_off_is_neither_paused_nor_suspended(hypervisor: Hypervisor) -> None:
    guest = hypervisor.build(hypervisor.guest())
    driver = hypervisor.driver
    driver.stop(guest.uuid, grace_s=0)

    for verb in (driver.pause, driver.unpause, driver.suspend):
        with pytest.raises(DriverError):
            verb(guest.uuid)
        with pytest.raises(DriverError):
            verb(str(uuid.uuid4()))


def test_paused_and_suspended_guests_are_rebooted_hard_and_destroyed(hypervisor: Hypervisor) -> None:
    paused, suspended = (hypervisor.build(hypervisor.guest()) for _ in range(2))
    driver = hypervisor.driver
    driver.pause(paused.uuid)
    driver.suspend(suspended.uuid)
    assert driver.hard_reboot(paused).power_state is PowerState.RUNNING
    assert driver.hard_reboot(suspended).power_state is PowerState.RUNNING

    driver.pause(paused.uuid)
    driver.suspend(suspended.uuid)
    driver.destroy(paused.uuid)
    driver.destroy(suspended.uuid)
    assert hypervisor.uuids() == []


def test_unknown_guest_has_no_facts_and_no_log(hypervisor: Hypervisor) -> None:
    unknown = str(uuid.uuid4())

    assert hypervisor.driver.facts(unknown) is None
    assert hypervisor.driver.console_log(unknown, max_bytes=1000) == b""


def test_console_log_is_cut_to_its_end(hypervisor: Hypervisor) -> None:
    guest = hypervisor.build(hypervisor.guest())

    assert len(hypervisor.driver.console_log(guest.uuid, max_bytes=4)) <= 4


@pytest.mark.parametrize("hypervisor", ["fake", pytest.param("qemu", marks=pytest.mark.qemu)], indirect=True)
def test_bad_checksum_is_refused(hypervisor: Hypervisor) -> None:
    guest = hypervisor.guest(content=b"what was uploaded")

    with pytest.raises(DriverError, match="does not match its checksum"):
        hypervisor.driver.prepare_image(guest, lambda: iter([b"what has arrived"]))


@pytest.mark.parametrize("hypervisor", ["fake", pytest.param("qemu", marks=pytest.mark.qemu)], indirect=True)
def test_reopened_driver_finds_the_guest_running(hypervisor: Hypervisor) -> None:
    guest = hypervisor.build(hypervisor.guest())

    hypervisor.driver.close()
    hypervisor.driver.open()

    facts = hypervisor.driver.facts(guest.uuid)
    assert facts is not None
    assert facts.power_state is PowerState.RUNNING


def test_what_guests_use_is_counted_while_they_run(hypervisor: Hypervisor) -> None:
    guest = hypervisor.build(hypervisor.guest())
    counted = hypervisor.driver.guest_counters()
    # A simulated host counts nothing; whatever counts speaks of this guest alone.
    assert set(counted) <= {guest.uuid}
    hypervisor.driver.stop(guest.uuid, grace_s=0)
    assert hypervisor.driver.guest_counters() == {}
