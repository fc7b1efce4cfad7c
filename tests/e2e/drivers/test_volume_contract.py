"""What every driver promises of volumes, tried on each kind of hypervisor."""

from functools import partial
from pathlib import Path

import pytest

from computeagent.drivers.base import DriverError
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.power import PowerState
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.volumes import VolumeQos
from tests.e2e.drivers.conftest import Hypervisor
from tests.e2e.drivers.volume_files import GIB, file_volume, with_volumes

RUNNING = pytest.mark.parametrize(
    "hypervisor", ["fake", pytest.param("qemu", marks=[pytest.mark.libvirt, pytest.mark.qemu])], indirect=True
)


def has(hypervisor: Hypervisor, guest: GuestSpec) -> tuple[str, ...]:
    return hypervisor.driver.volumes_of_guests().get(guest.uuid, ())


def ids(guest: GuestSpec) -> tuple[str, ...]:
    return tuple(each.volume.id for each in guest.volumes)


@RUNNING
def test_volume_comes_while_the_guest_runs_and_once(hypervisor: Hypervisor) -> None:
    plain = hypervisor.build(hypervisor.guest())
    guest = with_volumes(plain, file_volume(hypervisor))
    (volume_id,) = ids(guest)

    for _ in range(2):
        assert hypervisor.driver.attach_volume(guest, volume_id).power_state is PowerState.RUNNING
        assert has(hypervisor, guest) == (volume_id,)
    assert hypervisor.driver.hard_reboot(guest).power_state is PowerState.RUNNING
    assert has(hypervisor, guest) == (volume_id,)


@RUNNING
def test_guest_is_started_with_its_volumes(hypervisor: Hypervisor) -> None:
    guest = hypervisor.build(with_volumes(hypervisor.guest(), *(file_volume(hypervisor) for _ in range(3))))
    assert has(hypervisor, guest) == ids(guest)
    hypervisor.driver.stop(guest.uuid, grace_s=0)
    assert has(hypervisor, guest) == ()


@RUNNING
def test_guest_that_does_not_let_go_keeps_its_volume_until_it_is_off(hypervisor: Hypervisor) -> None:
    guest = hypervisor.build(with_volumes(hypervisor.guest(), file_volume(hypervisor)))
    (volume_id,) = ids(guest)
    unresponsive = getattr(hypervisor.driver, "unresponsive", set())  # a boot sector is so by itself
    unresponsive.add(guest.uuid)

    with pytest.raises(DriverError, match="did not let go of the disk in 1 s") as refused:
        hypervisor.driver.detach_volume(guest, volume_id, timeout_s=1)
    assert refused.value.failure_class is FailureClass.USER
    assert has(hypervisor, guest) == (volume_id,)
    hypervisor.driver.stop(guest.uuid, grace_s=0)
    for _ in range(2):
        facts = hypervisor.driver.detach_volume(guest, volume_id, timeout_s=1)
        assert facts.power_state is PowerState.SHUTDOWN


def test_guest_that_is_off_gets_and_loses_a_volume(hypervisor: Hypervisor) -> None:
    plain = hypervisor.build(hypervisor.guest())
    guest = with_volumes(plain, file_volume(hypervisor))
    (volume_id,) = ids(guest)
    hypervisor.driver.stop(guest.uuid, grace_s=0)

    for _ in range(2):
        assert hypervisor.driver.attach_volume(guest, volume_id).power_state is PowerState.SHUTDOWN
    for _ in range(2):
        facts = hypervisor.driver.detach_volume(guest, volume_id, timeout_s=1)
        assert facts.power_state is PowerState.SHUTDOWN
    assert hypervisor.driver.start(plain).power_state is PowerState.RUNNING
    assert has(hypervisor, guest) == ()


def test_volume_that_the_guest_is_not_to_have_is_refused(hypervisor: Hypervisor, tmp_path: Path) -> None:
    guest, driver = hypervisor.build(hypervisor.guest()), hypervisor.driver
    for verb in (
        driver.attach_volume,
        partial(driver.detach_volume, timeout_s=1),
        driver.limit_volume,
        partial(driver.copy_volume, target=tmp_path / "copy", progress=lambda _done, _total: None),
    ):
        with pytest.raises(DriverError, match="has no volume 'v'") as refused:
            verb(guest, "v")
        assert refused.value.failure_class is FailureClass.USER


def test_volume_for_a_guest_that_is_not_there_or_that_nobody_connected_is_refused(hypervisor: Hypervisor) -> None:
    stranger = with_volumes(hypervisor.guest(), file_volume(hypervisor))
    with pytest.raises(DriverError):
        hypervisor.driver.attach_volume(stranger, ids(stranger)[0])
    gone = hypervisor.driver.detach_volume(stranger, ids(stranger)[0], timeout_s=1)
    assert gone.power_state is PowerState.NOSTATE
    guest = hypervisor.build(hypervisor.guest())
    unconnected = with_volumes(guest, file_volume(hypervisor, source=None))
    with pytest.raises(DriverError, match="not connected to this host"):
        hypervisor.driver.attach_volume(unconnected, ids(unconnected)[0])


@RUNNING
def test_volume_grows_while_the_guest_has_it_and_never_shrinks(hypervisor: Hypervisor) -> None:
    guest = hypervisor.build(with_volumes(hypervisor.guest(), file_volume(hypervisor)))
    (volume_id,) = ids(guest)
    for size_gib in (3, 3, 2):
        hypervisor.driver.resize_volume(guest, volume_id, size_gib * GIB)
    copy = hypervisor.state_dir / "grown"
    facts = hypervisor.driver.copy_volume(guest, volume_id, copy, lambda _done, _total: None)
    assert (facts.size_bytes, copy.stat().st_size) == (3 * GIB, 3 * GIB)
    hypervisor.driver.limit_volume(guest, volume_id)
    hypervisor.driver.stop(guest.uuid, grace_s=0)
    for verb in (
        partial(hypervisor.driver.resize_volume, size_bytes=4 * GIB),
        hypervisor.driver.limit_volume,
        partial(hypervisor.driver.copy_volume, target=copy, progress=lambda _done, _total: None),
    ):
        with pytest.raises(DriverError):
            verb(guest, volume_id)


@RUNNING
def test_copying_that_is_ended_leaves_nothing_and_the_guest_goes_on(hypervisor: Hypervisor) -> None:
    class Ended(Exception):
        pass

    def end(_done: int, _total: int) -> None:
        raise Ended

    guest = hypervisor.build(with_volumes(hypervisor.guest(), file_volume(hypervisor, b"data" * 2**20)))
    (volume_id,) = ids(guest)
    copy = hypervisor.state_dir / "ended"
    if hypervisor.kind == "qemu":
        with pytest.raises(Ended):
            hypervisor.driver.copy_volume(guest, volume_id, copy, end)
        assert not copy.exists()
    hypervisor.driver.copy_volume(guest, volume_id, copy, lambda _done, _total: None)
    hypervisor.driver.copy_volume(guest, volume_id, copy, lambda _done, _total: None)
    assert copy.stat().st_size == GIB
    facts = hypervisor.driver.facts(guest.uuid)
    assert facts is not None and facts.power_state is PowerState.RUNNING


@RUNNING
def test_limits_of_a_volume_are_taken_with_it(hypervisor: Hypervisor) -> None:
    limited = file_volume(hypervisor, qos=VolumeQos(total_iops=100, write_bytes=2**20))
    guest = hypervisor.build(with_volumes(hypervisor.guest(), limited))
    hypervisor.driver.limit_volume(guest, limited.volume.id)
    assert has(hypervisor, guest) == ids(guest)
