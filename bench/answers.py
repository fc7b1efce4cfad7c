"""What the scheduler's answers cost on synthetic fleets: capacity of 20 flavors, a dry run, what would make it fit.

python -m bench.answers [--hosts 1000 10000] [--runs 5]

Milliseconds in this process, without HTTP and database: the world of values is there already, table and columns are
made once before the clock starts, except in the line that says so.
"""

import argparse
import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from uuid import UUID

from bench.scheduler_engine import fleet, measure, request
from placement.candidates import ProviderFacts
from placement.domain import InventoryUsage, capacity_of
from scheduling.domain.hosts.host_rows import HostRow, InventoryNumbers
from scheduling.engine import DEFAULT_POLICY, FlavorSnapshot, ScheduleRequest
from scheduling.whatif.domain.capacity import capacity
from scheduling.whatif.domain.edits import FleetEdits, HostAddEdit, RatioEdit, world_edited
from scheduling.whatif.domain.nearest_fit.change import Trial
from scheduling.whatif.domain.nearest_fit.search import fits_anywhere, fits_on_host
from scheduling.whatif.domain.world import World, world_of, world_run

FLAVORS = tuple(
    FlavorSnapshot(f"f{at}", f"m{at}", 2 ** (at % 5), 1024 * 2 ** (at % 7), 10 * (1 + at)) for at in range(20)
)


def usage(one: InventoryNumbers) -> InventoryUsage:
    """The inventory as Placement has it."""
    bound = capacity_of(total=one.total, reserved=one.reserved, allocation_ratio=one.allocation_ratio)
    return InventoryUsage(one.total, one.reserved, one.allocation_ratio, one.used, bound, 1, one.max_unit, 1)


def provider(row: HostRow) -> ProviderFacts:
    """The provider of a row."""
    inventories = {name: usage(one) for name, one in row.inventories.items()}
    uuid = UUID(row.uuid)
    return ProviderFacts(uuid, uuid, inventories, row.traits, name=row.nodename)


def world(count: int) -> World:
    """The fleet of bench.scheduler_engine with its providers."""
    rows, aggregates = fleet(count)
    sets = [replace(one, uuid=str(UUID(int=at, version=4))) for at, one in enumerate(aggregates)]
    return world_of(rows, sets, {one.uuid: one for one in map(provider, rows)})


def all_capacities(where: World, flavors: tuple[FlavorSnapshot, ...] = FLAVORS) -> None:
    """Every flavor."""
    for flavor in flavors:
        capacity(where, ScheduleRequest("r", "p", "u", ("one",), flavor), DEFAULT_POLICY)


def cases(where: World) -> dict[str, Callable[[], object]]:
    """What is measured."""
    huge, plain = request(resources__VCPU="300"), request()
    edits = FleetEdits(hosts_added=(HostAddEdit("cmp-00000", 3),), allocation_ratios=(RatioEdit("VCPU", 8.0),))
    full = random.Random(1).choice(where.rows)
    return {
        "capacity of 20 flavors": partial(all_capacities, where),
        "dry run": partial(world_run, where, plain, DEFAULT_POLICY),
        "dry run on an edited fleet, made anew": lambda: world_run(world_edited(where, edits), plain, DEFAULT_POLICY),
        "what makes it fit on one host": partial(fits_on_host, where, Trial(huge, DEFAULT_POLICY), full, FLAVORS),
        "what makes it fit anywhere": partial(fits_anywhere, where, Trial(huge, DEFAULT_POLICY), FLAVORS),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, nargs="+", default=[1000, 10000])
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    print(f"{'hosts':>7}  {'case':<40} {'median ms':>10} {'best ms':>10}")
    for count in options.hosts:
        for name, case in cases(world(count)).items():
            median, best = measure(case, options.runs)
            print(f"{count:>7}  {name:<40} {median:>10.1f} {best:>10.1f}")


if __name__ == "__main__":
    main()
