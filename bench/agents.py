"""Many connected agents that have nothing to do, and how soon one of them hears of work.

    python -m bench.agents [--agents 1000] [--seconds 60] [--wakes 200]

A private PostgreSQL (fsync on) and the web server as `manage.py up` runs it. Each agent is its messages alone, all that
the real one of a host without guests sends, at its intervals: an open long poll, heartbeats, reports, and a look at
each thing that may wait for it. Nothing of it computes, so nearly all CPU that is measured besides this program's is
the control plane's. Printed:

- connected: how long it took until each agent was registered and its first poll taken;
- idle: CPU of the web server and of PostgreSQL, in shares of one core, their memory, and database connections;
- wakes: from the commit of a wake-up to the answer that the agent reads, median, 99th percentile and the slowest. One
  that came to nobody ends the run, which says what is left of it.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path

import psycopg2

from bench.select_destinations import DurablePostgres, set_up
from computeagent.agent.host_report import measures_of
from computeagent.agent.options import AgentOptions
from computeagent.agent.upkeep import SPARING_LOOK_S, WHOLE_REPORT_EVERY_S
from computeagent.protocol.hosts import HostReport, HostUsage
from computeagent.protocol.wire import AGENT_HEADER, PROTOCOL_VERSION, VERSION_HEADER, encode
from tests.fixtures.processes import ROOT
from tests.fixtures.servers import free_port

HEARTBEAT_S = 30.0
KEPT_S = 20.0
"""For less than that, even on a busy machine, the server keeps a silent connection."""
LOST_S = 240.0
"""Later than this is lost: the hub looks at all queues long before."""
WORK = "00000000-0000-0000-0000-00000000000a"
OPTIONS = AgentOptions()
CPU = {"arch": "x86_64", "model": "EPYC", "vendor": "AMD", "features": ["aes", "avx2", "sse4.2", "svm"]}
METRICS = {"cpu.percent": 12.5, "memory.percent": 40.0, "disk.percent": 30.0, "network.eth0.rx.bytes": 1e9}
EVERY_S = {
    "heartbeat": HEARTBEAT_S,
    "guest_documents": OPTIONS.metadata_interval_s,
    "instances_on_host": OPTIONS.resource_interval_s,
    "measures": OPTIONS.resource_interval_s,
    "register": WHOLE_REPORT_EVERY_S,
    **dict.fromkeys(("waiting_work", "consoles_wanted", "networks_wanted", "images_wanted"), SPARING_LOOK_S),
}
"""What an agent asks besides its polls, and every how many seconds."""


def agent_id_of(host: str) -> str:
    """The uuid of its state directory, which is of no other host."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, host))


