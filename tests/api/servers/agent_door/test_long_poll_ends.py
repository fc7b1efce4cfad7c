"""A wake-up that comes just as a long poll ends: answered, or sent again for the next poll, and never lost."""

from concurrent.futures import Future
from concurrent.futures import TimeoutError as WaitTimeout

import pytest
from django.utils import timezone

from computeagent.protocol.wire import PROTOCOL_VERSION, VERSION_HEADER, encode, secret_digest, verbs
from computeagent.protocol.work import WorkKind, WorkWakeup
from controlplane.kernel.errors import Unavailable
from controlplane.work.models import Wakeup
from controlplane.work.wakeups import ReceivedWakeup
from servers.agent_door.asker import Asker
from servers.agent_door.wakeups import (
    LongPoll,
    Wakeups,
    long_poll_answer,
    long_poll_begin,
    long_poll_ended,
    long_poll_give_up,
    wakeups_of_host,
)
from servers.models import AgentCredential

pytestmark = pytest.mark.django_db(transaction=True)  # who gives up has a connection of its own
ASKER = Asker("h1", "", "")
WORK = "00000000-0000-0000-0000-00000000000a"
CAME = [ReceivedWakeup("build", WORK)]


class CameAtTheEnd(Future[Wakeups]):
    """What is waited for comes between the end of the wait and the word that nobody waits any more."""

    def result(self, timeout: float | None = None) -> Wakeups:
        try:
            return super().result(timeout)
        except WaitTimeout:
            self.set_result(CAME)
            raise


def test_wakeups_that_come_just_as_the_time_is_up_are_answered() -> None:
    with long_poll_answer(LongPoll("compute.h1", CameAtTheEnd(), 25.0)):
        (wakeup,) = wakeups_of_host(ASKER, timeout_s=25.0)
    assert isinstance(wakeup, WorkWakeup)
    assert (wakeup.kind, str(wakeup.work_id)) == (WorkKind.BUILD, WORK)


def test_poll_whose_time_is_up_is_waited_for_by_nobody() -> None:
    poll = LongPoll("compute.h1", Future(), 25.0)
    with long_poll_answer(poll):
        assert wakeups_of_host(ASKER, timeout_s=25.0) == []
    assert poll.wakeups.cancelled()  # so the hub sends again what comes for it


def test_poll_that_nothing_came_for_is_answered_without_asking_anybody() -> None:
    poll = LongPoll("compute.h1", Future(), 25.0)
    headers, text = long_poll_ended(poll) or ({}, b"")
    assert verbs()["wakeups"].answer_of(text) == []
    assert (headers[VERSION_HEADER], headers["Content-Length"]) == (str(PROTOCOL_VERSION), str(len(text)))
    assert poll.wakeups.cancelled()


@pytest.mark.parametrize("problem", [None, Unavailable("the database does not answer")])
def test_poll_that_something_came_for_is_answered_by_a_request(problem: Unavailable | None) -> None:
    poll = LongPoll("compute.h1", Future(), 25.0)
    if problem is None:
        poll.wakeups.set_result(CAME)
    else:
        poll.wakeups.set_exception(problem)
    assert long_poll_ended(poll) is None


def test_wakeups_whose_answer_reached_nobody_are_sent_again() -> None:
    poll = LongPoll("compute.h1", Future(), 25.0)
    poll.wakeups.set_result(CAME)
    long_poll_give_up(poll)
    assert list(Wakeup.objects.values_list("queue", "code", "ref")) == [("compute.h1", "build", WORK)]


def test_poll_that_is_given_up_before_anything_came_sends_nothing() -> None:
    waiting, failed = (LongPoll("compute.h1", Future(), 25.0) for _ in range(2))
    failed.wakeups.set_exception(Unavailable("the database does not answer"))
    long_poll_give_up(waiting)
    long_poll_give_up(failed)
    assert waiting.wakeups.cancelled()
    assert not Wakeup.objects.exists()


@pytest.mark.parametrize(("asked_s", "waits_s"), [(45.0, 20.0), (5.0, 5.0), (-1.0, 0.0)])
def test_poll_of_whatever_release_ends_before_its_host_could_count_as_down(asked_s: float, waits_s: float) -> None:
    secret = "kna_of-h1"
    AgentCredential.objects.create(host="h1", digest=secret_digest(secret), enrolled_at=timezone.now())
    headers = {"Authorization": f"Bearer {secret}", VERSION_HEADER: str(PROTOCOL_VERSION)}
    poll = long_poll_begin(headers, encode({"host": "h1", "timeout_s": asked_s}))
    assert poll is not None
    poll.wakeups.cancel()
    assert poll.timeout_s == waits_s
