"""What would be felt if it were done twice: it is noted on disk as done before it is told.

An agent that dies between the two is given the same work again, and finds the note. Only a death between the end of the
verb and the note, which nothing separates, does it twice: all that the note needs of the disk it has before the verb.
"""

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from computeagent.agent.context import AgentContext
from computeagent.agent.failures import Refused
from computeagent.agent.held_leases import HeldLease
from computeagent.protocol.guests import GuestFacts

log = logging.getLogger(__name__)

DIRECTORY = "done"
RETENTION_S = 86400.0
"""Longer than any work may last: a note that is older is of nobody's."""
BEGUN, DONE = b"begun", b"ended"
"""What a note says: of one length, so that the second is written over the first, which no full disk prevents. One that
was cut off before the first says nothing."""


class DeedNotNoted(Refused):
    """This host's disk takes no note of what is to be done, so it is not begun."""

    code = "deed_not_noted"


def done_once(context: AgentContext, held: HeldLease, verb: Callable[[], GuestFacts]) -> GuestFacts:
    """Do it, unless an earlier attempt of this work did: then what the guest is now. Raises what `verb` does, and
    DeedNotNoted before it.
    """
    note = _note(context, held)
    if _is_done(note) and (facts := context.driver.facts(held.guest.uuid)) is not None:
        return facts
    with _begun(note) as descriptor:
        facts = verb()
        try:
            os.pwrite(descriptor, DONE, 0)
        except OSError as error:  # it is done: that it is told next counts for more than its note
            log.warning("%s of %s is done, and not noted: %s", held.order.kind, held.guest.uuid, error)
    return facts


def done_forget(context: AgentContext, held: HeldLease) -> None:
    """It is told. Notes of work that others told, or that was cancelled, go with their time."""
    note = _note(context, held)
    with suppress(OSError):
        note.unlink(missing_ok=True)
    for other in note.parent.glob("*"):
        with suppress(OSError):
            if other.stat().st_mtime < time.time() - RETENTION_S:
                other.unlink()


@contextmanager
def _begun(note: Path) -> Iterator[int]:
    """A descriptor of the note, whose directory, name and bytes are on disk. It goes when the verb fails: that is told,
    or begun anew. Raises DeedNotNoted.
    """
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(note, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _not_noted(error) from error
    try:
        try:
            os.pwrite(descriptor, BEGUN, 0)
            os.fsync(descriptor)  # file systems that choose its place later say now whether there is one
        except OSError as error:
            raise _not_noted(error) from error
        yield descriptor
    except BaseException:
        with suppress(OSError):
            note.unlink()
        raise
    finally:
        os.close(descriptor)


def _is_done(note: Path) -> bool:
    try:
        return note.read_bytes() == DONE
    except OSError:
        return False


def _not_noted(error: OSError) -> DeedNotNoted:
    return DeedNotNoted(f"nothing was done, because this host can keep no note of it: {error}")


def _note(context: AgentContext, held: HeldLease) -> Path:
    return context.state_dir / DIRECTORY / quote(held.lease.work_id, safe="")