class Agent:
    """The messages of one agent: its long polls on one connection, which is kept, the others on one each."""

    def __init__(self, port: int, number: int) -> None:
        self.host = f"h{number:05}"
        self._report = HostReport(
            f"cmp-{number:05d}.lab", "QEMU", 8002002, 64, 512 * 1024, 4096, cpu_info=CPU, metrics=METRICS
        )
        self._port = port
        self.heard: asyncio.Queue[float] = asyncio.Queue()
        self.polls = 0
        self.has_own_host = asyncio.Event()

    async def poll(self) -> None:
        """Wait for wake-ups for ever; remember when each came."""
        await self.has_own_host.wait()  # so its first poll is not among thousands of first messages
        link = await asyncio.open_connection("127.0.0.1", self._port)
        while True:
            self.polls += 1
            if await self._ask(link, "wakeups", {"host": self.host, "timeout_s": OPTIONS.wakeup_wait_s}) != []:
                self.heard.put_nowait(time.time())

    async def upkeep(self) -> None:
        """Look for own work and send heartbeats, each at its interval, from a place of its own within it."""
        link = await asyncio.open_connection("127.0.0.1", self._port)
        own = {"host": self.host}
        bodies: dict[str, dict[str, object]] = {
            "register": {**own, "report": self._report},
            "measures": {**own, "measures": measures_of(self._report, HostUsage(0, 0, 0, 0))},
            "networks_wanted": {**own, "known_revision": 0},
            "guest_documents": {**own, "known": {}},
        }
        await self._ask(link, "register", bodies["register"])
        self.has_own_host.set()
        share = int(self.host[1:]) * 0.618 % 1
        due = {verb: share * seconds for verb, seconds in EVERY_S.items()}
        began = asked_at = time.monotonic()
        while True:
            verb = min(due, key=lambda name: due[name])
            await asyncio.sleep(max(0.0, began + due[verb] - time.monotonic()))
            if time.monotonic() - asked_at > KEPT_S:
                link[1].close()
                link = await asyncio.open_connection("127.0.0.1", self._port)
            await self._ask(link, verb, bodies.get(verb, own))
            asked_at = time.monotonic()
            due[verb] += EVERY_S[verb]

    async def _ask(self, link: tuple[asyncio.StreamReader, asyncio.StreamWriter], verb: str, body: object) -> object:
        reader, writer = link
        data = encode(body)
        lines = (
            f"POST /agent/v1/{verb} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {secret_of(self.host)}",
            f"{AGENT_HEADER}: {agent_id_of(self.host)}", f"{VERSION_HEADER}: {PROTOCOL_VERSION}",
            f"Content-Length: {len(data)}", "", "",
        )  # fmt: skip
        writer.write("\r\n".join(lines).encode() + data)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.split(b"\r\n") if line[:15].lower() == b"content-length:")
        answer = await reader.readexactly(length)
        if b" 200 " not in head[:20]:  # a bench of refusals would look quick
            raise SystemExit(f"{verb} of {self.host}: {head[:40]!r} {answer[:300]!r}")
        return json.loads(answer)


def secret_of(host: str) -> str:
    """What the agent of this host sends."""
    return f"kna_of-{host}"


def fleet_make(agents: int) -> None:
    """Rows of hosts whose agents are enrolled and own them."""
    from django.db import transaction  # noqa: PLC0415 - needs Django

    from bench.select_destinations_fleet import fleet_rows_make  # noqa: PLC0415
    from computeagent.protocol.wire import secret_digest  # noqa: PLC0415
    from controlplane.infra.db import now_plus  # noqa: PLC0415
    from scheduling.models import Service  # noqa: PLC0415
    from servers.agent_api.credentials import credential_set  # noqa: PLC0415
    from servers.agent_api.host_ownership import host_ownership_claim  # noqa: PLC0415

    fleet_rows_make(agents)
    with transaction.atomic():
        for service, number in zip(Service.objects.order_by("host"), range(agents), strict=True):
            host = f"h{number:05}"
            # Silent until its agent comes: `alive` counts those that the web server wrote down.
            Service.objects.filter(pk=service.pk).update(host=host, last_seen_up=now_plus(-3600.0))
            service.compute_nodes.update(host=host)
            credential_set(host=host, secret_digest=secret_digest(secret_of(host)))
            host_ownership_claim(host=host, agent_id=agent_id_of(host), guests=())


def spent(is_counted: Callable[[str], bool]) -> tuple[float, float]:
    """Seconds of CPU, and MiB of memory by proportional set size, of the processes whose commands count."""
    cpu = memory = 0.0
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if is_counted((entry / "cmdline").read_text().replace("\0", " ")):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                cpu += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
                rollup = (entry / "smaps_rollup").read_text()
                memory += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")) / 1024
        except (OSError, StopIteration):
            continue
    return cpu, memory


