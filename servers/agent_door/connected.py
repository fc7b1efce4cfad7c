"""Being connected is being alive: agents whose long polls this process holds are written down as alive, all of them in
a few statements an interval, however many they are.

Each web process speaks for those that wait at it. One that dies takes nobody with it: its agents ask again, and come to
another. An agent whose connection is gone is written no more, so its host is down as long after that as after a last
heartbeat.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any

from django.db import Error, connection

from scheduling.conf import scheduling_options
from scheduling.fleet.services.hosts import services_alive
from servers.agent_api.host_ownership import host_ownerships_renew

log = logging.getLogger(__name__)

BETWEEN_POLLS_S = 5.0
"""So long after a poll ended its agent still counts: it is about to begin the next one."""
HEARTBEATS_LEFT_OUT = 3
"""An agent that is connected needs to say so itself only each so many intervals."""


def own_heartbeat_s() -> float:
    """Seconds between an agent's own heartbeats. Where its polls do not come through, these alone keep its host up."""
    options = scheduling_options()
    often = options.report_interval_s
    return max(often, min(often * HEARTBEATS_LEFT_OUT, options.service_down_time_s / 2))


Agent = tuple[str, str]


class ConnectedAgents:
    """Safe to use from any thread. Its own thread begins with the first agent, and ends with `close`."""

    def __init__(
        self,
        write: Callable[[Iterable[Agent]], None],
        *,
        between_polls_s: float = BETWEEN_POLLS_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write = write
        self._between_polls_s = between_polls_s
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: dict[Agent, int] = {}
        self._left: dict[Agent, float] = {}
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()

    def waits(self, agent: Agent, poll: "Future[Any]") -> None:
        """The agent (host, id) waits until its poll is over."""
        with self._lock:
            self._waiting[agent] = self._waiting.get(agent, 0) + 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="connected-agents", daemon=True)
                self._thread.start()
        poll.add_done_callback(lambda _: self._ended(agent))

    def close(self) -> None:
        """End the thread and give its connection back. Who comes later begins it anew."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            self._closing.set()
            thread.join()
            self._closing.clear()

    def alive(self) -> list[Agent]:
        """Those that wait now, or did a moment ago."""
        with self._lock:
            since = self._clock() - self._between_polls_s
            self._left = {agent: at for agent, at in self._left.items() if at >= since}
            return sorted({*self._waiting, *self._left})

    def _ended(self, agent: Agent) -> None:
        with self._lock:
            left = self._waiting.get(agent, 1) - 1
            if left:
                self._waiting[agent] = left
            else:
                self._waiting.pop(agent, None)
            self._left[agent] = self._clock()

    def _run(self) -> None:
        while not self._closing.wait(scheduling_options().report_interval_s):
            if agents := self.alive():
                try:
                    self._write(agents)
                except Error as error:
                    log.warning("connected agents could not be written down as alive: %s", error)
                finally:
                    connection.close()  # used for a moment in each interval


def agents_alive_write(agents: Iterable[Agent]) -> None:
    """These agents are alive, if their hosts are still theirs. Three statements."""
    services_alive(hosts=host_ownerships_renew(agents))


_CONNECTED = ConnectedAgents(agents_alive_write)


def connected_agents() -> ConnectedAgents:
    """Those of this process."""
    return _CONNECTED
