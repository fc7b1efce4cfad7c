"""One hub hears the wake-ups of many queues: on each database, on Redis, with waiters that come, go and give up."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as WaitTimeout
from typing import Any

import pytest
from django.db import transaction

from controlplane.kernel.errors import Unavailable
from controlplane.work.models import Wakeup
from controlplane.work.wakeups import ReceivedWakeup, waiter_open, wakeup_send, wakeups_send
from controlplane.work.wakeups.hub import WakeupHub
from controlplane.work.wakeups.many_queues import ManyQueues, many_queues_open
from tests.fixtures.patience import PATIENCE_S, eventually

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("database_file")]
WAIT_S = PATIENCE_S


@pytest.fixture
def queues() -> Iterator[ManyQueues]:
    made = many_queues_open()
    yield made
    made.close()


@pytest.fixture
def hub_of() -> Iterator[Callable[..., WakeupHub]]:
    made: list[WakeupHub] = []

    def make(*arguments: Any) -> WakeupHub:
        made.append(WakeupHub(*arguments))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def hub(hub_of: Callable[..., WakeupHub]) -> WakeupHub:
    return hub_of()


def heard(queues: ManyQueues, names: set[str], timeout_s: float = PATIENCE_S) -> dict[str, list[str]]:
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        if found := queues.wait(names, 0.2):
            return {queue: [one.ref for one in wakeups] for queue, wakeups in found.items()}
    return {}


def test_only_queues_that_are_waited_for_are_taken(queues: ManyQueues) -> None:
    wakeups_send([("a", "build", "1"), ("b", "build", "2"), ("c", "build", "3"), ("a", "stop", "4")])
    assert {queue: sorted(refs) for queue, refs in heard(queues, {"a", "b"}).items()} == {"a": ["1", "4"], "b": ["2"]}
    assert list(Wakeup.objects.values_list("ref", flat=True)) == ["3"]
    assert heard(queues, {"a", "c"}) == {"c": ["3"]}


def test_what_came_between_two_waits_is_heard(queues: ManyQueues) -> None:
    assert queues.wait({"a"}, 0.05) == {}
    assert queues.wait({"b"}, 0.05) == {}
    wakeup_send(queue="a", code="build", ref="1")
    assert queues.wait({"b"}, 0.05) == {}
    assert heard(queues, {"a"}) == {"a": ["1"]}


def test_what_is_above_the_limit_is_heard_at_once_by_the_next_wait() -> None:
    wakeups_send([("a", "build", str(number)) for number in range(5)])
    queues = many_queues_open(limit=2)
    refs = [[one.ref for one in queues.wait({"a"}, 0.05).get("a", [])] for _ in range(4)]
    queues.close()
    assert sorted(ref for part in refs for ref in part) == ["0", "1", "2", "3", "4"]


def test_waiter_of_one_queue_waits_as_long_as_it_was_told_and_is_woken_sooner() -> None:
    waiter = waiter_open("a")
    began = time.monotonic()
    assert waiter.wait(0.3) == []
    assert time.monotonic() - began >= 0.3
    timer = threading.Timer(0.2, lambda: wakeup_send(queue="a", code="build", ref="1"))
    timer.start()
    assert [one.ref for one in waiter.wait(WAIT_S)] == ["1"]
    timer.join()
    waiter.close()


def test_nothing_is_heard_before_the_commit(queues: ManyQueues) -> None:
    with transaction.atomic():
        wakeup_send(queue="other", code="build", ref="1")
        transaction.set_rollback(True)
    assert heard(queues, {"other"}, timeout_s=0.3) == {}


def test_hub_hands_each_queue_to_its_waiter(hub: WakeupHub) -> None:
    first, second = hub.next_wakeups("compute.h1"), hub.next_wakeups("compute.h2")
    wakeup_send(queue="compute.h2", code="build", ref="1")
    assert second.result(WAIT_S) == [ReceivedWakeup("build", "1")]
    with pytest.raises(WaitTimeout):
        first.result(0.1)
    wakeup_send(queue="compute.h1", code="build", ref="2")
    assert first.result(WAIT_S) == [ReceivedWakeup("build", "2")]
    assert hub.waiting == 0


def test_given_up_waiter_is_forgotten_and_its_wakeup_stays(hub: WakeupHub) -> None:
    gone = hub.next_wakeups("compute.h1")
    assert hub.waiting == 1
    gone.cancel()
    assert hub.waiting == 0
    time.sleep(0.2)
    wakeup_send(queue="compute.h1", code="build", ref="1")
    assert hub.next_wakeups("compute.h1").result(WAIT_S) == [ReceivedWakeup("build", "1")]


def test_two_polls_of_one_host_are_both_answered(hub: WakeupHub) -> None:
    polls = [hub.next_wakeups("compute.h1") for _ in range(2)]
    wakeup_send(queue="compute.h1", code="build", ref="1")
    assert [one.result(WAIT_S) for one in polls] == [[ReceivedWakeup("build", "1")]] * 2


def test_many_hosts_wait_on_one_thread(hub: WakeupHub) -> None:
    before = set(threading.enumerate())
    polls = {f"compute.h{number}": hub.next_wakeups(f"compute.h{number}") for number in range(300)}
    assert [one.name for one in set(threading.enumerate()) - before] == ["wakeups"]
    wakeups_send([(queue, "build", queue) for queue in polls])
    assert all(poll.result(WAIT_S) == [ReceivedWakeup("build", queue)] for queue, poll in polls.items())


class Failing:
    """A place to hear wake-ups at that is away until it is told otherwise."""

    def __init__(self) -> None:
        self.is_away = True

    def wait(self, queues: object, timeout_s: float) -> dict[str, list[ReceivedWakeup]]:
        if self.is_away:
            raise Unavailable("the database does not answer")
        return {"compute.h1": [ReceivedWakeup("build", "1")]}

    def interrupt(self) -> None: ...

    def close(self) -> None: ...


def test_waiters_learn_that_the_database_is_away_and_may_come_again(hub_of: Callable[..., WakeupHub]) -> None:
    place = Failing()
    hub = hub_of(lambda: place)
    with pytest.raises(Unavailable):
        hub.next_wakeups("compute.h1").result(WAIT_S)
    place.is_away = False
    assert hub.next_wakeups("compute.h1").result(WAIT_S)


@pytest.mark.redis
def test_redis_carries_them(redis_url: str, settings: Any, hub: WakeupHub) -> None:
    settings.REDIS_URL = redis_url
    poll: Future[list[ReceivedWakeup]] = hub.next_wakeups("compute.h1")
    time.sleep(0.2)
    second = hub.next_wakeups("compute.h2")
    wakeups_send([("compute.h1", "build", "1"), ("compute.h2", "build", "2")])
    assert poll.result(WAIT_S) == [ReceivedWakeup("build", "1")]
    assert second.result(WAIT_S) == [ReceivedWakeup("build", "2")]
    eventually(lambda: hub.waiting == 0, "nobody waits any more")
