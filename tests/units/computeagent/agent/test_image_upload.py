"""Sending an image piece by piece: what is sent again, what ends it, and how often progress is told."""

import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from computeagent.agent.failures import ImageRefused
from computeagent.agent.held_leases import HeldLease
from computeagent.agent.image_upload import REPORT_EVERY_S, ROUNDS, TRIES, StepProgress, file_facts, image_send
from computeagent.agent.retry import Retry
from computeagent.agent.work_queues import WorkQueue, queue_of
from computeagent.protocol.power import PowerState
from computeagent.protocol.uploads import UploadPlace
from computeagent.protocol.work import AgentLease, WorkKind, WorkOrder
from controlplane.kernel.errors import Fenced, Invalid, KilonovaError, QuotaExceeded, Unavailable
from tests.units.computeagent.agent.conftest import guest_spec

DATA = bytes(range(256)) * 10
PIECE = 1000


@dataclass
class Store:
    """The control plane's end; `failures[verb]` are raised one after the other."""

    got: bytearray = field(default_factory=bytearray)
    calls: list[str] = field(default_factory=list)
    told: list[tuple[int, int]] = field(default_factory=list)
    failures: dict[str, list[KilonovaError]] = field(default_factory=dict)
    is_done: bool = False

    def _begin(self, verb: str) -> None:
        self.calls.append(verb)
        if waiting := self.failures.get(verb):
            raise waiting.pop(0)

    def upload_begin(self, *, lease: AgentLease, size_bytes: int, sha256: str) -> UploadPlace:
        self._begin("begin")
        assert (size_bytes, sha256) == (len(DATA), hashlib.sha256(DATA).hexdigest())
        return UploadPlace(len(self.got) // PIECE * PIECE, PIECE, self.is_done)

    def upload_piece(self, *, lease: AgentLease, offset: int, data: bytes) -> int:
        self._begin("piece")
        self.got[offset:] = data
        return offset + len(data)

    def upload_end(self, *, lease: AgentLease) -> None:
        self._begin("end")

    def step_progress(self, *, lease: AgentLease, step: str, done_bytes: int, total_bytes: int) -> None:
        self._begin("progress")
        self.told.append((done_bytes, total_bytes))


@dataclass
class Sending:
    """A held lease and an agent, as far as sending needs one."""

    store: Store = field(default_factory=Store)
    now: float = 0.0
    context: Any = None
    held: HeldLease = field(init=False)

    def __post_init__(self) -> None:
        order = WorkOrder(AgentLease("w", 1, "o", 30.0), WorkKind.SNAPSHOT, guest_spec(), "", PowerState.RUNNING)
        self.held = HeldLease(order)
        retry = Retry(stopping=lambda: False, pause=lambda _seconds: None)
        self.context = SimpleNamespace(conductor=self.store, retry=retry, clock=lambda: self.now)

    def send(self, progress: Callable[[int, int], None] = lambda _done, _total: None) -> None:
        file = io.BytesIO(DATA)
        image_send(self.context, self.held, file, file_facts(file, len(DATA), progress), progress)


def test_all_pieces_are_sent_and_the_end_is_told() -> None:
    sending, seen = Sending(), []
    sending.send(lambda done, total: seen.append((done, total)))
    assert (bytes(sending.store.got), sending.store.calls) == (DATA, ["begin", "piece", "piece", "piece", "end"])
    assert seen[-1] == (len(DATA), len(DATA))


def test_what_has_come_is_not_sent_again() -> None:
    sending = Sending(Store(got=bytearray(DATA[:PIECE])))
    sending.send()
    assert (bytes(sending.store.got), sending.store.calls.count("piece")) == (DATA, 2)
    done = Sending(Store(is_done=True))
    done.send()
    assert done.store.calls == ["begin"]


def test_piece_without_an_answer_is_sent_again() -> None:
    sending = Sending(Store(failures={"piece": [Unavailable("cut"), Unavailable("cut")]}))
    sending.send()
    assert (bytes(sending.store.got), sending.store.calls.count("piece")) == (DATA, 5)


def test_what_came_wrong_is_sent_anew_a_few_times() -> None:
    sending = Sending(Store(failures={"end": [Invalid("not what was announced")]}))
    sending.send()
    assert sending.store.calls.count("begin") == 2
    wrong = Sending(Store(failures={"end": [Invalid("not what was announced")] * ROUNDS}))
    with pytest.raises(ImageRefused, match="not what was announced"):
        wrong.send()


@pytest.mark.parametrize("error", [Invalid("it was deleted"), QuotaExceeded("over quota")])
def test_image_that_is_not_taken_is_offered_once(error: KilonovaError) -> None:
    sending = Sending(Store(failures={"begin": [error]}))
    with pytest.raises(ImageRefused, match=error.message):
        sending.send()
    assert sending.store.calls == ["begin"]


def test_store_that_never_takes_a_piece_ends_it() -> None:
    sending = Sending(Store(failures={"piece": [Unavailable("no room")] * TRIES}))
    with pytest.raises(ImageRefused, match="no room"):
        sending.send()


def test_lease_that_is_over_stops_it() -> None:
    sending = Sending(Store(failures={"piece": [Fenced("taken over")]}))
    with pytest.raises(Fenced):
        sending.send()
    assert sending.held.is_fenced


def test_progress_is_told_now_and_then_and_stops_nothing() -> None:
    sending = Sending()
    progress = StepProgress(sending.context, sending.held, "image_uploading")
    progress(1, 9)
    sending.now = REPORT_EVERY_S
    progress(2, 9)
    progress(3, 9)
    assert sending.store.told == [(2, 9)]
    sending.store.failures["progress"] = [Unavailable("away"), Fenced("taken over")]
    sending.now = 2 * REPORT_EVERY_S
    progress(4, 9)
    sending.now = 3 * REPORT_EVERY_S
    with pytest.raises(Fenced):
        progress(5, 9)
    with pytest.raises(Fenced):
        progress(6, 9)


def test_long_copies_keep_nothing_else_waiting() -> None:
    lanes = {kind: queue_of(kind) for kind in WorkKind}
    assert lanes[WorkKind.SNAPSHOT] is lanes[WorkKind.SHELVE] is lanes[WorkKind.BACKUP] is WorkQueue.IMAGES
    assert lanes[WorkKind.UNSHELVE] is lanes[WorkKind.BUILD] is WorkQueue.BUILDS
    assert lanes[WorkKind.STOP] is lanes[WorkKind.SHELVE_OFFLOAD] is WorkQueue.ACTIONS
