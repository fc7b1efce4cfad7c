"""Facts of providers from the database: all of them in a few lean queries, or some of them in one.

The SQL is written by hand: one statement sees a provider with its inventories, traits and aggregates at one moment, and
ten thousand rows become facts without a dictionary or a model object for each.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from placement.candidates import ProviderFacts
from placement.domain import InventoryUsage

_CHUNK = 500
_FETCH = 1000
# In the order of InventoryUsage's fields.
_NUMBERS = (
    "inventory.total, inventory.reserved, inventory.allocation_ratio, inventory.used, inventory.capacity,"
    " inventory.min_unit, inventory.max_unit, inventory.step_size"
)
_PROVIDERS = """
SELECT id, changed, uuid, name, generation, parent_id, root_id FROM placement_resourceprovider ORDER BY id
"""
_INVENTORIES = f"""
SELECT inventory.provider_id, inventory.resource_class_id, {_NUMBERS} FROM placement_inventory AS inventory
"""  # noqa: S608 - constants of this module
# Sets are read before the join, once for each provider; uuids are read as text, once for each provider too.
_SOME = f"""
WITH asked AS MATERIALIZED (
    SELECT provider.id, provider.changed, CAST(provider.uuid AS text) AS uuid, provider.name, provider.generation,
           CAST(parent.uuid AS text) AS parent, CAST(root.uuid AS text) AS root,
           (SELECT {{join_traits}} FROM placement_providertrait AS has
              JOIN placement_trait AS trait ON trait.id = has.trait_id WHERE has.provider_id = provider.id) AS traits,
           (SELECT {{join_aggregates}} FROM placement_provideraggregate AS is_in
              JOIN placement_placementaggregate AS one ON one.id = is_in.aggregate_id
             WHERE is_in.provider_id = provider.id) AS aggregates
      FROM placement_resourceprovider AS provider
      LEFT JOIN placement_resourceprovider AS parent ON parent.id = provider.parent_id
      LEFT JOIN placement_resourceprovider AS root ON root.id = provider.root_id
     WHERE provider.id IN ({{ids}})
)
SELECT asked.*, class.name, {_NUMBERS}
  FROM asked
  LEFT JOIN placement_inventory AS inventory ON inventory.provider_id = asked.id
  LEFT JOIN placement_resourceclass AS class ON class.id = inventory.resource_class_id
"""  # noqa: S608 - constants of this module
# Keys in order, so that equal sets are equal texts and become one set.
_POSTGRES_SETS = "SELECT provider_id, string_agg({key}::text, ' ' ORDER BY {key}) FROM {table} GROUP BY provider_id"
_SQLITE_SETS = """
SELECT provider_id, group_concat({key}, ' ') FROM (SELECT provider_id, {key} FROM {table} ORDER BY provider_id, {key})
 GROUP BY provider_id
"""


@dataclass(frozen=True, slots=True)
class LoadedProvider:
    """A provider's id and the stamp that it had when its facts were read, or an older one; never a newer one."""

    id: int
    stamp: int
    facts: ProviderFacts


