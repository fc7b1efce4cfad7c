"""The OpenStack APIs under load, by standard requests, so that any cloud can be asked the very same.

    python -m bench.api measure http://HOST/identity/v3 --password ... [--project demo] [--servers 1000] [--times 50]
    python -m bench.api compare IDENTITY_URL_A IDENTITY_URL_B --password ... [...]
    python -m bench.api own [--hosts 1000] [--instances 100000]

`measure` asks one cloud, found by its catalog: a page of the list of servers with details (`--servers`, of all
projects), one server, the validation of a token, and a new server until it is accepted (it is deleted again). One
request at a time on kept-alive connections. Printed for each: median, 95th percentile, bytes of the answer, and with
`--pids` (the roots of the cloud's processes) milliseconds of CPU of a request, those of all their children included.
`compare` asks two clouds in turn, and says how many times faster the second is. `own` makes an installation: a private
PostgreSQL with fsync, the rows of the demo, the web server as `manage.py up` runs it; it adds how many statements each
request costs.
"""

import argparse
import http.client
import json
import os
import re
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.select_destinations import DurablePostgres
from tests.fixtures.processes import ROOT, Processes
from tests.fixtures.servers import free_port

WARM_UP = 3
TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")
START_TIMEOUT_S = 120.0
LOG_SETTLES_S = 1.0
STATEMENT = re.compile(r"(statement|execute [^:]*): (?!BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|SET |SHOW )")
MICROVERSION = "2.96"
"""Of the newest releases of both sides the highest that both have."""


