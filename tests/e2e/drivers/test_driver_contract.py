"""What every driver promises, tried on each kind of hypervisor."""

import hashlib
import io
import os
import traceback
import uuid
from dataclasses import replace
from functools import partial

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.boot_sector import boot_sector
from computeagent.drivers.rescue_image import of_rescue_image
from computeagent.protocol.consoles import ConsoleKind
from computeagent.protocol.guests import GuestSpec, PortSpec, RescueImage
from computeagent.protocol.images import WantedImage
from computeagent.protocol.power import PowerState
from computeagent.protocol.screens import MAX_PNG_BYTES, PNG_MAGIC
from computeagent.protocol.steps import FailureClass
from controlplane.kernel.disk_images import disk_image_size
from tests.e2e.drivers.conftest import IMAGE, Hypervisor

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
def test_picture_of_the_screen_is_a_small_png_and_one_that_is_off_has_none(hypervisor: Hypervisor) -> None:
    guest = hypervisor.build(hypervisor.guest())
    png = hypervisor.driver.screenshot(guest.uuid)
    assert png.startswith(PNG_MAGIC)
    assert len(png) <= MAX_PNG_BYTES
    hypervisor.driver.stop(guest.uuid, grace_s=0)
    with pytest.raises(DriverError):
        hypervisor.driver.screenshot(guest.uuid)
    with pytest.raises(DriverError):
        hypervisor.driver.screenshot(str(uuid.uuid4()))


@pytest.mark.parametrize("hypervisor", ["fake", pytest.param("qemu", marks=pytest.mark.qemu)], indirect=True)
def test_guest_that_is_on_is_interrupted_and_one_that_is_off_is_not(hypervisor: Hypervisor) -> None:
    guest = hypervisor.build(hypervisor.guest())
    assert hypervisor.driver.inject_nmi(guest.uuid).power_state is PowerState.RUNNING
    hypervisor.driver.pause(guest.uuid)
    assert hypervisor.driver.inject_nmi(guest.uuid).power_state is PowerState.PAUSED
    hypervisor.driver.stop(guest.uuid, grace_s=0)
    for uuid_of in (guest.uuid, str(uuid.uuid4())):
        with pytest.raises(DriverError):
            hypervisor.driver.inject_nmi(uuid_of)


@pytest.mark.parametrize("hypervisor", ["fake", pytest.param("qemu", marks=pytest.mark.qemu)], indirect=True)
@pytest.mark.parametrize(("kind", "begin"), [(ConsoleKind.VNC, b"RFB "), (ConsoleKind.SERIAL, b"")])
def test_console_is_open_both_ways_and_one_that_is_off_has_none(
    kind: ConsoleKind, begin: bytes, hypervisor: Hypervisor
) -> None:
    guest = hypervisor.build(hypervisor.guest())
    descriptor = hypervisor.driver.console_open(guest.uuid, kind)
    try:
        os.set_blocking(descriptor, True)
        if begin and hypervisor.kind == "qemu":
            assert os.read(descriptor, 4) == begin
        assert os.write(descriptor, b"RFB 003.008\n") == 12
    finally:
        os.close(descriptor)
    hypervisor.driver.stop(guest.uuid, grace_s=0)
    for off in (guest.uuid, str(uuid.uuid4())):
        with pytest.raises(DriverError):
            hypervisor.driver.console_open(off, kind)


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


def test_snapshot_is_a_disk_that_stands_alone_and_is_made_once(hypervisor: Hypervisor) -> None:
    guest, image_id, told = hypervisor.build(hypervisor.guest()), str(uuid.uuid4()), []

    hypervisor.driver.snapshot(guest, image_id, lambda done, total: told.append((done, total)))
    with hypervisor.driver.snapshot_open(guest.uuid, image_id) as file:
        first = file.read()
    hypervisor.driver.snapshot(guest, image_id, lambda _done, _total: None)

    assert disk_image_size(io.BytesIO(first), declared="qcow2", file_bytes=len(first)) == 2**30
    with hypervisor.driver.snapshot_open(guest.uuid, image_id) as file:
        assert file.read() == first
    assert all(0 <= done <= total for done, total in told)
    facts = hypervisor.driver.facts(guest.uuid)
    assert facts is not None
    assert facts.power_state is PowerState.RUNNING


