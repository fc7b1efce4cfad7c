"""Worlds for what-if trials: host rows with the providers that belong to them."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID, uuid5

from placement.candidates import ProviderFacts
from placement.domain import InventoryUsage, capacity_of
from scheduling.engine import AggregateRow, HostRow, Policy, ScheduleRequest, Trace
from scheduling.whatif.domain.nearest_fit.change import Trial
from scheduling.whatif.domain.world import World, world_of, world_run
from tests.units.scheduling.worlds import policy, request

SPACE = UUID(int=1)


def provider_of(row: HostRow) -> ProviderFacts:
    """The provider with the row's numbers."""
    uuid = UUID(row.uuid)
    inventories = {
        name: InventoryUsage(
            one.total,
            one.reserved,
            one.allocation_ratio,
            one.used,
            capacity_of(total=one.total, reserved=one.reserved, allocation_ratio=one.allocation_ratio),
            one.min_unit,
            one.max_unit,
            one.step_size,
        )
        for name, one in row.inventories.items()
    }
    return ProviderFacts(uuid, uuid, inventories, row.traits, name=row.nodename)


def world(*rows: HostRow, aggregates: Sequence[AggregateRow] = (), others: Sequence[ProviderFacts] = ()) -> World:
    """The world of these hosts; `others` are providers below them, or shared."""
    named = [replace(row, uuid=str(uuid5(SPACE, row.host))) for row in rows]
    sets = [replace(one, uuid=str(uuid5(SPACE, one.name))) for one in aggregates]
    providers = {UUID(row.uuid): provider_of(row) for row in named}
    return world_of(named, sets, providers | {one.uuid: one for one in others})


def trial(asked: ScheduleRequest | None = None, rules: Policy | None = None) -> Trial:
    """A request on the fleet as it is."""
    return Trial(asked or request(), rules or policy())


def run_in(where: World, tried: Trial) -> Trace:
    """One run."""
    return world_run(where, tried.request, tried.policy)
