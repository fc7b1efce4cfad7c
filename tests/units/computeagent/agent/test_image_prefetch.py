"""The agent's part in filling image caches: it fetches what its host was asked to have, and tells how that ended."""

import pytest

from computeagent.agent.image_prefetch import REPORT_EVERY_S, ImagePrefetch
from computeagent.drivers.base import DriverError
from computeagent.protocol.images import CacheState, WantedImage
from controlplane.kernel.errors import Conflict, Unavailable
from tests.fixtures.patience import eventually
from tests.units.computeagent.agent.conftest import World

SUM = "a" * 64
WANTED = WantedImage("i1", SUM, 11, "raw")


class Clock:
    """Moved by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def prefetch(world: World, clock: Clock) -> ImagePrefetch:
    running = world.start(images_interval_s=3600.0)
    eventually(lambda: world.conductor.images_told)
    world.conductor.images_told.clear()
    return ImagePrefetch(running.agent.context, clock=clock)


def test_running_agent_fetches_what_its_host_was_asked_to_have(world: World) -> None:
    world.conductor.wanted_images["i1"] = WANTED
    world.start(images_interval_s=0.02)
    eventually(lambda: world.conductor.images_told[-1:] == [[SUM]])
    assert world.driver.images_present == {SUM: world.conductor.image}
    assert [state for _, state, _ in world.conductor.image_progress] == [CacheState.FETCHING, CacheState.CACHED]


def test_failure_is_told_and_the_next_image_is_fetched(world: World, prefetch: ImagePrefetch) -> None:
    world.conductor.wanted_images.update(i0=WantedImage("i0", "b" * 64, 1, "raw"), i1=WANTED)
    world.driver.failures["cache_image"] = [DriverError("No space left on device")]
    prefetch.tick("1")
    assert world.conductor.image_progress == [
        ("i0", CacheState.FETCHING, ""),
        ("i0", CacheState.FAILED, "No space left on device"),
        ("i1", CacheState.FETCHING, ""),
        ("i1", CacheState.CACHED, ""),
    ]


def test_control_plane_that_is_busy_is_asked_again_and_nothing_is_said_to_have_failed(
    world: World, prefetch: ImagePrefetch
) -> None:
    world.conductor.wanted_images["i1"] = WANTED
    world.driver.failures["cache_image"] = [Unavailable("16 downloads already")]
    with pytest.raises(Unavailable):
        prefetch.tick("1")
    assert world.conductor.image_progress == [("i1", CacheState.FETCHING, "")]
    prefetch.tick("1")
    assert world.conductor.image_progress[-1] == ("i1", CacheState.CACHED, "")


def test_fetch_goes_on_after_what_the_cache_has_of_it(world: World, prefetch: ImagePrefetch) -> None:
    world.conductor.wanted_images["i1"] = WANTED
    world.driver.images_begun[SUM] = b"imag"
    prefetch.tick("1")
    assert world.conductor.wanted_from == [4]
    assert world.driver.images_present == {SUM: world.conductor.image}


def test_image_without_data_is_told_as_failed(world: World, prefetch: ImagePrefetch) -> None:
    world.conductor.wanted_images["i1"] = WANTED
    world.driver.failures["cache_image"] = [Conflict("Image x is queued; it has no data yet.")]
    prefetch.tick("1")
    assert world.conductor.image_progress[-1][1] is CacheState.FAILED


def test_images_are_told_when_they_changed_and_once_in_a_while(
    world: World, prefetch: ImagePrefetch, clock: Clock
) -> None:
    for _ in range(3):
        prefetch.tick("1")
    world.driver.images_present[SUM] = b"123"
    for _ in range(3):
        prefetch.tick("1")
    clock.now = REPORT_EVERY_S
    prefetch.tick("1")
    assert world.conductor.images_told == [[], [SUM], [SUM]]
