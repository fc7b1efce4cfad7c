"""How an agent comes by an image when the control plane goes away while it is read, or sends too many now."""

import time
from collections.abc import Callable

import pytest

from computeagent.agent.held_leases import HeldWork
from computeagent.agent.images import bytes_had
from computeagent.agent.retry import Retry
from computeagent.drivers.base import DriverError
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.work import AgentLease, WorkKind
from controlplane.kernel.errors import Conflict, Fenced, KilonovaError, NotFound, Unavailable
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


def test_image_goes_on_after_what_an_earlier_fetch_left(world: World) -> None:
    world.driver.images_begun[guest_spec().image_checksum] = b"imag"
    row = build(world, (0, Unavailable("nobody there")), (3, Unavailable("cut")))
    eventually(lambda: row.vm_state == "active")
    assert world.conductor.image_asked == [4, 4, 7]
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


AWAY = 400
"""Calls that a store is away for: at ten seconds each more than an hour."""


def held() -> HeldWork:
    return HeldWork(AgentLease("w", 1, "o", 30.0), "the build")


def asked(*, stopping_after: int = AWAY, after: Callable[[int], None] = lambda _calls: None) -> tuple[Retry, list[int]]:
    """What calls, without waiting in between, and how often it did; `after` is told before each call but the first."""
    calls = [0]

    def pause(_seconds: float) -> None:
        after(calls[0])

    return Retry(stopping=lambda: calls[0] >= stopping_after, pause=pause), calls


def test_image_store_that_is_away_is_asked_for_as_long_as_the_work_has_time() -> None:
    retry, calls = asked(stopping_after=10 * AWAY)

    def read() -> bytes:
        calls[0] += 1
        if calls[0] <= AWAY:
            raise Unavailable("the image store does not answer")
        return b"image"

    assert bytes_had(retry, held(), read) == b"image"
    assert calls == [AWAY + 1]


def test_work_whose_time_is_over_asks_an_image_store_that_is_away_no_more() -> None:
    work = held()
    retry, calls = asked(after=lambda number: work.fence() if number == 9 else None)

    def read() -> bytes:
        calls[0] += 1
        raise Unavailable("the image store does not answer")

    with pytest.raises(Fenced):
        bytes_had(retry, work, read)
    assert calls == [9]


def test_agent_that_ends_meanwhile_leaves_the_work_and_blames_nobody() -> None:
    retry, calls = asked(stopping_after=7)

    def read() -> bytes:
        calls[0] += 1
        raise Unavailable("the image store does not answer")

    with pytest.raises(Unavailable):
        bytes_had(retry, held(), read)


@pytest.mark.parametrize("said", [NotFound("Image i does not exist."), Conflict("Image i is lost.")])
def test_image_that_the_control_plane_does_not_give_is_no_fault_of_the_host(said: KilonovaError) -> None:
    retry, _ = asked()

    def read() -> bytes:
        raise said

    with pytest.raises(DriverError) as raised:
        bytes_had(retry, held(), read)
    assert (raised.value.failure_class, raised.value.message) == (FailureClass.USER, said.message)
