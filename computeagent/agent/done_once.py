"""What would be felt if it were done twice: it is noted on disk as done before it is told.

An agent that dies between the two is given the same work again, and finds the note. Only a death between the end of the
verb and the note, which nothing separates, does it twice.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from computeagent.agent.context import AgentContext
from computeagent.agent.held_leases import HeldLease
from computeagent.protocol.guests import GuestFacts

DIRECTORY = "done"
RETENTION_S = 86400.0
"""Longer than any work may last: a note that is older is of nobody's."""


def done_once(context: AgentContext, held: HeldLease, verb: Callable[[], GuestFacts]) -> GuestFacts:
    """Do it, unless an earlier attempt of this work did: then what the guest is now. Raises what `verb` does."""
    note = _note(context, held)
    if note.exists() and (facts := context.driver.facts(held.guest.uuid)) is not None:
        return facts
    facts = verb()
    note.parent.mkdir(parents=True, exist_ok=True)
    note.touch()
    return facts


def done_forget(context: AgentContext, held: HeldLease) -> None:
    """It is told. Notes of work that others told, or that was cancelled, go with their time."""
    note = _note(context, held)
    note.unlink(missing_ok=True)
    for other in note.parent.glob("*"):
        with suppress(FileNotFoundError):
            if other.stat().st_mtime < time.time() - RETENTION_S:
                other.unlink()


def _note(context: AgentContext, held: HeldLease) -> Path:
    return context.state_dir / DIRECTORY / quote(held.lease.work_id, safe="")
