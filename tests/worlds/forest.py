"""A small fleet as trees of named providers, and answers told by those names."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from placement.candidates import (
    AllocationCandidate,
    CandidateAnswer,
    CandidateQuery,
    FleetColumns,
    ProviderFacts,
    RequestGroup,
    SearchOptions,
    candidates_find,
    columns_of,
)
from placement.domain import InventoryUsage

Used = dict[str, dict[str, int]]


def stock(total: int, used: int = 0, *, reserved: int = 0, ratio: float = 1.0, **units: int) -> InventoryUsage:
    """An inventory; `min_unit`, `max_unit` and `step_size` as keywords."""
    limits = {"min_unit": 1, "max_unit": total, "step_size": 1, **units}
    return InventoryUsage(total, reserved, ratio, used, int((total - reserved) * ratio), **limits)


def aggregate(number: int) -> UUID:
    """An aggregate of the forest."""
    return UUID(int=10_000 + number)


class Forest:
    """Providers by name, in the order in which they were planted."""

    def __init__(self) -> None:
        self._facts: dict[str, ProviderFacts] = {}

    def plant(
        self,
        name: str,
        parent: str | None = None,
        *,
        traits: Iterable[str] = (),
        aggregates: Iterable[int] = (),
        **inventories: int | InventoryUsage,
    ) -> "Forest":
        """A provider with totals or inventories as keywords."""
        uuid = UUID(int=len(self._facts) + 1)
        above = None if parent is None else self._facts[parent]
        self._facts[name] = ProviderFacts(
            uuid=uuid,
            root_uuid=uuid if above is None else above.root_uuid,
            inventories={key: stock(one) if isinstance(one, int) else one for key, one in inventories.items()},
            traits=frozenset(traits),
            aggregates=frozenset(map(aggregate, aggregates)),
            parent_uuid=None if above is None else above.uuid,
            name=name,
        )
        return self

    def __getitem__(self, name: str) -> UUID:
        """The uuid of a provider."""
        return self._facts[name].uuid

    @property
    def columns(self) -> FleetColumns:
        """The forest as the search wants it."""
        return columns_of(self._facts.values())

    def name_of(self, uuid: UUID) -> str:
        """The name of a provider."""
        return next(name for name, facts in self._facts.items() if facts.uuid == uuid)

    def search(self, *groups: RequestGroup, options: SearchOptions | None = None, **rules: object) -> CandidateAnswer:
        """The answer to a query of these groups; `rules` are further fields of the query."""
        query = CandidateQuery(groups, **rules)  # type: ignore[arg-type]
        return candidates_find(self.columns, query, options or SearchOptions())

    def found(self, *groups: RequestGroup, options: SearchOptions | None = None, **rules: object) -> list[Used]:
        """The allocations of each candidate, by names."""
        return [self.used_by(candidate) for candidate in self.search(*groups, options=options, **rules).candidates]

    def used_by(self, candidate: AllocationCandidate) -> Used:
        """The allocations of a candidate, by names."""
        return {self.name_of(uuid): dict(amounts) for uuid, amounts in candidate.allocations.items()}

    def describe_mappings(self, candidate: AllocationCandidate) -> dict[str, list[str]]:
        """Who serves which group, by names."""
        return {suffix: sorted(map(self.name_of, uuids)) for suffix, uuids in candidate.mappings.items()}


def group(suffix: str = "", resources: Mapping[str, int] | None = None, **rules: object) -> RequestGroup:
    """A request group; `required="A"` is a trait, `required=[{"A", "B"}]` are alternatives; aggregates by number."""
    required = rules.pop("required", ())
    sets = [{required}] if isinstance(required, str) else required
    members = [frozenset(map(aggregate, one)) for one in rules.pop("member_of", ())]  # type: ignore[attr-defined]
    forbidden = frozenset(map(aggregate, rules.pop("forbidden_aggregates", ())))  # type: ignore[call-overload]
    return RequestGroup(
        suffix,
        resources or {},
        required=tuple(map(frozenset, sets)),  # type: ignore[arg-type]
        member_of=tuple(members),
        forbidden_aggregates=forbidden,
        **rules,  # type: ignore[arg-type]
    )
