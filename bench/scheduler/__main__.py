"""What the scheduler's engine costs on synthetic fleets, trace included: medians of CPU milliseconds.

    python -m bench.scheduler [--hosts 100 1000 10000 100000] [--seconds 3] [--only WORDS]
    python -m bench.scheduler --nova NOVA_PYTHON --nova-bench DIR

With --nova (a Python that has nova installed; nova==34.0.0 was compared) the scripts in DIR, bench_nova_scheduler.py
and those it imports, measure Nova's own filters and weighers in the same run: both sides take turns, case by case.
The ratios are then held against the goals. The last table is memory: what a process needs more than before it knew
any host.
"""

import argparse
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import groupby

from bench.scheduler.cases import CASES, NO_GOAL, Case, Work, World
from bench.scheduler.memory import memory_mib, memory_report
from bench.scheduler.nova_peer import NovaPeer
from scheduling.domain.plugins.loading import plugin_modules_allow

SIZES = (100, 1_000, 10_000, 100_000)
# Whoever runs second finds other caches and clocks than the first: the sides change places this often.
TURNS = 5
MAX_CALLS = 1000


@dataclass(frozen=True, slots=True)
class Line:
    """One case at one size."""

    hosts: int
    case: Case
    ours: float
    nova: float | None

    def __str__(self) -> str:
        goal = self.case.goals.get(self.hosts, NO_GOAL)
        ratio = "" if self.nova is None else f"{self.nova / self.ours:.1f}"
        nova = "" if self.nova is None else f"{self.nova:.1f}"
        verdict = {True: "met", False: "MISSED", None: ""}[goal.is_met(self.ours, self.nova) if str(goal) else None]
        return f"{self.hosts:>7}  {self.case.name:<36}{nova:>10}{self.ours:>10.3f}{ratio:>8}  {goal!s:<16} {verdict}"


def measured(case: Case, world: World, peer: NovaPeer | None, seconds: float) -> Line:
    """Both sides in turns."""
    work = case.make(world)
    work()
    ours: list[float] = []
    nova: list[float] = []
    compared = peer if case.nova and world.count <= case.nova_max_hosts else None
    for _ in range(TURNS):
        ours += timed(work, seconds / TURNS)
        if compared is not None:
            nova += compared.cpu_ms(world.count, case.config, case.request, case.nova, seconds / TURNS)
    return Line(world.count, case, statistics.median(ours), statistics.median(nova) if nova else None)


def timed(work: Work, seconds: float) -> list[float]:
    """CPU milliseconds of each call, for about so many seconds of them; one at least."""
    spent: list[float] = []
    end = time.process_time() + seconds
    while not spent or (time.process_time() < end and len(spent) < MAX_CALLS):
        start = time.process_time()
        work()
        spent.append((time.process_time() - start) * 1000)
    return spent


def lines(options: argparse.Namespace, peer: NovaPeer | None) -> Iterator[Line]:
    """Every case at every size, the fleets of one configuration made once."""
    wanted = [case for case in CASES if not options.only or options.only in case.name]
    for count in options.hosts:
        for config, cases in groupby(wanted, key=lambda case: case.config):
            world = World(count, config)
            for case in cases:
                yield measured(case, world, peer, options.seconds)


def report_memory(sizes: Sequence[int]) -> None:
    """The peak of a process that knows a fleet."""
    print(f"\n{'hosts':>7}  {'configuration':<20}{'peak MiB':>10}{'more MiB':>10}{'per 10000':>10}  goal")
    for count in sizes:
        for config in ("default", "extra"):
            before, peak = memory_mib(count, config)
            more = peak - before
            print(f"{count:>7}  {config:<20}{peak:>10.0f}{more:>10.1f}{more * 10_000 / count:>10.1f}  below 150")


def parsed() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, nargs="+", default=SIZES)
    parser.add_argument("--seconds", type=float, default=3, help="of CPU for each case and side, about")
    parser.add_argument("--only", help="cases whose name has this in it")
    parser.add_argument("--nova", metavar="PYTHON", help="a Python that has nova installed")
    parser.add_argument("--nova-bench", metavar="DIR", help="where bench_nova_scheduler.py is")
    parser.add_argument("--no-memory", action="store_true", help="leave out the last table")
    parser.add_argument("--memory-of", nargs=2, metavar=("HOSTS", "CONFIG"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.nova and not options.nova_bench:
        parser.error("--nova needs --nova-bench")
    return options


def main() -> None:
    """Print the tables."""
    plugin_modules_allow(lambda: ("bench",))
    options = parsed()
    if options.memory_of:
        memory_report(int(options.memory_of[0]), options.memory_of[1])
        return
    print(f"load at the start: {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores; medians of CPU ms")
    print(f"{'hosts':>7}  {'case':<36}{'Nova':>10}{'ours':>10}{'ratio':>8}  goal")
    side: AbstractContextManager[NovaPeer | None] = nullcontext()
    if options.nova:
        side = NovaPeer(options.nova, options.nova_bench)
    with side as peer:
        for line in lines(options, peer):
            print(line, flush=True)
    if not options.no_memory:
        report_memory([count for count in options.hosts if count >= 1_000])


if __name__ == "__main__":
    main()