def test_snapshot_that_is_removed_is_gone_and_may_be_removed_again(hypervisor: Hypervisor) -> None:
    guest, image_id = hypervisor.build(hypervisor.guest()), str(uuid.uuid4())
    hypervisor.driver.snapshot(guest, image_id, lambda _done, _total: None)

    hypervisor.driver.snapshot_remove(guest.uuid, image_id)
    hypervisor.driver.snapshot_remove(guest.uuid, image_id)

    with pytest.raises(DriverError):
        hypervisor.driver.snapshot_open(guest.uuid, image_id)


def test_snapshot_of_a_guest_that_is_off(hypervisor: Hypervisor) -> None:
    guest, image_id = hypervisor.build(hypervisor.guest()), str(uuid.uuid4())
    hypervisor.driver.stop(guest.uuid, grace_s=0)

    hypervisor.driver.snapshot(guest, image_id, lambda _done, _total: None)

    with hypervisor.driver.snapshot_open(guest.uuid, image_id) as file:
        assert file.read(4) == b"QFI\xfb"


def test_snapshot_of_what_is_not_there_fails(hypervisor: Hypervisor) -> None:
    with pytest.raises(DriverError):
        hypervisor.driver.snapshot(hypervisor.guest(), str(uuid.uuid4()), lambda _done, _total: None)


def test_destroy_takes_a_snapshot_with_it(hypervisor: Hypervisor) -> None:
    guest, image_id = hypervisor.build(hypervisor.guest()), str(uuid.uuid4())
    hypervisor.driver.snapshot(guest, image_id, lambda _done, _total: None)

    hypervisor.driver.destroy(guest.uuid)

    with pytest.raises(DriverError):
        hypervisor.driver.snapshot_open(guest.uuid, image_id)


SECRET = "the secret word of nobody"
RESCUE_WORDS = "hello from the rescue disk"
RESCUE_IMAGE = boot_sector(RESCUE_WORDS + "\r\n").ljust(2**20, b"\0")


def rescued(hypervisor: Hypervisor, guest: GuestSpec, **properties: str) -> GuestSpec:
    """The guest in rescue, booted from RESCUE_IMAGE."""
    checksum = f"sha256:{hashlib.sha256(RESCUE_IMAGE).hexdigest()}"
    image = RescueImage("rescue", checksum, len(RESCUE_IMAGE), "raw", dict(properties))
    in_rescue = replace(guest, rescue=image)
    hypervisor.driver.prepare_image(of_rescue_image(in_rescue), lambda: iter([RESCUE_IMAGE]))
    assert hypervisor.driver.rescue(in_rescue).power_state is PowerState.RUNNING
    return in_rescue


def test_rescue_ends_with_a_hard_reboot_or_a_destruction_and_so_does_its_disk(
    hypervisor: Hypervisor,
) -> None:
    guest = hypervisor.build(hypervisor.guest())

    rescued(hypervisor, guest)
    assert hypervisor.driver.hard_reboot(guest).power_state is PowerState.RUNNING
    assert hypervisor.uuids() == [guest.uuid]
    assert list(hypervisor.state_dir.rglob("disk.rescue")) == []

    rescued(hypervisor, guest)
    hypervisor.driver.destroy(guest.uuid)
    assert hypervisor.uuids() == []
    assert list(hypervisor.state_dir.rglob("disk.rescue")) == []


def test_guest_without_a_rescue_image_is_not_rescued(hypervisor: Hypervisor) -> None:
    if hypervisor.kind == "simulated":
        pytest.skip("a simulated host has no disks")
    guest = hypervisor.build(hypervisor.guest())

    with pytest.raises(DriverError, match="without an image"):
        hypervisor.driver.rescue(guest)


