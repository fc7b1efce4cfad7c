"""The look at the image store: seldom, one at a time, and never waited for when it hangs."""

import threading
import uuid
from pathlib import Path

import pytest

from servers.images.stores.directory import DirectoryStore
from servers.images.stores.store import BytesName
from servers.images.stores.watch import SILENT, StoreQuestion, StoreWatch, store_problem
from tests.fixtures.patience import PATIENCE_S, eventually

NAME = BytesName(uuid.UUID(int=1), uuid.UUID(int=2))


def question(directory: str = "/images") -> StoreQuestion:
    return StoreQuestion(DirectoryStore(Path(directory)), NAME, 0)


class Looks:
    """A store that answers what it is told to, and counts. While it is closed it does not answer."""

    def __init__(self) -> None:
        self.count = 0
        self.found = ""
        self.is_open = threading.Event()
        self.is_open.set()

    def __call__(self, asked: StoreQuestion) -> str:
        self.count += 1
        self.is_open.wait(PATIENCE_S)
        return self.found


def test_answer_is_good_for_a_while_and_then_made_anew() -> None:
    looks, now_s = Looks(), [0.0]
    watch = StoreWatch(looks, every_s=10.0, wait_s=PATIENCE_S, clock=lambda: now_s[0])
    assert watch.problem(question()) == ""
    looks.found = "away"
    now_s[0] += 9.0
    assert (watch.problem(question()), looks.count) == ("", 1)
    now_s[0] += 1.0
    assert (watch.problem(question()), looks.count) == ("away", 2)
    looks.found = ""
    now_s[0] += 10.0
    assert (watch.problem(question()), looks.count) == ("", 3)


def test_other_store_is_looked_at_at_once() -> None:
    looks = Looks()
    watch = StoreWatch(looks, wait_s=PATIENCE_S)
    watch.problem(question("/here"))
    looks.found = "away"
    assert (watch.problem(question("/there")), looks.count) == ("away", 2)


def test_store_that_hangs_keeps_nobody_waiting_and_is_asked_once() -> None:
    looks = Looks()
    looks.is_open.clear()
    watch = StoreWatch(looks, wait_s=0.0)
    assert [watch.problem(question()) for _ in range(5)] == [SILENT] * 5
    eventually(lambda: looks.count == 1, "the look has begun")
    looks.is_open.set()
    eventually(lambda: watch.problem(question()) == "", "what it found in the end is told")
    assert looks.count == 1


def test_look_that_fails_is_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    def fails(_: StoreQuestion) -> str:
        raise RuntimeError("unforeseen")

    assert StoreWatch(fails, wait_s=PATIENCE_S).problem(question()) == SILENT
    assert "looking at the image store failed" in caplog.text


def test_directory_that_takes_no_images_is_a_problem_before_the_first_upload(tmp_path: Path) -> None:
    (tmp_path / "file").touch()  # no directory, so that root may not enter it either
    none_yet, never = (StoreQuestion(DirectoryStore(tmp_path / name), None, 0) for name in ("images", "file"))
    assert store_problem(none_yet) == ""
    assert store_problem(never) == "the image store takes no images: its directory cannot be written"
