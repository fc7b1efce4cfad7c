"""How long a guest gets to shut down, by image and host, and what its journey says when the plug was pulled."""

import pytest

from computeagent.agent.shut_down import shutdown_timeout_s
from computeagent.protocol.guests import RescueImage
from computeagent.protocol.power import PowerState
from computeagent.protocol.work import WorkKind
from tests.fixtures.patience import eventually
from tests.units.computeagent.agent.conftest import World, guest_spec

SHUTS_DOWN = [WorkKind.STOP, WorkKind.SOFT_DELETE, WorkKind.SHELVE, WorkKind.RESCUE]


@pytest.mark.parametrize(
    ("of_image", "seconds"),
    [({}, 60.0), ({"os_shutdown_timeout": "180"}, 180.0), ({"os_shutdown_timeout": "0"}, 0.0)],
)
def test_image_goes_before_the_host(of_image: dict[str, str], seconds: float) -> None:
    assert shutdown_timeout_s(guest_spec(image_properties=of_image), 60.0) == seconds


@pytest.mark.parametrize("older", ["abc", "-1", "1.5", "", "\u0663"])
def test_what_an_older_image_says_that_is_no_number_is_nothing(older: str) -> None:
    assert shutdown_timeout_s(guest_spec(image_properties={"os_shutdown_timeout": older}), 60.0) == 60.0


def test_no_image_makes_work_endless() -> None:
    assert shutdown_timeout_s(guest_spec(image_properties={"os_shutdown_timeout": "9" * 5000}), 60.0) == 3600.0


@pytest.mark.parametrize("kind", SHUTS_DOWN)
def test_each_action_that_shuts_down_gives_the_images_time(world: World, kind: WorkKind) -> None:
    rescue = RescueImage("tools", "c2", 11, "raw") if kind is WorkKind.RESCUE else None
    guest = guest_spec(image_properties={"os_shutdown_timeout": "77"}, rescue=rescue)
    world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    world.start()
    world.conductor.order(kind, guest)
    eventually(lambda: world.driver.grace_s == [77.0])


def test_journey_says_that_the_plug_was_pulled(world: World) -> None:
    guest = guest_spec()
    row = world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    world.driver.deaf.add(guest.uuid)
    world.start(shutdown_timeout_s=0.05)
    work = world.conductor.order(WorkKind.STOP, guest)
    eventually(lambda: work.state == "done")
    assert [step for step, end in row.steps if end == "finished"] == ["plug_pulled", "powering-off"]
