"""Long polls of agents: each waits as a coroutine, with neither a thread nor a database connection.

A poll is judged in a thread, as any request. Then it waits for a wake-up, for the end of its time, or for its agent to
hang up; only then a thread answers it.
"""

import asyncio
from collections import defaultdict, deque
from contextlib import suppress
from typing import TYPE_CHECKING

from controlplane.launcher.web.incoming import Receive

if TYPE_CHECKING:
    from servers.agent_door.wakeups import LongPoll

EACH = 4
"""Polls of one host that wait at a time: an agent has one, and another while it believes that the first was lost."""


class Waiting:
    """Those of one process. Used by the loop's thread alone."""

    def __init__(self) -> None:
        self._of_queue: defaultdict[str, deque[asyncio.Event]] = defaultdict(deque)
        self._is_closing = False

    async def over(self, poll: "LongPoll", receive: Receive) -> bool:
        """Return when the poll is to be answered; False where its agent has hung up.

        Of more polls than one host may have the oldest is answered, as if its time were over.
        """
        loop, woken = asyncio.get_running_loop(), asyncio.Event()

        def wake(_: object) -> None:
            with suppress(RuntimeError):  # the process has ended
                loop.call_soon_threadsafe(woken.set)

        mine = self._of_queue[poll.queue]
        mine.append(woken)
        if len(mine) > EACH:
            mine[0].set()
        if self._is_closing:
            woken.set()
        hung_up = asyncio.ensure_future(receive())
        hung_up.add_done_callback(lambda _: woken.set())
        poll.wakeups.add_done_callback(wake)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(poll.timeout_s):
                    await woken.wait()
            return not hung_up.done()
        finally:
            hung_up.cancel()
            mine.remove(woken)
            if not mine:
                self._of_queue.pop(poll.queue, None)

    def close(self) -> None:
        """Let all be answered: their agents come again, to another process."""
        self._is_closing = True
        for waiting in self._of_queue.values():
            for woken in waiting:
                woken.set()