def test_defined_guest_is_off_and_starts(hypervisor: Hypervisor) -> None:
    guest = hypervisor.build(hypervisor.guest())
    hypervisor.driver.destroy(guest.uuid)
    hypervisor.driver.prepare_disks(guest)

    assert [hypervisor.driver.define(guest).power_state for _ in range(2)] == [PowerState.SHUTDOWN] * 2
    (found,) = hypervisor.driver.guests()
    assert found.power_state is PowerState.SHUTDOWN
    assert hypervisor.driver.start(guest).power_state is PowerState.RUNNING


def test_password_is_not_set_where_no_agent_answers(hypervisor: Hypervisor) -> None:
    plain, off = hypervisor.build(hypervisor.guest()), hypervisor.guest(image_properties={"hw_qemu_guest_agent": "yes"})
    hypervisor.build(off)
    hypervisor.driver.stop(off.uuid, grace_s=0)

    for guest in (plain, off, hypervisor.guest()):
        with pytest.raises(DriverError) as refused:
            hypervisor.driver.set_password(guest, user="root", password=SECRET)
        assert SECRET not in "".join(traceback.format_exception(refused.value))


@pytest.mark.parametrize("hypervisor", ["fake", pytest.param("qemu", marks=pytest.mark.qemu)], indirect=True)
def test_image_is_cached_before_any_guest_needs_it_and_is_read_once(hypervisor: Hypervisor) -> None:
    content = IMAGE[:-1] + bytes([len(hypervisor.kind)])
    spec = hypervisor.guest(content)
    checksum = spec.image_checksum.removeprefix("sha256:")
    wanted = WantedImage(spec.image_id, checksum, len(content), "raw")
    driver = hypervisor.driver

    driver.cache_image(wanted, lambda: iter([content]))
    driver.cache_image(wanted, lambda: iter([b"is not read again"]))

    (found,) = [image for image in driver.cached_images() if image.checksum == checksum]
    assert found.size_bytes > 0
    assert (found.guests, found.unused_s < 60) == (0, True)
    driver.prepare_image(spec, lambda: iter([b"nor for a guest"]))
    with pytest.raises(DriverError, match="does not match its checksum"):
        driver.cache_image(WantedImage("i", "c" * 64, 9, "raw"), lambda: iter([b"something"]))
    assert "c" * 64 not in {image.checksum for image in driver.cached_images()}


def with_card(guest: GuestSpec) -> GuestSpec:
    """The guest with one card more, in the hypervisor's default network."""
    return replace(guest, ports=(*guest.ports, PortSpec("52:54:00:12:34:57", "default", id="p2")))


def test_guest_that_is_off_gets_and_loses_a_card(hypervisor: Hypervisor) -> None:
    guest = hypervisor.build(hypervisor.guest(ports=(PortSpec("52:54:00:12:34:56", "default", id="p1"),)))
    hypervisor.driver.stop(guest.uuid, grace_s=0)

    for _ in range(2):
        assert hypervisor.driver.attach_interface(with_card(guest), "p2").power_state is PowerState.SHUTDOWN
    for _ in range(2):
        facts = hypervisor.driver.detach_interface(with_card(guest), "p2", timeout_s=1)
        assert facts.power_state is PowerState.SHUTDOWN
    assert hypervisor.driver.start(guest).power_state is PowerState.RUNNING


def test_card_of_no_port_of_the_guest_is_refused(hypervisor: Hypervisor) -> None:
    guest = hypervisor.build(hypervisor.guest())

    for verb in (hypervisor.driver.attach_interface, partial(hypervisor.driver.detach_interface, timeout_s=1)):
        with pytest.raises(DriverError, match="has no port 'p2'") as refused:
            verb(guest, "p2")
        assert refused.value.failure_class is FailureClass.USER


def test_card_for_a_guest_that_is_not_there_is_refused(hypervisor: Hypervisor) -> None:
    with pytest.raises(DriverError):
        hypervisor.driver.attach_interface(with_card(hypervisor.guest()), "p2")
