"""The web server on uvloop and on the event loop of asyncio: what one small request takes of it.

    python -m bench.event_loop [--requests 1500] [--rounds 3]

Two servers of one process each on an SQLite database, asked in turns by one client on a kept connection for the root of
the Placement API, which asks neither database nor token. Printed: milliseconds of the server's CPU a request, a round
each; the ratio of their medians.
"""

import argparse
import http.client
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from bench.agents import spent
from bench.select_destinations import set_up
from tests.fixtures.processes import ROOT
from tests.fixtures.servers import free_port

PATH = "/placement/"
PLAIN = "import asyncio, runpy, sys, uvloop; uvloop.run = asyncio.run; runpy.run_path(sys.argv[0], run_name='__main__')"
"""Runs the program of its first argument with the event loop of asyncio."""
STARTS_S = 60.0


@contextmanager
def web_server(*, is_plain: bool) -> Iterator[int]:
    """One that answers: its port."""
    from controlplane.launcher.children import web_command  # noqa: PLC0415 - needs settings

    port = free_port()
    python, *arguments = web_command(port, processes=1)
    command = [python, "-c", f"import sys; sys.argv[:] = sys.argv[1:]; {PLAIN}"] if is_plain else [python]
    with subprocess.Popen([*command, *arguments], cwd=ROOT) as web:
        try:
            end = time.monotonic() + STARTS_S
            while not is_up(port):
                if time.monotonic() > end:
                    raise SystemExit("the web server does not answer")
                time.sleep(0.1)
            yield port
        finally:
            web.terminate()


def is_up(port: int) -> bool:
    """Whether it answers."""
    try:
        ask(port, 1)
    except OSError:
        return False
    return True


def ask(port: int, times: int) -> None:
    """One after the other, on one connection. Raises OSError."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=STARTS_S)
    for _ in range(times):
        link.request("GET", PATH)
        answer = link.getresponse()
        answer.read()
        if answer.status != http.client.OK:
            raise SystemExit(f"{PATH} is answered with {answer.status}")
    link.close()


def main() -> None:
    """Start both, ask in turns, stop both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as state, ExitStack() as stack:
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "controlplane.settings.dev",
            "KILONOVA_STATE": state,
            "LOG_LEVEL": "WARNING",
        }
        subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, check=True)
        set_up()
        ports = {name: stack.enter_context(web_server(is_plain=name == "asyncio")) for name in ("uvloop", "asyncio")}
        took: dict[str, list[float]] = {name: [] for name in ports}
        for _ in range(options.rounds):
            for name, port in ports.items():
                before = cpu_s(port)
                ask(port, options.requests)
                took[name].append((cpu_s(port) - before) / options.requests * 1000)
    for name, each in took.items():
        print(f"  {name}: {', '.join(f'{one:.2f}' for one in each)} ms of CPU a request")
    ratio = statistics.median(took["asyncio"]) / statistics.median(took["uvloop"])
    print(f"  asyncio takes {ratio:.2f} times as much")


def cpu_s(port: int) -> float:
    """Seconds of CPU that the server on this port has taken."""
    return spent(lambda line: f":{port} " in line)[0]


if __name__ == "__main__":
    main()