class FleetRows:
    """Reads facts; equal sets and equal inventories become one object, which keeps ten thousand providers small."""

    def __init__(self) -> None:
        self._sets: dict[frozenset[Any], frozenset[Any]] = {}
        self._usages: dict[tuple[Any, ...], InventoryUsage] = {}

    def every(self) -> list[LoadedProvider]:
        """All providers in the order of their ids.

        Providers come first: a change between two of these queries leaves a stamp that is older than the change.
        """
        providers = list(_rows(_PROVIDERS))
        uuids = {row[0]: _uuid(row[2]) for row in providers}
        inventories = self._every_inventory()
        traits = self._every_set("placement_providertrait", "trait_id", _names("placement_trait", "name"))
        aggregate_uuids = {one: _uuid(uuid) for one, uuid in _names("placement_placementaggregate", "uuid").items()}
        aggregates = self._every_set("placement_provideraggregate", "aggregate_id", aggregate_uuids)
        self._usages.clear()
        empty: frozenset[Any] = frozenset()
        return [
            LoadedProvider(
                pk,
                stamp,
                ProviderFacts(
                    uuid=uuids[pk],
                    root_uuid=uuids.get(root, uuids[pk]),
                    inventories=inventories.get(pk) or {},
                    traits=traits.get(pk, empty),
                    aggregates=aggregates.get(pk, empty),
                    parent_uuid=uuids.get(parent),
                    generation=generation,
                    name=name,
                ),
            )
            for pk, stamp, _, name, generation, parent, root in providers
        ]

    def some(self, provider_ids: Sequence[int]) -> Iterator[LoadedProvider]:
        """Those of these providers that exist. One query for each five hundred."""
        for begin in range(0, len(provider_ids), _CHUNK):
            chunk = list(provider_ids[begin : begin + _CHUNK])
            by_provider: dict[int, list[tuple[Any, ...]]] = {}
            for row in _rows(_some_sql(len(chunk)), chunk):
                by_provider.setdefault(row[0], []).append(row)
            yield from (self._loaded(by_provider[pk]) for pk in sorted(by_provider))

    def _loaded(self, rows: list[tuple[Any, ...]]) -> LoadedProvider:
        """One provider from its rows, one for each inventory."""
        pk, stamp, own, name, generation, parent, root, traits, aggregates, *_ = rows[0]
        uuid = _uuid(own)
        facts = ProviderFacts(
            uuid=uuid,
            root_uuid=uuid if root is None or root == own else _uuid(root),
            inventories={row[9]: InventoryUsage(*row[10:]) for row in rows if row[9] is not None},
            traits=self._one_of(frozenset((traits or "").split())),
            aggregates=self._one_of(frozenset(map(UUID, (aggregates or "").split()))),
            parent_uuid=None if parent is None else _uuid(parent),
            generation=generation,
            name=name,
        )
        return LoadedProvider(pk, stamp, facts)

    def _every_inventory(self) -> dict[int, dict[str, InventoryUsage]]:
        classes = _names("placement_resourceclass", "name")
        found: dict[int, dict[str, InventoryUsage]] = {}
        for provider, class_id, *numbers in _rows(_INVENTORIES):
            # A class made between two queries is left for the next read.
            if class_id in classes:
                found.setdefault(provider, {})[classes[class_id]] = self._usage(tuple(numbers))
        return found

    def _usage(self, numbers: tuple[Any, ...]) -> InventoryUsage:
        usage = self._usages.get(numbers)
        if usage is None:
            usage = self._usages[numbers] = InventoryUsage(*numbers)
        return usage

    def _every_set(self, table: str, key: str, names: Mapping[int, Any]) -> dict[int, frozenset[Any]]:
        template = _POSTGRES_SETS if connection.vendor == "postgresql" else _SQLITE_SETS
        known: dict[str, frozenset[Any]] = {}
        found: dict[int, frozenset[Any]] = {}
        for provider, text in _rows(template.format(table=table, key=key)):
            keys = known.get(text)
            if keys is None:
                here = frozenset(names[one] for one in map(int, str(text).split()) if one in names)
                keys = known[text] = self._one_of(here)
            found[provider] = keys
        return found

    def _one_of(self, keys: frozenset[Any]) -> frozenset[Any]:
        return self._sets.setdefault(keys, keys)


def _some_sql(count: int) -> str:
    is_postgres = connection.vendor == "postgresql"
    join = "string_agg({0}::text, ' ')" if is_postgres else "group_concat({0}, ' ')"
    return _SOME.format(
        join_traits=join.format("trait.name"), join_aggregates=join.format("one.uuid"), ids=", ".join(["%s"] * count)
    )


def _names(table: str, column: str) -> dict[int, Any]:
    return dict(_rows(f"SELECT id, {column} FROM {table}"))  # noqa: S608 - constants of this module


def _rows(statement: str, parameters: Sequence[int] | None = None) -> Iterator[Any]:
    """Row by row, so that tens of thousands are never there as objects at once."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        while chunk := cursor.fetchmany(_FETCH):
            yield from chunk


def _uuid(value: UUID | str) -> UUID:
    """SQLite keeps uuids as text."""
    return value if isinstance(value, UUID) else UUID(value)
