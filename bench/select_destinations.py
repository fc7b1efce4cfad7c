"""The whole of select_destinations on a private PostgreSQL (fsync on): look, candidates, choice, claim, saved decision.

    python -m bench.select_destinations [--hosts 1000] [--workers 1 2] [--seconds 10] [--batch 1] [--memory]

Each worker is a process that schedules one request after the other, as the conductor does, each for `--batch`
instances: the request's spec is read as `schedule_request` and `fleet_facts` read it, then `destinations_select` runs.
Prints, for each number of workers, the median and 95th percentile in milliseconds, CPU milliseconds of the worker a
request, requests a second of all workers, and the median of each stage in microseconds. The fleet: 64 VCPU at ratio 4,
512 GiB, 4 TB, ten zones, an aggregate of every second host, ten instances a host. `--heartbeats` lets every host report
once in ten seconds meanwhile. `--memory` starts one more worker and prints what it needs for its view of the fleet.
"""

import argparse
import json
import logging
import os
import statistics
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import django
from django.conf import settings

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings.dev")

from tests.fixtures.servers import PostgresServer  # noqa: E402

WARM_UP = 20
SAMPLE = 10
HEARTBEAT_S = 10.0


class DurablePostgres(PostgresServer):
    """As an installation has it: what is committed is on the disk."""

    def command(self) -> list[str]:
        """The forgetful server's command line, with its shortcuts taken back."""
        durable = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "shared_buffers": "256MB"}
        return [*super().command(), *(word for key, value in durable.items() for word in ("-c", f"{key}={value}"))]


def fleet_make(hosts: int) -> None:
    """Rows of a fleet whose hosts all report, in bulk."""
    from bench.select_destinations_fleet import fleet_rows_make  # noqa: PLC0415 - needs Django

    fleet_rows_make(hosts)


def worker(seconds: float, batch: int) -> dict[str, Any]:
    """Schedule for so long; what each request took."""
    from bench.select_destinations_fleet import Requests  # noqa: PLC0415 - needs Django

    requests = Requests(batch)
    for _ in range(WARM_UP if batch == 1 else 1):
        requests.one()
    requests.stages()
    took: list[float] = []
    stages: dict[str, list[int]] = defaultdict(list)
    worked: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began, began_cpu = time.perf_counter(), time.process_time()
        timings = requests.one()
        took.append((time.perf_counter() - began) * 1000)
        worked.append((time.process_time() - began_cpu) * 1000)
        if len(took) % SAMPLE == 1:
            timings |= requests.stages()
        for name, spent in timings.items():
            stages[name].append(spent)
    return {
        "took": took,
        "cpu": worked,
        "stages": {name: statistics.median(spent) for name, spent in stages.items()},
        "seconds": seconds,
        "host_state": requests.host_state_us(),
    }


def memory() -> dict[str, float]:
    """MiB that a worker holds before its first look at the fleet, and after some requests."""
    from bench.select_destinations_fleet import Requests  # noqa: PLC0415 - needs Django

    before = _resident()
    requests = Requests()
    for _ in range(WARM_UP):
        requests.one()
    return {"before": before, "after": _resident(), "peak": _resident("VmHWM")}


def _resident(name: str = "VmRSS") -> float:
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status[name].split()[0]) / 1024


def children(count: int, *words: str) -> list[dict[str, Any]]:
    """Run so many workers side by side; what they print."""
    command = [sys.executable, "-m", "bench.select_destinations", *words]
    running = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(count)]
    answers = [process.communicate()[0] for process in running]
    if any(process.returncode for process in running):
        raise SystemExit("a worker failed")
    return [json.loads(answer.splitlines()[-1]) for answer in answers]


def heartbeats(stop: threading.Event) -> None:
    """Every host reports once in HEARTBEAT_S, spread over that time."""
    from scheduling.fleet.services.heartbeats import service_heartbeat  # noqa: PLC0415
    from scheduling.models import Service  # noqa: PLC0415 - needs Django

    hosts = list(Service.objects.values_list("host", flat=True))
    while not stop.is_set():
        for host in hosts:
            service_heartbeat(host=host)
            if stop.wait(HEARTBEAT_S / len(hosts)):
                return


def report(workers: int, answers: list[dict[str, Any]]) -> None:
    """One line for all workers, and one for each stage."""
    took = sorted(one for answer in answers for one in answer["took"])
    rate = sum(len(answer["took"]) / answer["seconds"] for answer in answers)
    cpu = sorted(one for answer in answers for one in answer["cpu"])
    p95, best = took[int(len(took) * 0.95)], cpu[len(cpu) // 10]
    print(
        f"{workers} worker(s): median {statistics.median(took):.2f} ms, p95 {p95:.2f} ms, "
        f"CPU {statistics.median(cpu):.2f} ms (best tenth {best:.2f}), {rate:.0f} a second, "
        f"load {os.getloadavg()[0]:.1f}"
    )
    stages = {**answers[0]["stages"], "host state, nothing changed (CPU)": answers[0]["host_state"]}
    print("    " + ", ".join(f"{name} {spent:.0f} us" for name, spent in stages.items() if spent >= 20))


def main() -> None:
    """Start the server, make the fleet, measure, remove all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--batch", type=int, default=1, help="instances of each request")
    parser.add_argument("--heartbeats", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--as-worker", choices=["speed", "memory"], help="used by this script for its children")
    options = parser.parse_args()
    if options.as_worker:
        set_up()
        print(json.dumps(worker(options.seconds, options.batch) if options.as_worker == "speed" else memory()))
        return
    with DurablePostgres() as server:
        os.environ["DATABASE_URL"] = server.create_database()
        set_up()
        measure(options)


def set_up() -> None:
    """As in production: no list of all statements is kept, and only warnings are told."""
    django.setup()
    settings.DEBUG = False
    logging.disable(logging.INFO)


def measure(options: argparse.Namespace) -> None:
    """All that was asked for, on one fleet."""
    from django.core.management import call_command  # noqa: PLC0415 - needs Django

    call_command("migrate", verbosity=0)
    fleet_make(options.hosts)
    print(f"{options.hosts} hosts")
    stop = threading.Event()
    beats = threading.Thread(target=heartbeats, args=(stop,), daemon=True)
    if options.heartbeats:
        beats.start()
    words = ["--seconds", str(options.seconds), "--batch", str(options.batch)]
    for count in options.workers:
        report(count, children(count, "--as-worker", "speed", *words))
    if options.memory:
        (answer,) = children(1, "--as-worker", "memory")
        grown = answer["after"] - answer["before"]
        print(
            f"a worker's view of the fleet: {grown:.0f} MiB, {grown / options.hosts * 10_000:.0f} MiB for 10,000 hosts "
            f"(the process: {answer['before']:.0f} MiB before, {answer['after']:.0f} after, {answer['peak']:.0f} peak)"
        )
    stop.set()
    if options.heartbeats:
        beats.join()


if __name__ == "__main__":
    main()