async def measure(port: int, options: argparse.Namespace, url: str) -> None:
    """Connect all, rest, and wake some."""
    agents = [Agent(port, number) for number in range(options.agents)]
    tasks = [asyncio.create_task(part) for agent in agents for part in (agent.poll(), agent.upkeep())]
    began = time.monotonic()
    all_there = asyncio.gather(*(agent.has_own_host.wait() for agent in agents))
    await asyncio.wait({all_there, *tasks}, return_when=asyncio.FIRST_COMPLETED)
    ended_tell(tasks)
    print(f"  connected: after {time.monotonic() - began:.1f} s", flush=True)
    await asyncio.sleep(15.0)
    kinds = {
        "web": lambda line: f":{port}" in line and "manage.py web" in line,
        "postgres": lambda line: line.startswith("postgres"),
    }
    before = {name: spent(which)[0] for name, which in kinds.items()}
    await asyncio.sleep(options.seconds)
    with psycopg2.connect(url) as link, link.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        (connections,) = cursor.fetchone() or (0,)
    for name, which in kinds.items():
        cpu, memory = spent(which)
        print(f"  idle, {name}: {(cpu - before[name]) / options.seconds:.0%} of one core, {memory:.0f} MiB")
    print(f"  idle, database connections: {connections}")
    with psycopg2.connect(url) as link, link.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM scheduling_service WHERE last_seen_up > now() - interval '40 seconds'")
        print(f"  alive: {(cursor.fetchone() or (0,))[0]} of {options.agents}")
    ended_tell(tasks)
    print(f"  {await wakes(agents, tasks, options.wakes, url)}")
    for task in tasks:
        task.cancel()


def ended_tell(tasks: Iterable["asyncio.Task[None]"]) -> None:
    """Raise what ended an agent: one that lost its connection would wait in vain."""
    for task in tasks:
        if task.done():
            task.result()


async def wakes(agents: list[Agent], tasks: Iterable["asyncio.Task[None]"], count: int, url: str) -> str:
    """One agent at a time."""
    from controlplane.work.wakeups.channels import postgres_channel  # noqa: PLC0415 - needs Django

    link = psycopg2.connect(url)
    took = []
    for turn in range(count):
        agent = agents[turn * 7919 % len(agents)]
        queue = f"compute.{agent.host}"
        with link, link.cursor() as cursor:
            cursor.execute(
                "INSERT INTO work_wakeup (queue, code, ref, woken_at) VALUES (%s, 'build', %s, now())", [queue, WORK]
            )
            cursor.execute("SELECT pg_notify(%s, '')", [postgres_channel(queue)])
        committed = time.time()
        try:
            took.append((await asyncio.wait_for(agent.heard.get(), LOST_S) - committed) * 1000)
        except TimeoutError:
            ended_tell(tasks)  # else a connection that was cut would look like a wake-up that was lost
            with link, link.cursor() as cursor:
                cursor.execute("SELECT count(*) FROM work_wakeup WHERE queue = %s", [queue])
                (left,) = cursor.fetchone() or (0,)
            where = "is in its table" if left else "was taken from its table"
            raise SystemExit(f"the wake-up of {agent.host} {where} (wake {turn}, poll {agent.polls})") from None
        await asyncio.sleep(0.02)
    link.close()
    ranked = sorted(took)
    return (
        f"commit to agent: median {statistics.median(ranked):.1f} ms, "
        f"p99 {ranked[int(0.99 * len(ranked)) - 1]:.1f} ms, slowest {ranked[-1]:.0f} ms of {len(ranked)}"
    )


def main() -> None:
    """Start all, measure, remove all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--wakes", type=int, default=200)
    options = parser.parse_args()
    with DurablePostgres() as server, tempfile.TemporaryDirectory() as state:
        url = server.create_database()
        settings = {"DATABASE_URL": url, "KILONOVA_STATE": state, "LOG_LEVEL": "WARNING"}
        # All of them come from one address, with two connections each.
        settings["WEB_IDLE_CONNECTIONS_EACH"] = str(max(16, 4 * options.agents))
        os.environ.update({"DJANGO_SETTINGS_MODULE": "controlplane.settings.dev", **settings})
        set_up()
        from django.core.management import call_command  # noqa: PLC0415 - needs settings
        from django.db import connection  # noqa: PLC0415

        from controlplane.launcher.children import web_command  # noqa: PLC0415

        call_command("migrate", verbosity=0)
        fleet_make(options.agents)
        connection.close()
        port = free_port()
        with subprocess.Popen(web_command(port), cwd=ROOT) as web:
            time.sleep(5.0)
            print(f"{options.agents} agents, load {os.getloadavg()[0]:.1f}", flush=True)
            try:
                asyncio.run(measure(port, options, url))
            finally:
                web.terminate()


if __name__ == "__main__":
    main()
