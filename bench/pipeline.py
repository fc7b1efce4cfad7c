"""Creates a second to ACTIVE through the whole path: web server, conductor, agents of simulated hosts, PostgreSQL.

    python -m bench.pipeline [--count 400] [--rate 10] [--hosts 8] [--workers 1 2] [--batch 10] [--bulk 500] [--profile]

A private PostgreSQL (fsync on) and `manage.py up` with the fake driver, anew for each number of workers. Printed:

- paced: `--count` creates, `--rate` a second whether or not the earlier ones are done; from the moment a request is
  due to `launched_at`, median and 95th percentile, the same for the first and the last quarter of the run (growth of
  latency), and how long the API took to answer 202;
- sustained: `--count` creates as fast as `--clients` clients can ask; creates a second from the first request to the
  last `launched_at`, and the API's answers meanwhile;
- batches: the same number of instances, `--batch` of them with each request;
- bulk: one request for `--bulk` instances; its answer, and the time until all are ACTIVE.

`--profile` adds where the time of the sustained part and of the batches goes: seconds of CPU of each process, and the
median time between the steps that rows tell of.
"""

import argparse
import http.client
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import psycopg2

from bench.select_destinations import DurablePostgres
from tests.fixtures.installation import Installation
from tests.fixtures.processes import Processes

GIVE_UP_S = 300.0
POLL_S = 0.25
# Room for all that is asked for, whatever the simulated machine's size.
RATIOS = {f"INITIAL_{what}_ALLOCATION_RATIO": "100" for what in ("CPU", "RAM", "DISK")}
PACED_THREADS = 16
CONNECTION_OPEN_S = 1.0  # the web server keeps an idle connection for two seconds
STEPS = """
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM s.started_at - s.created_at)),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM s.finished_at - s.started_at)),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM b.started_at - b.created_at)),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM b.finished_at - b.started_at))
FROM servers_instance i
JOIN work_work s ON s.kind = 'schedule_and_build' AND s.subject = i.reservation_id
JOIN work_work b ON b.kind = 'build' AND b.subject = i.id
WHERE i.name LIKE %s
"""


@dataclass(frozen=True, slots=True)
class Request:
    """When it was due (Unix seconds), how long the API took to accept it (ms), and the instance."""

    due: float
    accepted_ms: float
    instance: str


