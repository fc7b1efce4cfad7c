"""What each second, faster way is worth: the same operations with it and without, in turn, on a private PostgreSQL.

    python -m bench.fast_ways [--rounds 31] [--count 6] [--only NAME ...]

One line for each way and operation: CPU milliseconds of an operation from end to end with the plain way and with the
fast one, and the share that the fast one saves. CPU is that of this process and of its database connection together,
so neither waiting nor the rest of a busy machine is in it; rounds alternate, the figures are medians of rounds, and the
share is the median of pairs of rounds. `same` compares a way with itself: so much is noise. The operations, among 1,000
hosts:

- `select`: choose and claim a host, and save the decision;
- `create`: from the service that creates an instance to ACTIVE: the conductor's part, and what its agent asks for and
  reports, but not the agent itself;
- `put`: PUT /placement/allocations/{consumer} of a new consumer, from middleware to middleware;
- `candidates`: GET /placement/allocation_candidates for ten, the same way;
- `provider`: GET /placement/resource_providers/{uuid}, the same way;
- `instance`: GET /api/instances/{id}/, the same way;
- `page`: GET /networks/ of the dashboard, by a member with a session, the same way;
- `idle`: one turn of a reconciler that has nothing to do.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

from bench.select_destinations import DurablePostgres, set_up

HOSTS = 1000


def cpu_ms(backend: int) -> float:
    """Milliseconds of CPU that this process and its database connection have used so far."""
    database = int(Path(f"/proc/{backend}/schedstat").read_text().split()[0])
    return time.process_time() * 1000 + database / 1e6


def main() -> None:
    """Make the fleet, measure, remove all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--count", type=int, default=6, help="operations of a round")
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    with DurablePostgres() as server:
        os.environ["DATABASE_URL"] = server.create_database()
        set_up()
        measure(options)


def measure(options: argparse.Namespace) -> None:
    """All ways that were asked for, on one fleet."""
    from django.core.management import call_command  # noqa: PLC0415
    from django.db import connection  # noqa: PLC0415

    from bench.fast_ways_cases import WAYS  # noqa: PLC0415
    from bench.select_destinations import fleet_make  # noqa: PLC0415
    from controlplane.identity.models import Project  # noqa: PLC0415
    from tests.worlds import cloud as world  # noqa: PLC0415 - all need Django

    call_command("migrate", verbosity=0)
    fleet_make(HOSTS)
    people = world.people()
    world.flavor()
    world.image()
    Project.objects.update(quota_instances=10**6, quota_cores=10**6, quota_ram_mib=10**9)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (backend,) = cursor.fetchone()
    for name, (operations, plain) in WAYS.items():
        for operation in operations if not options.only or name in options.only else ():
            runs = {
                is_plain: _run(operation, people, plain() if is_plain else (), 3, None) for is_plain in (True, False)
            }
            spent: dict[bool, list[float]] = {True: [], False: []}
            for _ in range(options.rounds):
                for is_plain, figures in spent.items():
                    began = cpu_ms(backend)
                    _run(operation, people, plain() if is_plain else (), options.count, runs[is_plain])
                    figures.append((cpu_ms(backend) - began) / options.count)
            slow, fast = statistics.median(spent[True]), statistics.median(spent[False])
            saved = statistics.median(1 - b / a for a, b in zip(spent[True], spent[False], strict=True))
            print(f"{name:26} {operation:11} plain {slow:7.3f} ms, fast {fast:7.3f} ms: saves {saved:4.0%}", flush=True)


def _run(
    operation: str,
    people: Any,
    patches: Iterable[AbstractContextManager[Any]],
    count: int,
    run: Callable[[], None] | None,
) -> Callable[[], None]:
    from bench.fast_ways_cases import OPERATIONS  # noqa: PLC0415 - needs Django

    with ExitStack() as stack:
        for each in patches:
            stack.enter_context(each)
        run = run or OPERATIONS[operation](people)
        for _ in range(count):
            run()
    return run


if __name__ == "__main__":
    main()
