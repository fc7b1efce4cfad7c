"""What the search knows about one provider."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from placement.domain import InventoryUsage

SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"


@dataclass(frozen=True, slots=True, eq=False)
class ProviderFacts:
    """One provider as of one moment. Whenever anything about it changes, another object takes its place.

    So `rendered` may cache what a reader has made of it (an answer's bytes, by any key): it cannot go stale.
    """

    uuid: UUID
    root_uuid: UUID
    inventories: Mapping[str, InventoryUsage]
    traits: frozenset[str] = frozenset()
    aggregates: frozenset[UUID] = frozenset()
    parent_uuid: UUID | None = None
    generation: int = 0
    name: str = ""
    rendered: dict[Any, bytes] = field(default_factory=dict, repr=False)
