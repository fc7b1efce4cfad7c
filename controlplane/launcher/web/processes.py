"""The processes of a web server: one listens and keeps the others running, which share its socket."""

import gc
import logging
import multiprocessing
import multiprocessing.connection
import resource
import signal
import socket
import time
from dataclasses import dataclass
from multiprocessing.context import ForkProcess
from types import FrameType

import uvicorn
import uvloop
from django.db import connections
from django.urls import get_resolver

from computeagent.protocol.consoles import MAX_MESSAGE_BYTES
from controlplane.kernel.errors import Invalid
from controlplane.launcher.die_with_parent import die_with_parent
from controlplane.launcher.web.application import Application
from controlplane.launcher.web.connections import Connections, guarded

log = logging.getLogger(__name__)

BACKLOG = 2048
ENDS_S = 2.0
"""Seconds that a process has after the grace of its requests, before it is killed."""
FIRST_DELAY_S, LONGEST_DELAY_S, STABLE_AFTER_S = 0.5, 30.0, 60.0
OTHER_FILES = 512
"""Files of one process that are no connections of clients: database, logs, images, bodies."""
PING_EVERY_S, PING_ANSWERED_S = 20.0, 60.0


@dataclass(frozen=True, slots=True)
class WebServerOptions:
    """The choices of one web server. Seconds, and numbers of one process."""

    host: str = "127.0.0.1"
    port: int = 8000
    processes: int = 2
    threads: int = 8
    connections: int = 10_000
    keep_alive_s: int = 30
    grace_s: int = 5

    def __post_init__(self) -> None:
        """Refuse numbers that cannot work, naming the option."""
        for name, value, minimum, maximum in (
            ("bind", self.port, 0, 65535),
            ("processes", self.processes, 1, 256),
            ("threads", self.threads, 1, 256),
            ("connections", self.connections, 16, 1_000_000),
            ("keep-alive", self.keep_alive_s, 1, 3600),
            ("grace", self.grace_s, 1, 3600),
        ):
            if not minimum <= value <= maximum:
                raise Invalid(f"--{name} must be {minimum} to {maximum}, not {value}", field=name)


def web_run(options: WebServerOptions) -> None:
    """Serve until a signal asks for an end. Raises OSError where the address cannot be had."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    with socket.create_server((options.host, options.port), family=family, backlog=BACKLOG) as listener:
        limit = _files_allowed(options)
        # What is loaded by now is shared with the processes to come, and out of the sight of their collectors.
        _ = get_resolver().url_patterns
        connections.close_all()
        gc.collect()
        gc.freeze()
        log.info("listening on %s:%d", *listener.getsockname()[:2])
        _Processes(options, listener, limit).run()


def connections_allowed(wanted: int, *, soft: int, hard: int) -> tuple[int, int]:
    """How many connections a process may have where the limits of open files are these, and its new soft limit."""
    files = wanted + OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= files:
        return wanted, soft
    soft = files if hard == resource.RLIM_INFINITY else min(files, hard)
    return (wanted if soft >= files else max(soft - OTHER_FILES, soft // 2)), soft


def _files_allowed(options: WebServerOptions) -> int:
    """Connections of one process, once the limit of open files is as high as it may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed, soft = connections_allowed(options.connections, soft=soft, hard=hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if allowed < options.connections:
        log.warning(
            "a process may open %d files, so it takes %d connections instead of %d; it would need %d files",
            soft, allowed, options.connections, options.connections + OTHER_FILES,
        )  # fmt: skip
    return allowed


class _Processes:
    """Those that serve. One that dies is started again, later and later where it keeps dying."""

    def __init__(self, options: WebServerOptions, listener: socket.socket, connections_allowed: int) -> None:
        self._options = options
        self._listener = listener
        self._allowed = connections_allowed
        self._running: dict[ForkProcess, float] = {}
        self._delay_s = FIRST_DELAY_S
        self._start_at = 0.0
        self._is_asked_to_end = False

    def run(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask)
        while not self._is_asked_to_end:
            self._notice_ended()
            if len(self._running) < self._options.processes and time.monotonic() >= self._start_at:
                self._start()
                continue
            multiprocessing.connection.wait([each.sentinel for each in self._running], timeout=FIRST_DELAY_S)
        self._stop()

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self._is_asked_to_end = True

    def _start(self) -> None:
        process = multiprocessing.get_context("fork").Process(
            target=_serve, args=(self._options, self._listener, self._allowed), name="web"
        )
        process.start()
        self._running[process] = time.monotonic()

    def _notice_ended(self) -> None:
        for process, began in list(self._running.items()):
            if process.exitcode is None:
                continue
            del self._running[process]
            was_stable = time.monotonic() - began >= STABLE_AFTER_S
            self._delay_s = FIRST_DELAY_S if was_stable else min(self._delay_s * 2, LONGEST_DELAY_S)
            self._start_at = time.monotonic() + self._delay_s
            log.error("a web process ended with status %s; again in %g s", process.exitcode, self._delay_s)

    def _stop(self) -> None:
        for process in self._running:
            process.terminate()
        end = time.monotonic() + self._options.grace_s + ENDS_S
        for process in self._running:
            process.join(max(0.0, end - time.monotonic()))
            if process.exitcode is None:
                log.warning("a web process did not end in time, and was killed")
                process.kill()
                process.join()


def _serve(options: WebServerOptions, listener: socket.socket, connections_allowed: int) -> None:
    """One process, from its fork to its end."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    uvloop.run(_served(options, listener, connections_allowed))


async def _served(options: WebServerOptions, listener: socket.socket, connections_allowed: int) -> None:
    application = Application(options.threads)
    config = uvicorn.Config(
        application,
        http=guarded(Connections(connections_allowed)),
        ws="websockets-sansio",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=options.keep_alive_s,
        timeout_graceful_shutdown=options.grace_s,
        ws_max_size=MAX_MESSAGE_BYTES,
        ws_ping_interval=PING_EVERY_S,
        ws_ping_timeout=PING_ANSWERED_S,
        ws_per_message_deflate=False,
    )
    await _Server(config, application).serve(sockets=[listener])


class _Server(uvicorn.Server):
    """uvicorn's, which lets whoever waits go when it stops."""

    def __init__(self, config: uvicorn.Config, application: Application) -> None:
        super().__init__(config)
        self._application = application

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn."""
        self._application.close()
        await super().shutdown(sockets)
