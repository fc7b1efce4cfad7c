"""An agent that dies after the deed and before it is told: the next one tells it, and does not do it again."""

import pytest

from computeagent.agent.done_once import DIRECTORY
from computeagent.protocol.guests import RescueImage
from computeagent.protocol.power import PowerState
from computeagent.protocol.work import WorkKind
from tests.fixtures.patience import eventually
from tests.units.computeagent.agent.conftest import World, guest_spec

RESCUE = RescueImage("tools", "c2", 11, "raw")
DEEDS = [
    (WorkKind.REBOOT, "hard_reboot", None),
    (WorkKind.REBOOT_SOFT, "start", None),
    (WorkKind.RESCUE, "rescue", RESCUE),
    (WorkKind.UNRESCUE, "hard_reboot", None),
    (WorkKind.REBUILD, "spawn", None),
]


@pytest.mark.parametrize(("kind", "deed", "rescue"), DEEDS)
def test_deed_that_nobody_heard_of_is_told_and_not_done_again(
    world: World, kind: WorkKind, deed: str, rescue: RescueImage | None
) -> None:
    guest = guest_spec(rescue=rescue)
    world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    gate = world.driver.gate(deed)
    first = world.start(shutdown_s=2.2)
    work = world.conductor.order(kind, guest)
    eventually(world.driver.entered[deed].is_set)
    world.conductor.away = True
    gate.set()
    eventually(lambda: any((world.state_dir / DIRECTORY).glob("*")))
    first.end()
    world.conductor.away = False
    work.lease_until = 0.0
    world.start()
    eventually(lambda: work.state == "done")
    assert world.driver.verbs.count(deed) == 1
    assert work.attempt == 2
    eventually(lambda: not any((world.state_dir / DIRECTORY).glob("*")))


def test_same_deed_of_another_order_is_done(world: World) -> None:
    guest = guest_spec()
    world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    world.start()
    for _time in range(2):
        work = world.conductor.order(WorkKind.REBOOT, guest)
        eventually(lambda work=work: work.state == "done")
    assert world.driver.verbs.count("hard_reboot") == 2
