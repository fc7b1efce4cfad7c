"""What the agent asks for right before it makes a config drive, and the files that a guest boots by."""

import pytest

from computeagent.protocol.guest_config import NO_FIRST_BOOT, BootFile, DirectBoot, FirstBoot, GuestConfig
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.work import WorkKind
from tests.fixtures.patience import eventually
from tests.units.computeagent.agent.conftest import World, guest_spec

ASKS = GuestConfig(asks_first_boot=True)
SAID = FirstBoot(admin_password="word")


def built(world: World, config: GuestConfig, direct_boot: DirectBoot | None = None) -> None:
    guest = guest_spec(config=config, direct_boot=direct_boot)
    world.conductor.order(WorkKind.BUILD, guest)
    world.start()
    eventually(lambda: world.conductor.instances[guest.uuid].vm_state == "active")


def test_drive_is_made_with_what_the_control_plane_says(world: World) -> None:
    world.conductor.first_boot_said = SAID
    built(world, ASKS)
    assert world.driver.first_boots == [SAID]


@pytest.mark.parametrize("config", [GuestConfig(has_drive=False, asks_first_boot=True), GuestConfig()])
def test_nobody_is_asked_where_the_order_says_all_or_there_is_no_drive(world: World, config: GuestConfig) -> None:
    world.conductor.first_boot_refusal = "must not be asked"
    built(world, config)
    assert world.driver.first_boots == [NO_FIRST_BOOT]


def test_refusal_fails_the_build_and_does_not_count_against_the_host(world: World) -> None:
    world.conductor.first_boot_refusal = "The vendor data service inventory did not answer."
    guest = guest_spec(config=ASKS)
    world.conductor.order(WorkKind.BUILD, guest)
    world.start()
    row = world.conductor.instances[guest.uuid]
    eventually(lambda: row.failures)
    (failure,) = row.failures
    assert (failure.failure_class, failure.step) == (FailureClass.NETWORK, "block_device_mapping")
    assert "inventory did not answer" in failure.message
    assert not world.driver.disks


def test_kernel_and_ramdisk_are_fetched_by_their_ids(world: World) -> None:
    built(world, GuestConfig(), DirectBoot(BootFile("kernel", "1" * 64, 1), BootFile("ramdisk", "2" * 64, 1)))
    assert world.conductor.boot_files_asked == ["kernel", "ramdisk"]
    assert len(world.driver.images) == 3
