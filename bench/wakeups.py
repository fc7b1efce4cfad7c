"""From commit to the start of work, and what waiting costs: SQLite, PostgreSQL, PostgreSQL with Redis; real processes.

    python -m bench.wakeups [--databases sqlite postgresql redis] [--times 100] [--idle-s 30]

One conductor (2 workers), the web server and one agent with the fake driver run as they do in an installation.
Latency: work is written for the conductor (a reservation with nothing left in it) and for the agent (a reboot), one
after the other; the time from the end of COMMIT to `started_at` of its row. Cost: nobody asks for anything, and the
statements that conductor and web server (for the agent) send are counted in PostgreSQL's log (BEGIN and COMMIT apart);
on SQLite those of one that waits for wake-ups.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import django

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings.dev")

from bench.select_destinations import DurablePostgres  # noqa: E402
from tests.fixtures.processes import Processes  # noqa: E402
from tests.fixtures.servers import RedisServer, free_port  # noqa: E402

DATABASES = ("sqlite", "postgresql", "redis")
HOST = "hv"
NO_DATABASE = {"DATABASE_URL": "", "REDIS_URL": "", "SECRET_KEY": "", "SECRET_KEY_FALLBACKS": ""}


class NamingPostgres(DurablePostgres):
    """Its log begins each line with the name of who sent the statement."""

    def command(self) -> list[str]:
        """As the durable one's."""
        return [*super().command(), "-c", "log_line_prefix=%a|"]


@contextmanager
def environment(database: str, state: Path) -> Iterator[dict[str, str]]:
    """Settings of an installation on servers of its own, and where PostgreSQL's log is."""
    with ExitStack() as stack:
        env = {"KILONOVA_STATE": str(state), "SECRET_KEY": "x" * 60, "REDIS_URL": "", "BENCH_LOG": ""}
        env["DATABASE_URL"] = f"sqlite:///{state / 'kilonova.sqlite3'}"
        if database != "sqlite":
            server = stack.enter_context(NamingPostgres())
            env |= {"DATABASE_URL": server.create_database(), "BENCH_LOG": str(server.log)}
        if database == "redis":
            env["REDIS_URL"] = stack.enter_context(RedisServer()).url()
        yield env


def named(env: dict[str, str], name: str) -> dict[str, str]:
    """The same settings for a process that PostgreSQL's log shall tell apart."""
    url = env["DATABASE_URL"]
    return env if url.startswith("sqlite") else {**env, "DATABASE_URL": f"{url}?application_name={name}"}


def agent_state(env: dict[str, str]) -> Path:
    """The agent's directory, where `prepare` puts its secret."""
    return Path(env["KILONOVA_STATE"]) / "agents" / HOST


def measured(database: str, options: argparse.Namespace) -> dict[str, Any]:
    """Start everything, measure in a child of its own (Django's settings are read once), stop everything."""
    with tempfile.TemporaryDirectory() as directory, environment(database, Path(directory)) as env:
        processes = Processes(Path(directory))
        words = ["--times", str(options.times), "--idle-s", str(options.idle_s)]
        command = [sys.executable, "-m", "bench.wakeups", *words]
        try:
            subprocess.run([*command, "--part", "prepare"], cwd=ROOT, env={**os.environ, **env}, check=True)
            processes.manage("conductor", "--workers", "2", env=named(env, "conductor"))
            port = str(free_port())
            processes.python("-m", "tests.drill.entry", "tests.drill.programs:web", port, env=named(env, "web"))
            door = ("--control-plane", f"http://127.0.0.1:{port}", "--state", str(agent_state(env)))
            processes.python(
                "-m", "computeagent", "--host", HOST, "--libvirt-uri", "fake:///hv?memory=1", *door, env=NO_DATABASE
            )
            child = subprocess.run(
                [*command, "--part", "measure"], cwd=ROOT, env={**os.environ, **env}, check=True, stdout=subprocess.PIPE
            )
            answer: dict[str, Any] = json.loads(child.stdout.splitlines()[-1])
            return answer
        finally:
            processes.kill_all()


def report(database: str, answer: dict[str, Any]) -> None:
    """Two lines of latency, and one for each process that idles."""
    for who in ("conductor", "agent"):
        took = sorted(answer[who])
        p95 = took[max(0, round(0.95 * len(took)) - 1)]
        print(
            f"{database}: commit to start, {who}: median {statistics.median(took):.0f} ms, p95 {p95:.0f} ms, "
            f"worst {took[-1]:.0f} ms ({len(took)} times)"
        )
    for who, rates in answer["idle"].items():
        maximum = ", ".join(f"{what} {rate:g}" for what, rate in rates["maximum"].items())
        print(f"{database}: idle, {who}: {rates['a second']:g} statements a second ({maximum})")


def main() -> None:
    """Each database in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--databases", nargs="+", choices=DATABASES, default=list(DATABASES))
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--idle-s", type=float, default=30.0)
    parser.add_argument("--part", choices=["prepare", "measure"], help="used by this script for its children")
    options = parser.parse_args()
    if options.part:
        django.setup()
        from bench.wakeups_measure import Measure, prepare  # noqa: PLC0415 - needs Django

        if options.part == "prepare":
            prepare(HOST, agent_state(dict(os.environ)))
        else:
            print(json.dumps(Measure(options.times, options.idle_s).all()))
        return
    for database in options.databases:
        report(database, measured(database, options))
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
