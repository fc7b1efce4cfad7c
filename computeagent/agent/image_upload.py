"""Sending a file to the control plane piece by piece, going on after a cut of either side where it was."""

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from computeagent.agent.context import AgentContext
from computeagent.agent.failures import ImageRefused
from computeagent.agent.held_leases import HeldLease, HeldWork
from computeagent.drivers.base import CopyProgress
from computeagent.protocol.uploads import UploadPlace
from controlplane.kernel.errors import Fenced, Forbidden, Invalid, NotFound, Unavailable

log = logging.getLogger(__name__)
Answer = TypeVar("Answer")

CHUNK_BYTES = 2**20
ROUNDS = 3
"""So often all is sent anew, where what came was not what was sent."""
TRIES = 120
"""Some twenty minutes in which the control plane, or its store, does not take a piece."""
REPORT_EVERY_S = 2.0


class SentFile(Protocol):
    """What is read to be sent: a file, or what can be read as one."""

    def seek(self, offset: int, /) -> int:
        """Be there."""

    def read(self, size: int, /) -> bytes:
        """At most so many bytes; none at the end."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What a file is known by."""

    size_bytes: int
    sha256: str


def file_facts(file: SentFile, size_bytes: int, progress: CopyProgress) -> FileFacts:
    """Read it once, from its beginning."""
    digest, done = hashlib.sha256(), 0
    file.seek(0)
    while chunk := file.read(CHUNK_BYTES):
        digest.update(chunk)
        done += len(chunk)
        progress(done, max(done, size_bytes))
    return FileFacts(done, digest.hexdigest())


def image_send(context: AgentContext, held: HeldWork, file: SentFile, facts: FileFacts, progress: CopyProgress) -> None:
    """Send it as the image or backup that this work makes. Raises ImageRefused, Fenced, Unavailable when stopping."""
    for left in reversed(range(ROUNDS)):
        try:
            _send(context, held, file, facts, progress)
        except Forbidden as error:
            raise ImageRefused(error.message) from error
        except Invalid as error:
            if not left:
                raise ImageRefused(error.message) from error
            log.warning("%s: what it made is sent anew: %s", held.about, error.message)
        else:
            return


def _send(context: AgentContext, held: HeldWork, file: SentFile, facts: FileFacts, progress: CopyProgress) -> None:
    conductor, lease = context.conductor, held.lease

    def begin() -> UploadPlace:
        return conductor.upload_begin(lease=lease, size_bytes=facts.size_bytes, sha256=facts.sha256)

    try:
        place = _called(context, held, begin)
    except Invalid as error:  # of what is not taken at all, no other round is
        raise ImageRefused(error.message) from error
    if place.is_done:
        return
    offset = place.offset
    while offset < facts.size_bytes:
        file.seek(offset)
        piece = partial(conductor.upload_piece, lease=lease, offset=offset, data=file.read(place.piece_bytes))
        offset = _called(context, held, piece)
        progress(offset, facts.size_bytes)
    _called(context, held, lambda: conductor.upload_end(lease=lease))


def _called(context: AgentContext, held: HeldWork, verb: Callable[[], Answer]) -> Answer:
    def checked() -> Answer:
        held.check()
        return verb()

    try:
        return context.retry.call(checked, tries=TRIES)
    except Fenced:
        held.fence()
        raise
    except Unavailable as error:
        if context.retry.is_stopping:
            raise
        raise ImageRefused(f"It could not be sent: {error.message}") from error


class StepProgress:
    """Tells the control plane how far a step is, every few seconds, and ends the step once its lease is over."""

    def __init__(self, context: AgentContext, held: HeldLease, step: str) -> None:
        self._context, self._held, self._step = context, held, step
        self._due_at = context.clock() + REPORT_EVERY_S

    def __call__(self, done_bytes: int, total_bytes: int) -> None:
        """See `CopyProgress`. Raises Fenced; whatever else goes wrong in telling it stops nothing."""
        self._held.check()
        now = self._context.clock()
        if now < self._due_at:
            return
        self._due_at = now + REPORT_EVERY_S
        try:
            self._context.conductor.step_progress(
                lease=self._held.lease, step=self._step, done_bytes=done_bytes, total_bytes=total_bytes
            )
        except Fenced:
            self._held.fence()
            raise
        except (Unavailable, NotFound, Invalid) as error:
            log.info("progress of %s could not be told: %s", self._step, error.message)
