"""The long poll: an agent waits for wake-ups of its host, holding neither a thread nor a database connection."""

from concurrent.futures import Future
from concurrent.futures import TimeoutError as WaitTimeout

from computeagent.protocol.work import WorkWakeup
from controlplane.work.wakeups import ReceivedWakeup
from controlplane.work.wakeups.hub import wakeup_hub
from controlplane.work.work import compute_queue
from servers.agent_api.connection import pending_wakeups

MAX_WAIT_S = 60.0
"""Longer polls are answered after this: proxies cut what says nothing for too long."""


def wakeups_of_host(host: str) -> "Future[list[ReceivedWakeup]]":
    """The wake-ups that come next for this host; whoever gives up cancels it."""
    return wakeup_hub().next_wakeups(compute_queue(host))


def wakeups_wait(*, host: str, timeout_s: float) -> list[WorkWakeup]:
    """Wait in this thread, for servers that have no other way. Raises Unavailable."""
    future = wakeups_of_host(host)
    try:
        return agent_wakeups(future.result(max(0.0, min(timeout_s, MAX_WAIT_S))))
    except WaitTimeout:
        return []
    finally:
        future.cancel()


def agent_wakeups(came: list[ReceivedWakeup]) -> list[WorkWakeup]:
    """As agents know them."""
    return pending_wakeups((wakeup.code, wakeup.ref) for wakeup in came)