class Service:
    """One kept-alive connection to one service of a cloud."""

    def __init__(self, url: str, token: str = "") -> None:
        parts = urlsplit(url)
        self._prefix = parts.path.rstrip("/")
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=300)
        self._headers = {"Content-Type": "application/json", "OpenStack-API-Version": f"compute {MICROVERSION}"}
        if token:
            self._headers["X-Auth-Token"] = token

    def ask(
        self, method: str, path: str, body: object = None, **headers: str
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """The answer, and its body; ends the run at an error."""
        data = None if body is None else json.dumps(body)
        self._connection.request(method, self._prefix + path, data, self._headers | headers)
        response = self._connection.getresponse()
        content = response.read()
        if response.status >= 400:
            raise SystemExit(f"{method} {path}: {response.status} {content[:300]!r}")
        return response, content


@dataclass(slots=True)
class Case:
    """One request: what is asked, and what undoes it again, which is not measured."""

    name: str
    ask: Callable[[], bytes]
    undo: Callable[[bytes], None] = lambda _: None


@dataclass(slots=True)
class Row:
    """What one case took, in milliseconds."""

    took: list[float] = field(default_factory=list)
    cpu_ms: float = 0.0
    length: int = 0

    def __str__(self) -> str:
        ordered = sorted(self.took)
        cpu = f"  CPU {self.cpu_ms:7.2f} ms" if self.cpu_ms else ""
        return f"{statistics.median(ordered):8.2f} ms  p95 {ordered[int(len(ordered) * 0.95)]:8.2f} ms{cpu}"


class Cloud:
    """A cloud as its clients see it: a token, and what its catalog lists."""

    def __init__(self, identity: str, given: argparse.Namespace) -> None:
        self.identity, self.given = identity, given
        self.token, body = self._log_in()
        self.urls = {one["type"]: one["endpoints"][0]["url"] for one in body["catalog"]}
        self.compute, self.keystone = Service(self.urls["compute"], self.token), Service(identity, self.token)

    def _log_in(self) -> tuple[str, dict[str, Any]]:
        domain = {"name": "Default"}
        user = {"name": self.given.username, "password": self.given.password, "domain": domain}
        asked = {
            "identity": {"methods": ["password"], "password": {"user": user}},
            "scope": {"project": {"name": self.given.project, "domain": domain}},
        }
        response, content = Service(self.identity).ask("POST", "/auth/tokens", {"auth": asked})
        return response.headers["X-Subject-Token"], json.loads(content)["token"]

    def cases(self) -> list[Case]:
        """All requests, with the first server, and the smallest image and flavor."""
        page = f"/servers/detail?limit={self.given.servers}&all_tenants=1"
        first = json.loads(self.compute.ask("GET", "/servers?limit=1&all_tenants=1")[1])["servers"][0]["id"]
        images = json.loads(Service(self.urls["image"], self.token).ask("GET", "/v2/images?status=active")[1])["images"]
        image = min(images, key=_disk_bytes)
        flavors = json.loads(self.compute.ask("GET", "/flavors/detail")[1])["flavors"]
        flavor = min((one for one in flavors if one["disk"] << 30 >= _disk_bytes(image)), key=lambda one: one["ram"])
        server = {"name": "bench", "flavorRef": flavor["id"], "imageRef": image["id"], "networks": "none"}

        def delete(content: bytes) -> None:
            self.compute.ask("DELETE", f"/servers/{json.loads(content)['server']['id']}")

        subject = {"X-Subject-Token": self.token}
        return [
            Case(f"list {self.given.servers} with details", lambda: self.compute.ask("GET", page)[1]),
            Case("show a server", lambda: self.compute.ask("GET", f"/servers/{first}")[1]),
            Case("validate a token", lambda: self.keystone.ask("GET", "/auth/tokens", None, **subject)[1]),
            Case("create, accepted", lambda: self.compute.ask("POST", "/servers", {"server": server})[1], delete),
        ]


def _disk_bytes(image: dict[str, Any]) -> int:
    return max(image.get("virtual_size") or 0, image.get("size") or 0, image.get("min_disk", 0) << 30)


def cpu_ticks(roots: Sequence[int]) -> int:
    """Of these processes and all below them."""
    parents: dict[int, list[int]] = {}
    spent: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        pid = int(path.parent.name)
        spent[pid] = int(words[11]) + int(words[12])
        parents.setdefault(int(words[1]), []).append(pid)
    waiting, total = list(roots), 0
    while waiting:
        pid = waiting.pop()
        total += spent.get(pid, 0)
        waiting += parents.get(pid, ())
    return total


def measured(case: Case, times: int, pids: Sequence[int]) -> Row:
    """One case, so many times. CPU is that of the requests alone, as nothing is undone before they are done."""
    for _ in range(WARM_UP):
        case.undo(case.ask())
    row, answers, before = Row(), [], cpu_ticks(pids)
    for _ in range(times):
        begin = time.perf_counter()
        answer = case.ask()
        row.took.append((time.perf_counter() - begin) * 1000)
        answers.append(answer)
    row.cpu_ms = (cpu_ticks(pids) - before) * TICK_MS / times
    row.length = len(answers[0])
    for answer in answers:
        case.undo(answer)
    return row


def measure(identity: str, given: argparse.Namespace, statements: Callable[[Case], str] = lambda _: "") -> None:
    """One cloud."""
    for case in Cloud(identity, given).cases():
        row = measured(case, given.times, given.pids)
        print(f"{case.name:28} {row}  {row.length:9} bytes{statements(case)}", flush=True)


def compare(identities: Sequence[str], given: argparse.Namespace) -> None:
    """Two clouds in turn, request by request."""
    for pair in zip(*(Cloud(identity, given).cases() for identity in identities), strict=True):
        rows = [Row(), Row()]
        for _ in range(given.times):
            for row, case in zip(rows, pair, strict=True):
                begin = time.perf_counter()
                answer = case.ask()
                row.took.append((time.perf_counter() - begin) * 1000)
                case.undo(answer)
        first, second = (statistics.median(row.took) for row in rows)
        print(f"{pair[0].name:28} {first:8.2f} ms {second:8.2f} ms  {first / second:6.1f} times faster", flush=True)


def own(given: argparse.Namespace) -> None:
    """An installation for this run alone."""
    with tempfile.TemporaryDirectory(prefix="bench-api-") as directory, DurablePostgres() as database:
        Path(directory).chmod(0o755)
        processes, state, port = Processes(Path(directory)), Path(directory) / "state", free_port()
        given.password = secrets.token_urlsafe(16)
        (Path(directory) / "password").write_text(given.password)
        env = {
            "DATABASE_URL": database.create_database(),
            "DJANGO_SETTINGS_MODULE": "controlplane.settings.dev",
            "KILONOVA_STATE": str(state),
        }
        fill = ["demo", "--state", str(state), "--hosts", str(given.hosts), "--instances", str(given.instances)]
        fill += ["--no-serve", "--admin-password-file", str(Path(directory) / "password")]
        subprocess.run([sys.executable, "manage.py", *fill], cwd=ROOT, env={**os.environ, **env}, check=True)
        database.execute("VACUUM ANALYZE")
        try:
            from controlplane.launcher.children import web_command  # noqa: PLC0415 - not for other clouds

            web = processes.start(web_command(port), env=env)
            identity = f"http://127.0.0.1:{port}/identity/v3"
            wait_until_served(identity)
            assert database.process is not None
            given.pids = [web.pid, database.process.pid]
            measure(identity, given, lambda case: f"  {statements_of(case, database)} statements")
        finally:
            processes.kill_all()


def wait_until_served(identity: str) -> None:
    """Raises SystemExit when it takes too long."""
    end = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < end:
        try:
            Service(identity).ask("GET", "")
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise SystemExit("The web server does not answer.")


def statements_of(case: Case, database: DurablePostgres) -> int:
    """What the database is asked for one request, by its own log; without the marks of transactions."""

    def log_all(is_on: bool) -> None:
        database.execute(f"ALTER SYSTEM SET log_statement = {'all' if is_on else 'none'}")
        database.execute("SELECT pg_reload_conf()")
        time.sleep(LOG_SETTLES_S)

    log_all(True)
    begin = database.log.stat().st_size
    answer = case.ask()
    with database.log.open(errors="replace") as log:
        log.seek(begin)
        found = sum(1 for line in log if STATEMENT.search(line))
    log_all(False)
    case.undo(answer)
    return found


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["measure", "compare", "own"])
    parser.add_argument("urls", nargs="*", help="of the Identity API, with its version")
    parser.add_argument("--username", default="admin")
    parser.add_argument("--password", default="")
    parser.add_argument("--project", default="demo")
    parser.add_argument("--servers", type=int, default=1000, help="members of the page that is listed")
    parser.add_argument("--times", type=int, default=50, help="requests of each case")
    parser.add_argument("--pids", type=int, nargs="*", default=[], help="roots of the cloud's processes")
    parser.add_argument("--hosts", type=int, default=1000, help="of `own`")
    parser.add_argument("--instances", type=int, default=100_000, help="of `own`")
    given = parser.parse_args()
    if len(given.urls) != {"measure": 1, "compare": 2, "own": 0}[given.what]:
        parser.error("measure takes one URL, compare two, own none")
    if given.what == "own":
        own(given)
    elif given.what == "measure":
        measure(given.urls[0], given)
    else:
        compare(given.urls, given)


if __name__ == "__main__":
    main()
