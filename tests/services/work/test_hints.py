"""Hints reach whoever subscribed, after the commit and never without one: on each database, on Redis, in a file."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from controlplane.kernel.errors import Unavailable
from controlplane.work.hints import HOSTS, INSTANCES, WORK, changed, host_topic, instance_topic
from controlplane.work.hints.carriers import MAX_MESSAGES, MESSAGE_BYTES, Carrier, carrier, messages
from controlplane.work.hints.hint_file import MAX_BYTES, HintFile
from controlplane.work.hints.hub import HintHub
from controlplane.work.hints.sender import HintSender, hint_sender
from tests.fixtures.patience import eventually

pytestmark = pytest.mark.django_db(transaction=True)


class Page:
    """A subscriber that writes down what it hears."""

    def __init__(self, *topics: str) -> None:
        self.topics = topics
        self.heard: list[set[str]] = []
        self.welcomes = 0

    def hinted(self, topics: set[str]) -> None:
        self.heard.append(topics)

    def listening(self) -> None:
        self.welcomes += 1

    def wait(self, *topics: str) -> None:
        eventually(lambda: set(topics) <= set().union(*self.heard), f"{topics} of {self.heard}")


MakeHub = Callable[..., HintHub]


@pytest.fixture
def hub_of() -> Iterator[MakeHub]:
    made: list[HintHub] = []

    def make(*arguments: Any) -> HintHub:
        made.append(HintHub(*arguments))
        return made[-1]

    yield make
    for one in made:
        one.close()
    hint_sender().close()


def subscribed(hub: HintHub, *topics: str) -> Page:
    page = Page(*topics)
    hub.subscribe(page)
    eventually(lambda: page.welcomes, "the hub listens")
    return page


def test_each_hears_of_its_own_topics_after_the_commit(hub_of: MakeHub) -> None:
    hub = hub_of()
    mine, other = subscribed(hub, "instance:1"), subscribed(hub, "instance:2")
    both = subscribed(hub, WORK, "instance:1")
    with transaction.atomic():
        changed("instance:1", WORK)
        time.sleep(0.3)
        assert not mine.heard
    mine.wait("instance:1")
    both.wait("instance:1", WORK)
    assert other.heard == []


def test_transaction_that_is_rolled_back_tells_nothing(hub_of: MakeHub) -> None:
    page = subscribed(hub_of(), "host:lost", "host:kept")
    with transaction.atomic():
        changed("host:lost")
        transaction.set_rollback(True)
    changed("host:kept")
    page.wait("host:kept")
    assert page.heard == [{"host:kept"}]


def test_all_of_one_transaction_is_told_once() -> None:
    with transaction.atomic():
        changed(HOSTS)
        with transaction.atomic():
            changed(WORK)
        changed(HOSTS, host_topic("h1"))
        (hook,) = [hook for _, hook, *_ in transaction.get_connection().run_on_commit]
        assert hook.topics == {HOSTS, WORK, "host:h1"}


def test_what_a_lost_savepoint_began_is_told_by_who_comes_later(hub_of: MakeHub) -> None:
    page = subscribed(hub_of(), "host:lost", "host:kept")
    with transaction.atomic():
        with transaction.atomic():
            changed("host:lost")
            transaction.set_rollback(True)
        changed("host:kept")
    page.wait("host:kept")
    assert page.heard == [{"host:kept"}]


def test_who_unsubscribed_hears_nothing_and_the_thread_ends_after_the_last(hub_of: MakeHub) -> None:
    hub = hub_of()
    page, other = subscribed(hub, HOSTS), subscribed(hub, HOSTS)
    hub.unsubscribe(page)
    changed(HOSTS)
    other.wait(HOSTS)
    assert page.heard == []
    hub.unsubscribe(other)
    changed(HOSTS)
    eventually(lambda: "hint-hub" not in {one.name for one in threading.enumerate()}, "the thread ends")
    again = subscribed(hub, HOSTS)
    changed(HOSTS)
    again.wait(HOSTS)


def test_who_subscribes_while_others_listen_is_welcomed_at_once(hub_of: MakeHub) -> None:
    hub = hub_of()
    subscribed(hub, HOSTS)
    page = Page(HOSTS)
    hub.subscribe(page)
    assert page.welcomes == 1


class Failing:
    """A place to listen at that breaks when told to."""

    def __init__(self) -> None:
        self.is_away = False
        self.opened = 0

    def open(self) -> None:
        if self.is_away:
            raise Unavailable("the database does not answer")
        self.opened += 1

    def wait(self, timeout_s: float) -> set[str]:
        time.sleep(0.02)
        if self.is_away:
            raise Unavailable("the database does not answer")
        return set()

    def interrupt(self) -> None: ...

    def close(self) -> None: ...


def test_all_are_told_to_look_again_once_hints_are_heard_again(hub_of: MakeHub) -> None:
    place = Failing()
    page = subscribed(hub_of(lambda: place), HOSTS)
    place.is_away = True
    time.sleep(0.2)
    assert page.welcomes == 1
    place.is_away = False
    eventually(lambda: page.welcomes == 2, "it is welcomed again")


def test_burst_becomes_few_messages_of_the_sender(hub_of: MakeHub) -> None:
    page = subscribed(hub_of(), *(instance_topic(number) for number in range(300)))
    if carrier().is_cheap:
        pytest.skip("each commit tells it itself")
    for number in range(300):
        changed(instance_topic(number))
    page.wait(*page.topics)
    assert len(page.heard) < 30


def test_sender_gives_its_thread_back_when_there_is_nothing_to_tell() -> None:
    sender = HintSender(gather_s=0.01, idle_s=0.1)
    before = set(threading.enumerate())

    def begun() -> list[threading.Thread]:
        return [one for one in threading.enumerate() if one.name == "hints" and one not in before]

    sender.add({HOSTS})
    assert len(begun()) == 1
    eventually(lambda: not begun(), "the thread ends")
    sender.add({HOSTS})
    sender.close()
    assert not begun()


def test_messages_are_bounded_and_lists_come_first() -> None:
    topics = {INSTANCES, HOSTS, *(instance_topic(f"{number:036d}") for number in range(2000))}
    made = list(messages(topics))
    assert all(len(one.encode()) <= MESSAGE_BYTES for one in made)
    assert made[0].split("\n")[:2] == [HOSTS, INSTANCES]
    assert {line for one in made for line in one.split("\n")} == topics
    carrier().send(topics)
    assert len(made) > MAX_MESSAGES


@pytest.mark.redis
def test_redis_carries_them(redis_url: str, settings: Any, hub_of: MakeHub) -> None:
    settings.REDIS_URL = redis_url
    page = subscribed(hub_of(), HOSTS)
    with transaction.atomic():
        changed(HOSTS, WORK)
    page.wait(HOSTS)
    assert page.heard == [{HOSTS}]


class TestFile:
    """Beside an SQLite database."""

    @pytest.fixture
    def file(self, tmp_path: Path) -> HintFile:
        return HintFile(str(tmp_path / "db-hints"))

    def test_whoever_listens_hears_what_is_told_from_then_on(self, file: HintFile, hub_of: MakeHub) -> None:
        place: Carrier = file
        file.send({"before"})
        pages = [subscribed(hub_of(place.listener), "before", HOSTS) for _ in range(2)]
        file.send({HOSTS, "other"})
        for page in pages:
            page.wait(HOSTS)
            assert page.heard == [{HOSTS}]

    def test_file_stays_small_and_goes_on_being_heard(self, file: HintFile, tmp_path: Path, hub_of: MakeHub) -> None:
        page = subscribed(hub_of(file.listener), "last")
        for _ in range(MAX_BYTES // 4000 + 10):
            file.send({"x" * 4000})
        sizes = [each.stat().st_size for each in tmp_path.iterdir()]
        assert sum(sizes) < MAX_BYTES
        file.send({"last"})
        page.wait("last")

    def test_file_that_cannot_be_written_harms_nobody(self, tmp_path: Path) -> None:
        HintFile(str(tmp_path / "no" / "such" / "directory")).send({HOSTS})
        (tmp_path / "elsewhere").write_text("kept")
        (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
        HintFile(str(tmp_path / "link")).send({HOSTS})
        assert (tmp_path / "elsewhere").read_text() == "kept"
