"""The order of kills."""

from tests.drill.schedule import MAX_MISSES_OF_CHOSEN, RANDOM_EVERY, Kill, Schedule

POINTS = ["a:x", "b:x", "c:x"]


def hits(schedule: Schedule, count: int) -> list[str]:
    points = []
    for _ in range(count):
        kill = schedule.next(POINTS)
        schedule.injected(kill)
        points.append(kill.point)
    return points


def test_every_point_is_hit_before_any_is_hit_again() -> None:
    injected = [point for point in hits(Schedule(1), 7) if point]
    assert sorted(injected[:3]) == POINTS and sorted(injected[3:6]) == POINTS


def test_every_fourth_kill_is_at_a_random_moment() -> None:
    points = hits(Schedule(1), 2 * RANDOM_EVERY)
    assert [number for number, point in enumerate(points, 1) if not point] == [RANDOM_EVERY, 2 * RANDOM_EVERY]


def test_same_seed_gives_the_same_kills() -> None:
    assert hits(Schedule(5), 20) == hits(Schedule(5), 20)


def test_point_that_nobody_passed_is_tried_with_a_restart_and_then_left_alone() -> None:
    schedule = Schedule(1)
    first = schedule.next(["a:x"])
    schedule.missed(first)
    second = schedule.next(["a:x"])
    schedule.missed(second)
    assert (first, second) == (Kill("a:x"), Kill("a:x", with_restart=True))
    assert schedule.next(["a:x"]) == Kill()


def test_chosen_point_that_nobody_passed_is_tried_longer() -> None:
    schedule = Schedule(1, only=["a:"])
    for _ in range(MAX_MISSES_OF_CHOSEN):
        kill = schedule.next(POINTS)
        assert kill.point == "a:x"
        schedule.missed(kill)
    assert schedule.next(POINTS) == Kill()


def test_point_that_was_hit_elsewhere_waits_for_the_others() -> None:
    schedule = Schedule(1, injected=["a:x"])
    assert {schedule.next(POINTS).point, *hits(schedule, 1)} <= {"b:x", "c:x"}


def test_asking_for_an_image_needs_a_real_guest_of_a_fresh_one() -> None:
    kill = Kill("computeagent.transport.image_chunks:before")
    assert kill.needs_real_guest
    assert kill.needs_fresh_image
    assert not Kill("computeagent.transport.take:before").needs_real_guest


def test_comparing_an_increment_with_backups_needs_a_volume_without_their_snapshots() -> None:
    assert Kill("computeagent.volumes.backup:compared").needs_comparing_backup
    assert not Kill("computeagent.volumes.backup:read").needs_comparing_backup


def test_volume_that_is_made_anew_needs_the_rebuild_of_an_instance_that_boots_from_one() -> None:
    assert Kill("computeagent.build_volumes:emptied").needs_rebuilt_volume
    assert not Kill("computeagent.build_volumes:made").needs_rebuilt_volume