class Client:
    """One connection to the API that is kept open, and opened anew where the server will have closed it by now."""

    def __init__(self, cloud: Installation, image: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", cloud.port, timeout=120)
        self._headers = {"Content-Type": "application/json", "X-Auth-Token": cloud.token}
        self._image = image
        self._used_at = 0.0

    def create(self, name: str, due: float, **more: object) -> Request:
        """POST; the answer must be 202."""
        body = json.dumps({"name": name, "flavor": "m1.nano", "image": self._image, **more})
        if time.monotonic() - self._used_at > CONNECTION_OPEN_S:
            self._connection.close()
        began = time.perf_counter()
        self._connection.request("POST", "/api/instances/", body=body, headers=self._headers)
        answer = self._connection.getresponse()
        text = answer.read()
        took = (time.perf_counter() - began) * 1000
        self._used_at = time.monotonic()
        if answer.status != 202:
            raise SystemExit(f"{name}: {answer.status} {text[:300]!r}")
        return Request(due, took, json.loads(text)["id"])


class Bench:
    """One installation, and a connection of its own that reads rows."""

    def __init__(self, cloud: Installation, database_url: str) -> None:
        self.cloud = cloud
        self.image = cloud.call("images/")["results"][0]["id"]
        self._rows = psycopg2.connect(database_url)
        self._rows.autocommit = True

    def close(self) -> None:
        """Leave the database."""
        self._rows.close()

    def paced(self, count: int, rate: float) -> list[Request]:
        """One request each 1/rate seconds, from a pool of clients."""
        clients = [Client(self.cloud, self.image) for _ in range(PACED_THREADS)]
        start = time.time() + 0.5

        def turn(mine: int) -> list[Request]:
            made = []
            for number in range(mine, count, PACED_THREADS):
                due = start + number / rate
                time.sleep(max(0.0, due - time.time()))
                made.append(clients[mine].create(f"paced-{number}", due))
            return made

        return _together(PACED_THREADS, turn)

    def sustained(self, count: int, threads: int) -> list[Request]:
        """As fast as these clients get their answers."""
        clients = [Client(self.cloud, self.image) for _ in range(threads)]

        def turn(mine: int) -> list[Request]:
            return [clients[mine].create(f"fast-{number}", time.time()) for number in range(mine, count, threads)]

        return _together(threads, turn)

    def batches(self, count: int, each: int, threads: int) -> list[Request]:
        """The same, `each` instances with one request."""
        clients = [Client(self.cloud, self.image) for _ in range(threads)]

        def turn(mine: int) -> list[Request]:
            numbers = range(mine, count // each, threads)
            return [clients[mine].create(f"batch-{number}", time.time(), min_count=each) for number in numbers]

        return _together(threads, turn)

    def launched(self, prefix: str, count: int) -> dict[str, float]:
        """Wait until all of this name are ACTIVE; instance to Unix seconds of its launch."""
        end = time.monotonic() + GIVE_UP_S
        while True:
            found = self._query(
                "SELECT id, extract(epoch FROM launched_at), vm_state FROM servers_instance WHERE name LIKE %s",
                f"{prefix}-%",
            )
            done = {str(key): float(at) for key, at, _ in found if at is not None}
            failed = sum(state == "error" for *_, state in found)
            if failed or time.monotonic() > end:
                raise SystemExit(f"{prefix}: {len(done)} of {count} ACTIVE, {failed} in ERROR; {self.cloud.describe()}")
            if len(done) == count:
                return done
            time.sleep(POLL_S)

    def steps(self, prefix: str) -> str:
        """Median seconds between the steps of these creates."""
        (row,) = self._query(STEPS, f"{prefix}-%")
        names = ("waits for the conductor", "is scheduled", "waits for the agent", "is built")
        return ", ".join(f"{name} {float(spent or 0):.2f} s" for name, spent in zip(names, row, strict=True))

    def cpu(self) -> dict[str, float]:
        """Seconds of CPU so far by kind of process."""
        kinds = {"web": "manage.py web", "conductor": "conductor", "agents": "computeagent"}
        return {kind: sum(_cpu_s(pid) for pid in self.cloud.pids(word)) for kind, word in kinds.items()}

    def _query(self, sql: str, *parameters: object) -> list[tuple]:  # type: ignore[type-arg]
        with self._rows.cursor() as cursor:
            cursor.execute(sql, parameters)
            return list(cursor.fetchall())


def _together(threads: int, turn: Callable[[int], list[Request]]) -> list[Request]:
    with ThreadPoolExecutor(threads) as pool:
        return sorted((one for made in pool.map(turn, range(threads)) for one in made), key=lambda one: one.due)


def _cpu_s(pid: int) -> float:
    """Its own, and that of workers of it which have ended: a conductor's are renewed after so many tasks."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _spread(values: Sequence[float], unit: str) -> str:
    ranked = sorted(values)
    p95 = ranked[max(0, round(0.95 * len(ranked)) - 1)]
    digits = 0 if unit == "ms" else 2
    return f"median {statistics.median(ranked):.{digits}f} {unit}, p95 {p95:.{digits}f} {unit}"


def _accepted(requests: Sequence[Request]) -> str:
    return "API: " + _spread([one.accepted_ms for one in requests], "ms")


def report_paced(bench: Bench, count: int, rate: float) -> None:
    """Latency at a given rate, and whether it grows."""
    requests = bench.paced(count, rate)
    launched = bench.launched("paced", count)
    took = [launched[one.instance] - one.due for one in requests]
    quarter = max(1, count // 4)
    print(f"  paced, {count} at {rate:g} a second: request to ACTIVE {_spread(took, 's')}; {_accepted(requests)}")
    print(f"    first quarter {_spread(took[:quarter], 's')}; last quarter {_spread(took[-quarter:], 's')}")


def report_sustained(bench: Bench, count: int, threads: int, *, has_profile: bool) -> None:
    """Creates a second, and where the time goes."""
    before = bench.cpu()
    requests = bench.sustained(count, threads)
    launched = bench.launched("fast", count)
    seconds = max(launched.values()) - requests[0].due
    print(
        f"  sustained, {count} from {threads} clients: {count / seconds:.1f} a second to ACTIVE; {_accepted(requests)}"
    )
    asked = requests[-1].due - requests[0].due
    print(
        f"    asked for within {asked:.1f} s ({count / max(asked, 0.001):.0f} a second), "
        f"the last ACTIVE after {seconds:.1f} s"
    )
    if has_profile:
        print(f"    CPU: {_spent(bench, before, count)}\n    {bench.steps('fast')}")


def _spent(bench: Bench, before: dict[str, float], count: int) -> str:
    spent = {kind: now - before[kind] for kind, now in bench.cpu().items()}
    return ", ".join(f"{kind} {s:.1f} s ({1000 * s / count:.1f} ms each)" for kind, s in spent.items())


def report_batches(bench: Bench, count: int, each: int, threads: int, *, has_profile: bool) -> None:
    """Instances a second when they are asked for some at a time."""
    before = bench.cpu()
    requests = bench.batches(count, each, threads)
    launched = bench.launched("batch", len(requests) * each)
    rate = len(launched) / (max(launched.values()) - requests[0].due)
    print(f"  batches, {len(requests)} requests for {each} each: {rate:.1f} instances a second; {_accepted(requests)}")
    if has_profile:
        print(f"    CPU: {_spent(bench, before, len(launched))}\n    {bench.steps('batch')}")


def report_bulk(bench: Bench, count: int) -> None:
    """One request for many."""
    made = Client(bench.cloud, bench.image).create("bulk", time.time(), min_count=count)
    seconds = max(bench.launched("bulk", count).values()) - made.due
    print(f"  bulk of {count}: accepted in {made.accepted_ms:.0f} ms, all ACTIVE after {seconds:.1f} s")


def measure(workers: int, options: argparse.Namespace) -> None:
    """One installation with so many workers."""
    with DurablePostgres() as server, tempfile.TemporaryDirectory() as directory:
        url = server.create_database()
        many = str(10 * (options.count + options.bulk))
        quotas = {"DEFAULT_QUOTA_INSTANCES": many, "DEFAULT_QUOTA_CORES": many, "DEFAULT_QUOTA_RAM_MIB": "100000000"}
        env = {
            "DATABASE_URL": url,
            "LEASE_S": "30",
            "REPORT_INTERVAL_S": "10",
            "LOG_LEVEL": "WARNING",
            **quotas,
            **RATIOS,
        }
        processes = Processes(Path(directory))
        cloud = Installation(
            processes, Path(directory) / "s", driver="fake", hypervisors=options.hosts, workers=workers, env=env
        )
        try:
            bench = Bench(cloud.start(), url)
            print(f"{workers} worker(s), {options.hosts} hosts, load {os.getloadavg()[0]:.1f}", flush=True)
            report_paced(bench, options.count, options.rate)
            report_sustained(bench, options.count, options.clients, has_profile=options.profile)
            if options.batch:
                report_batches(bench, options.count, options.batch, options.clients, has_profile=options.profile)
            if options.bulk:
                report_bulk(bench, options.bulk)
            bench.close()
            cloud.stop()
        finally:
            processes.kill_all()


def main() -> None:
    """Each number of workers in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--rate", type=float, default=10.0)
    parser.add_argument("--hosts", type=int, default=8)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--bulk", type=int, default=500)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    for workers in options.workers:
        measure(workers, options)


if __name__ == "__main__":
    main()
