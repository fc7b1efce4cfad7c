"""Many open pages at one web process, and what a build pays for telling them.

    python -m bench.streams [--pages 1000] [--seconds 60] [--bursts 20]

A private PostgreSQL and one web process with eight threads, as `manage.py up` runs them. Each page is an open stream
and nothing else: what a page fetches when it is told is the page's own cost. Printed:

- memory, threads, open files and database connections of the process with no page, and with all of them;
- idle: its CPU, keep-alives and looks at sessions included, in shares of one core;
- fan-out: from `changed` in another process, by way of its commit, to the first, the median and the last page, all of
  which watch the same thing; and the CPU of that;
- `changed`: CPU of ten transactions with three topics each, about what one build has, in the process that commits.
"""

import argparse
import asyncio
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psycopg2

from bench.select_destinations import DurablePostgres

ROOT = Path(__file__).resolve().parent.parent
TRANSACTIONS = 10
USERS = 200
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60.0, help="of doing nothing")
    parser.add_argument("--bursts", type=int, default=20)
    options = parser.parse_args()
    files = 4 * options.pages + 1000
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, max(files, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    with DurablePostgres() as server, tempfile.TemporaryDirectory() as state:
        os.environ.update(
            DATABASE_URL=server.create_database(),
            KILONOVA_STATE=state,
            SECRET_KEY="only-for-benches-" + "x" * 50,
            DJANGO_SETTINGS_MODULE="controlplane.settings.dev",
            STREAMS_MAX=str(options.pages),
        )
        subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, check=True)
        import django  # noqa: PLC0415 - its settings are made above

        django.setup()
        cookies = people(USERS)
        with web_process() as web:
            asyncio.run(measure(web, cookies, options))
        changed_costs()


def people(count: int) -> list[str]:
    """The session cookies of so many admins."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY  # noqa: PLC0415
    from django.contrib.sessions.backends.db import SessionStore  # noqa: PLC0415

    from controlplane.identity.models import Project, RoleAssignment, User  # noqa: PLC0415

    project, cookies = Project.objects.create(name="ops"), []
    for number in range(count):
        user = User.objects.create(username=f"user-{number}")
        RoleAssignment.objects.create(user=user, project=project, role="admin")
        session = SessionStore()
        session[SESSION_KEY] = str(user.pk)
        session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.create()
        cookies.append(f"sessionid={session.session_key}")
    return cookies


class web_process:  # noqa: N801 - used as `with web_process()`
    """One web server with one worker. `pid` is the worker's."""

    def __enter__(self) -> "web_process":
        from controlplane.launcher.children import web_command  # noqa: PLC0415
        from tests.fixtures.servers import free_port  # noqa: PLC0415

        self.port = free_port()
        self.process = subprocess.Popen(
            web_command(self.port, processes=1), cwd=ROOT, env={**os.environ, "LOG_LEVEL": "WARNING"}
        )
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        while not (found := children.read_text().split()):
            time.sleep(0.1)
        self.pid = int(found[0])
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(15)

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def facts(self) -> str:
        status = Path(f"/proc/{self.pid}/status").read_text()
        values = {line.partition(":")[0]: line.split()[1] for line in status.splitlines() if len(line.split()) > 1}
        files = len(os.listdir(f"/proc/{self.pid}/fd"))
        with psycopg2.connect(os.environ["DATABASE_URL"]) as link, link.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            (connections,) = cursor.fetchone() or (0,)
        memory = int(values["VmRSS"]) / 1024
        return (
            f"{memory:.0f} MiB, {values['Threads']} threads, {files} files, {connections} database connections "
            "(this program's included)"
        )


async def measure(web: web_process, cookies: list[str], options: argparse.Namespace) -> None:
    """All that needs the web process."""
    from controlplane.work.hints import HOSTS, changed  # noqa: PLC0415
    from controlplane.work.hints.sender import hint_sender  # noqa: PLC0415

    while True:
        try:
            first = await Page.open(web.port, cookies[0])
            break
        except OSError:
            await asyncio.sleep(0.2)
    print(f"1 page:      {web.facts()}")
    began, cpu = time.monotonic(), web.cpu_s()
    pages = [first]
    while len(pages) < options.pages:
        many = range(len(pages), min(len(pages) + 16, options.pages))
        pages += await asyncio.gather(*(Page.open(web.port, cookies[one % len(cookies)]) for one in many))
    took, cpu = time.monotonic() - began, web.cpu_s() - cpu
    print(f"{len(pages)} pages:  {web.facts()}; opened in {took:.1f} s, {1000 * cpu / len(pages):.2f} ms CPU each")
    await asyncio.sleep(2)
    cpu = web.cpu_s()
    await asyncio.sleep(options.seconds)
    print(f"idle:        {100 * (web.cpu_s() - cpu) / options.seconds:.1f} % of a core")
    firsts, medians, lasts, cpus = [], [], [], []
    for _ in range(options.bursts):
        await asyncio.sleep(1.0)
        cpu, began = web.cpu_s(), time.monotonic()
        waits = [asyncio.create_task(page.changed_at()) for page in pages]
        await asyncio.to_thread(changed, HOSTS)
        times = sorted([at - began for at in await asyncio.gather(*waits)])
        firsts.append(times[0])
        medians.append(statistics.median(times))
        lasts.append(times[-1])
        cpus.append(web.cpu_s() - cpu)
    hint_sender().close()
    names = (("first", firsts), ("median", medians), ("last", lasts), ("CPU", cpus))
    print("fan-out:     " + ", ".join(f"{name} {1000 * statistics.median(found):.0f} ms" for name, found in names))
    for page in pages:
        page.writer.close()


class Page:
    """An open stream."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, port: int, cookie: str) -> "Page":
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET /events/?watch=hosts HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        await reader.readuntil(b"event: ready")
        return cls(reader, writer)

    async def changed_at(self) -> float:
        await self.reader.readuntil(b"event: changed")
        return time.monotonic()


def changed_costs() -> None:
    """CPU of this process and of PostgreSQL's notifications, by the difference to empty transactions."""
    from django.db import connection, transaction  # noqa: PLC0415

    from controlplane.work.hints import INSTANCES, changed, instance_topic, project_topic  # noqa: PLC0415
    from controlplane.work.hints.sender import hint_sender  # noqa: PLC0415

    def builds(count: int, *, telling: bool) -> float:
        began = time.process_time()
        for number in range(count):
            for _ in range(TRANSACTIONS):
                with transaction.atomic(), connection.cursor() as cursor:
                    cursor.execute("SELECT 1")
                    if telling:
                        changed(instance_topic(number), project_topic("p"), INSTANCES)
        if telling:
            hint_sender().close()
        return (time.process_time() - began) / count

    builds(100, telling=True)
    rounds = [(builds(500, telling=False), builds(500, telling=True)) for _ in range(7)]
    more = statistics.median(after - before for before, after in rounds)
    print(f"`changed`:   {1000 * more:.3f} ms CPU a build of {TRANSACTIONS} transactions, its sender included")


if __name__ == "__main__":
    main()
