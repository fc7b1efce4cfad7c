"""Asking is being alive: agents that began a long poll at this process are written down as alive, all of them in a few
statements an interval, however many they are.

Only what an agent sent itself proves that it lives, and only for the moment when it came. A poll that stays open says
nothing: a machine that lost its power hangs up on nobody, and a proxy may hold the poll of one that is gone. So polls
end well before an agent that is silent counts as down, and whoever lives begins the next one. What is written is the
moment of the proof and not that of the writing: a host is down SERVICE_DOWN_TIME_S after its agent's last word.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping

from django.db import Error, connection

from scheduling.conf import scheduling_options
from scheduling.fleet.services.hosts import services_alive
from servers.agent_api.host_ownership import host_ownerships_renew

log = logging.getLogger(__name__)

HEARTBEATS_LEFT_OUT = 3
"""An agent that polls needs to say that it is alive only each so many intervals."""
LONGEST_POLL_S = 60.0
"""Proxies cut what says nothing for too long."""
POLLS_IN_DOWN_TIME = 3
"""So many polls that are waited out fit into the time after which a silent agent is down: one may get lost."""


def longest_poll_s() -> float:
    """After how many seconds a poll is answered at the latest, however long its agent means to wait."""
    return min(LONGEST_POLL_S, scheduling_options().service_down_time_s / POLLS_IN_DOWN_TIME)


def own_heartbeat_s() -> float:
    """Seconds between an agent's own heartbeats. Where its polls do not come through, these alone keep its host up."""
    options = scheduling_options()
    often = options.report_interval_s
    return max(often, min(often * HEARTBEATS_LEFT_OUT, options.service_down_time_s / 2))


Agent = tuple[str, str]


class ConnectedAgents:
    """Safe to use from any thread. Its own thread begins with the first agent, and ends with `close`."""

    def __init__(
        self, write: Callable[[Mapping[Agent, float]], None], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._write = write
        self._clock = clock
        self._lock = threading.Lock()
        self._asked_at: dict[Agent, float] = {}
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()

    def asks(self, agent: Agent) -> None:
        """The agent (host, id) is alive now."""
        with self._lock:
            self._asked_at[agent] = self._clock()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="connected-agents", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """End the thread and give its connection back. Who comes later begins it anew."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            self._closing.set()
            thread.join()
            self._closing.clear()

    def write(self) -> None:
        """Write down who asked since the last time, and how many seconds ago. What a failure of the database kept from
        being written is written the next time.
        """
        with self._lock:
            asked_at, self._asked_at = self._asked_at, {}
            now = self._clock()
        if not asked_at:
            return
        try:
            self._write({agent: now - at for agent, at in asked_at.items()})
        except Error as error:
            log.warning("connected agents could not be written down as alive: %s", error)
            with self._lock:
                self._asked_at = asked_at | self._asked_at
        finally:
            connection.close()  # used for a moment in each interval

    def _run(self) -> None:
        while not self._closing.wait(scheduling_options().report_interval_s):
            self.write()


def agents_alive_write(agents: Mapping[Agent, float]) -> None:
    """These agents were alive so many seconds ago, if their hosts are still theirs. Three statements."""
    ago: dict[str, float] = {}
    for (host, _), seconds in agents.items():
        ago[host] = max(seconds, ago.get(host, 0.0))
    services_alive(ago_s={host: ago[host] for host in host_ownerships_renew(agents)})


_CONNECTED = ConnectedAgents(agents_alive_write)


def connected_agents() -> ConnectedAgents:
    """Those of this process."""
    return _CONNECTED
