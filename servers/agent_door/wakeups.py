"""The long poll: an agent waits for wake-ups of its host.

A web server that can wait without a thread begins a poll (`long_poll_begin`), waits for its future, and serves the
request inside `long_poll_answer`. Under any other the view waits in its thread. A poll whose answer reached nobody is
given up (`long_poll_give_up`): its wake-ups are taken already, so they have to be sent again. Nobody has to be asked
about a poll whose time is over (`long_poll_ended`), which is what nearly all of them come to.
"""

import logging
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as WaitTimeout
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from django.db import Error, close_old_connections
from django.utils.datastructures import CaseInsensitiveMapping

from computeagent.protocol.wire import PREFIX, PROTOCOL_VERSION, VERSION_HEADER, encode, verbs
from computeagent.protocol.work import Wakeup
from controlplane.kernel.errors import KilonovaError
from controlplane.kernel.kill_points import reach
from controlplane.work.wakeups import ReceivedWakeup, wakeups_send
from controlplane.work.wakeups.hub import wakeup_hub
from controlplane.work.work import compute_queue
from servers.agent_api.connection import received_wakeups
from servers.agent_door.asker import Asker, asker_of, require_host, require_version
from servers.agent_door.connected import connected_agents, longest_poll_s

log = logging.getLogger(__name__)

LONG_POLL_PATH = f"{PREFIX}wakeups"
MAX_POLL_BYTES = 4096

Wakeups = list[ReceivedWakeup]


@dataclass(frozen=True, slots=True)
class LongPoll:
    """One that waits: for which queue, what comes for it, and for how many seconds it means to wait."""

    queue: str
    wakeups: "Future[Wakeups]"
    timeout_s: float


_answered: "ContextVar[LongPoll | None]" = ContextVar("answered_long_poll", default=None)


def long_poll_begin(headers: Mapping[str, str], body: bytes) -> LongPoll | None:
    """Begin to wait for who may. None for a request that is refused: served, it says why."""
    try:
        found = CaseInsensitiveMapping(headers)
        require_version(found)
        arguments = verbs()["wakeups"].arguments_of(body)
        asker = asker_of(found)
        require_host(asker, arguments["host"], "wakeups")
    except KilonovaError:
        return None
    return _long_poll(asker, arguments["timeout_s"])


def _long_poll(asker: Asker, timeout_s: float) -> LongPoll:
    """Whoever asks is alive."""
    queue = compute_queue(asker.host)
    wakeups = wakeup_hub().next_wakeups(queue)
    if asker.agent_id:
        connected_agents().asks((asker.host, asker.agent_id))
    return LongPoll(queue, wakeups, max(0.0, min(timeout_s, longest_poll_s())))


@contextmanager
def long_poll_answer(poll: LongPoll) -> Iterator[None]:
    """The request that is served inside is answered with what came until now."""
    token = _answered.set(poll)
    try:
        yield
    finally:
        _answered.reset(token)


def long_poll_ended(poll: LongPoll) -> tuple[dict[str, str], bytes] | None:
    """Headers and body for a poll that nothing came for. None where something did, which a request has to answer.

    Whose secret was revoked meanwhile is told so at the next poll.
    """
    if not poll.wakeups.cancel():
        return None
    text = encode([])
    return {
        "Content-Type": "application/json",
        "Content-Length": str(len(text)),
        VERSION_HEADER: str(PROTOCOL_VERSION),
    }, text


def long_poll_give_up(poll: LongPoll) -> None:
    """The agent is gone, or was refused. What came for it is sent again, for its next poll, here or at another web
    server.

    Where the database does not answer, the agent finds its work without, when it looks for it.
    """
    if poll.wakeups.cancel() or poll.wakeups.exception() is not None:
        return
    close_old_connections()
    try:
        wakeups_send((poll.queue, wakeup.code, wakeup.ref) for wakeup in poll.wakeups.result())
    except Error as error:
        log.info("wake-ups of %s were lost with its connection: %s", poll.queue, error)


def wakeups_of_host(asker: Asker, *, timeout_s: float) -> list[Wakeup]:
    """What came for the agent's host, after waiting for it if nobody did yet. Raises Unavailable."""
    poll, left_s = _answered.get(), 0.0
    if poll is None:
        poll = _long_poll(asker, timeout_s)
        left_s = poll.timeout_s
    try:
        came = poll.wakeups.result(left_s)
    except WaitTimeout:
        if poll.wakeups.cancel():
            return []
        # They were handed over just as the time was up. They are taken, so nobody else will hear of them.
        came = poll.wakeups.result()
    reach("servers.agent_door.wakeups:heard")
    return received_wakeups((wakeup.code, wakeup.ref) for wakeup in came)
