"""What a fixture world is made of: trees of providers, what they have, and who holds some of it.

A world names environment variables, because that is how the suite's files refer to what was built: a provider's
variable gets its uuid, an aggregate is known by its variable alone, a consumer's variable gets the consumer's uuid.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Stock:
    """One inventory. Without a `max_unit`, all of it may be asked at once."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int | None = None
    step_size: int = 1
    ratio: float = 1.0

    def as_json(self) -> dict[str, int | float]:
        """The inventory as the API takes it."""
        return {
            "total": self.total,
            "reserved": self.reserved,
            "min_unit": self.min_unit,
            "max_unit": self.max_unit or self.total,
            "step_size": self.step_size,
            "allocation_ratio": self.ratio,
        }


@dataclass(frozen=True, slots=True)
class Node:
    """One provider and what is below it. With a `name_variable` its name is that variable's value."""

    name: str
    variable: str
    stocks: Mapping[str, Stock] = field(default_factory=dict)
    traits: tuple[str, ...] = ()
    aggregates: tuple[str, ...] = ()
    children: tuple["Node", ...] = ()
    name_variable: str = ""


@dataclass(frozen=True, slots=True)
class Holding:
    """A consumer without a type that holds some of one provider.

    `project` and `user` are the names of variables, or the text itself where no such variable exists.
    """

    consumer_variable: str
    provider: str
    amounts: Mapping[str, int]
    project: str
    user: str


@dataclass(frozen=True, slots=True)
class World:
    """Everything a file finds when its first request is sent."""

    trees: tuple[Node, ...] = ()
    holdings: tuple[Holding, ...] = ()
    fresh_uuids: tuple[str, ...] = ()

    def levels(self) -> Iterator[tuple[Node, Node | None]]:
        """Every provider with its parent: all roots first, then all their children, and so on."""
        level: list[tuple[Node, Node | None]] = [(tree, None) for tree in self.trees]
        while level:
            yield from level
            level = [(child, node) for node, _ in level for child in node.children]


def node(
    name: str,
    variable: str,
    stocks: Mapping[str, int | Stock] | None = None,
    *children: Node,
    traits: str = "",
    aggregates: str = "",
    name_variable: str = "",
) -> Node:
    """A `Node` in short: a bare number is a plain stock; traits and aggregates are words."""
    return Node(
        name=name,
        variable=variable,
        stocks={key: value if isinstance(value, Stock) else Stock(value) for key, value in (stocks or {}).items()},
        traits=tuple(traits.split()),
        aggregates=tuple(aggregates.split()),
        children=children,
        name_variable=name_variable,
    )
