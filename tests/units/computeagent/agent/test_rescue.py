"""Rebuild, rescue and back, and a new password, as the agent does them."""

import pytest

from computeagent.agent.rescue import admin_user
from computeagent.drivers.base import DriverError
from computeagent.protocol.guest_config import FirstBoot, GuestConfig
from computeagent.protocol.guests import GuestSpec, RescueImage
from computeagent.protocol.power import PowerState
from computeagent.protocol.work import WorkKind
from tests.fixtures.patience import eventually
from tests.units.computeagent.agent.conductor_double import InstanceRow, WorkRow
from tests.units.computeagent.agent.conftest import World, guest_spec

RESCUE = RescueImage("tools", "c2", 11, "raw")


def ordered(world: World, kind: WorkKind, guest: GuestSpec, **arguments: str) -> tuple[InstanceRow, WorkRow]:
    """The order for a guest that runs, with an agent that takes it."""
    row = world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    world.driver.disks.add(guest.uuid)
    work = world.conductor.order(kind, guest, **arguments)
    world.start()
    eventually(lambda: work.state in ("done", "failed"))
    return row, work


def verbs(world: World) -> list[str]:
    return [verb for verb in world.driver.verbs if verb not in {"open", "guests", "facts"}]


def test_rebuild_has_the_image_before_it_destroys_anything(world: World) -> None:
    row, work = ordered(world, WorkKind.REBUILD, guest_spec())
    assert verbs(world) == ["prepare_image", "destroy", "prepare_disks", "spawn"]
    assert [step for step, end in row.steps if end == "finished"] == [
        "rebuilding", "rebuild_block_device_mapping", "rebuild_spawning",
    ]  # fmt: skip
    assert (work.state, row.power_state) == ("done", "running")


def test_rebuild_without_the_image_destroys_nothing(world: World) -> None:
    world.driver.failures["prepare_image"] = [DriverError("no such bytes")]
    row, _ = ordered(world, WorkKind.REBUILD, guest_spec())
    assert row.action_failures == ["rebuilding: no such bytes"]
    assert "destroy" not in world.driver.verbs


def test_rebuild_of_what_is_to_be_off_defines_it_alone(world: World) -> None:
    world.conductor.power_state_wanted = PowerState.SHUTDOWN
    row, _ = ordered(world, WorkKind.REBUILD, guest_spec())
    assert verbs(world)[-1] == "define"
    assert row.power_state == "shutdown"


def test_rescue_brings_the_image_shuts_down_and_boots_from_it(world: World) -> None:
    world.conductor.first_boot_said = said = FirstBoot(admin_password="word")
    guest = guest_spec(rescue=RESCUE, config=GuestConfig(asks_first_boot=True))
    row, _ = ordered(world, WorkKind.RESCUE, guest)
    assert verbs(world) == ["prepare_image", "stop", "rescue"]
    assert world.driver.first_boots == [said]
    assert [step for step, end in row.steps if end == "finished"] == ["rescue_image", "rescuing"]


def test_rescue_without_an_image_fails(world: World) -> None:
    row, _ = ordered(world, WorkKind.RESCUE, guest_spec())
    (said,) = row.action_failures
    assert "without an image" in said


def test_end_of_a_rescue_is_a_hard_reboot_without_it(world: World) -> None:
    row, _ = ordered(world, WorkKind.UNRESCUE, guest_spec(rescue=RESCUE))
    assert verbs(world) == ["hard_reboot"]
    assert [step for step, end in row.steps if end == "finished"] == ["unrescuing"]


def test_rescued_guest_that_is_off_after_a_start_of_the_host_is_brought_back_in_rescue(world: World) -> None:
    guest = guest_spec(rescue=RESCUE)
    world.conductor.place(guest, vm_state="rescued")
    world.driver.running[guest.uuid] = PowerState.SHUTDOWN
    world.start()
    eventually(lambda: world.driver.running[guest.uuid] is PowerState.RUNNING)


@pytest.mark.parametrize(
    ("properties", "user"),
    [
        ({}, "root"),
        ({"os_type": "linux"}, "root"),
        ({"os_type": "windows"}, "Administrator"),
        ({"os_type": "windows", "os_admin_user": "boss"}, "boss"),
    ],
)
def test_administrator_is_who_the_image_says(properties: dict[str, str], user: str) -> None:
    assert admin_user(guest_spec(image_properties=properties)) == user


def test_password_goes_to_the_driver_and_into_no_log(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    row, work = ordered(world, WorkKind.CHANGE_PASSWORD, guest_spec(), password="not to be told")
    assert world.driver.passwords == [("root", "not to be told")]
    assert [step for step, end in row.steps if end == "finished"] == ["updating_password"]
    assert work.state == "done"
    assert "not to be told" not in caplog.text


def test_guest_is_interrupted_once_and_its_state_is_what_it_was(world: World) -> None:
    row, work = ordered(world, WorkKind.TRIGGER_CRASH_DUMP, guest_spec())
    assert verbs(world) == ["inject_nmi"]
    assert [step for step, end in row.steps if end == "finished"] == ["interrupting"]
    assert (work.state, row.power_state) == ("done", "running")


def test_order_without_a_password_fails(world: World) -> None:
    row, _ = ordered(world, WorkKind.CHANGE_PASSWORD, guest_spec())
    assert row.action_failures == ["updating_password: no password came with the order"]
    assert world.driver.passwords == []
