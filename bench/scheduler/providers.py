"""The same hosts as Placement has them: one provider each."""

from collections.abc import Iterable
from uuid import UUID

from placement.candidates import FleetColumns, ProviderFacts, columns_of
from placement.domain import InventoryUsage, capacity_of
from scheduling.domain.hosts.host_rows import InventoryNumbers
from scheduling.engine import HostRow


def providers(rows: Iterable[HostRow]) -> FleetColumns:
    """Placement's columns of a fleet without nested or shared providers."""
    return columns_of(_provider(row) for row in rows)


def _provider(row: HostRow) -> ProviderFacts:
    uuid = UUID(row.uuid)
    inventories = {name: _usage(one) for name, one in row.inventories.items()}
    return ProviderFacts(uuid=uuid, root_uuid=uuid, inventories=inventories, traits=row.traits)


def _usage(one: InventoryNumbers) -> InventoryUsage:
    capacity = capacity_of(total=one.total, reserved=one.reserved, allocation_ratio=one.allocation_ratio)
    return InventoryUsage(
        one.total, one.reserved, one.allocation_ratio, one.used, capacity, one.min_unit, one.max_unit, one.step_size
    )
