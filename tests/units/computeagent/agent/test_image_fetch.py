"""How an agent comes by an image when the control plane goes away while it is read, or sends too many now."""

import time

from computeagent.protocol.work import WorkKind
from controlplane.kernel.errors import Unavailable
from tests.fixtures.patience import eventually
from tests.units.computeagent.agent.conductor_double import InstanceRow
from tests.units.computeagent.agent.conftest import World, guest_spec


def build(world: World, *cuts: tuple[int, Unavailable]) -> InstanceRow:
    """Order one, and let its image be cut off after so many bytes, once each."""
    guest = guest_spec()
    world.conductor.image_cuts = list(cuts)
    world.conductor.order(WorkKind.BUILD, guest)
    world.start()
    return world.conductor.instances[guest.uuid]


def test_image_goes_on_where_it_was_cut_off(world: World) -> None:
    row = build(world, (4, Unavailable("cut")), (0, Unavailable("nobody there")), (3, Unavailable("cut")))
    eventually(lambda: row.vm_state == "active")
    assert world.conductor.image_asked == [0, 4, 4, 7]
    assert world.driver.images == [b"image bytes"]


def test_image_begins_anew_when_nothing_comes_at_all(world: World) -> None:
    row = build(world, (0, Unavailable("nobody there")), (4, Unavailable("cut")))
    eventually(lambda: row.vm_state == "active")
    assert world.conductor.image_asked == [0, 0, 4]
    assert world.driver.images == [b"image bytes"]


def test_control_plane_that_sends_too_many_is_asked_until_it_has_a_place(world: World) -> None:
    busy = [(0, Unavailable("16 downloads already", wait_s=0.01)) for _ in range(12)]
    row = build(world, *busy, (4, Unavailable("cut")), *busy)
    eventually(lambda: row.vm_state == "active")
    assert world.conductor.image_asked == [0] * 13 + [4] * 13
    assert row.failures == []


def test_fenced_build_asks_no_longer(world: World) -> None:
    guest = guest_spec()
    world.conductor.image_cuts = [(0, Unavailable("busy", wait_s=0.05)) for _ in range(1000)]
    work = world.conductor.order(WorkKind.BUILD, guest)
    world.start()
    eventually(lambda: len(world.conductor.image_asked) > 3)
    world.conductor.fence(work)
    count = len(world.conductor.image_asked)
    time.sleep(0.5)
    assert len(world.conductor.image_asked) == count
    assert (world.driver.images, world.driver.disks) == ([], set())
