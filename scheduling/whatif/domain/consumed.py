"""The world after a plan was carried out: what the next request would find. Nothing is claimed."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from placement.candidates import ProviderFacts
from scheduling.domain.hosts.host_rows import HostRow
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.trace.trace import Trace
from scheduling.whatif.domain.world import World, with_provider


def world_after(world: World, request: ScheduleRequest, trace: Trace) -> World:
    """Placement's usage and the counters of hosts with the plan's instances on them, which count as being built.

    Cells and devices inside a host stay as they are: which of them a guest gets is decided with the claim.
    """
    if not trace.selections:
        return world
    providers = _providers(world.providers, trace)
    placed: dict[str, list[str]] = defaultdict(list)
    for one in trace.selections:
        placed[one.selected.compute_node_uuid].append(one.instance_uuid)
    rows = tuple(
        with_provider(_row(row, request, placed[row.uuid]), providers[UUID(row.uuid)]) if row.uuid in placed else row
        for row in world.rows
    )
    return World(rows, world.aggregates, providers, world.details)


def _providers(before: Mapping[UUID, ProviderFacts], trace: Trace) -> Mapping[UUID, ProviderFacts]:
    taken: dict[UUID, Counter[str]] = defaultdict(Counter)
    for one in trace.selections:
        node = one.selected.compute_node_uuid
        for provider, amounts in (one.selected.allocations or {node: trace.resources}).items():
            taken[UUID(provider)].update(amounts)
    after = dict(before)
    for uuid, amounts in taken.items():
        facts = before[uuid]
        used = {
            name: replace(facts.inventories[name], used=facts.inventories[name].used + amount)
            for name, amount in amounts.items()
            if name in facts.inventories
        }
        after[uuid] = replace(facts, inventories={**facts.inventories, **used}, rendered={})
    return after


def _row(row: HostRow, request: ScheduleRequest, uuids: list[str]) -> HostRow:
    before = len(row.instances) if row.num_instances is None else row.num_instances
    disk_gib = (request.flavor.root_gib + request.flavor.ephemeral_gib) * len(uuids)
    available = row.disk_available_least_gib
    return replace(
        row,
        instances=row.instances.union(uuids),
        num_instances=before + len(uuids),
        num_io_ops=row.num_io_ops + len(uuids),
        disk_available_least_gib=None if available is None else available - disk_gib,
    )
