"""What hangs on what, as a drawing: a tree of outside, routers, networks and guests, one row each.

Places are pixels, so that it reads alike on a phone and on a desk; whatever is too long for its row is cut by who makes
the nodes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext

ROW, INDENT, LEFT, TOP = 46, 30, 16, 22
MAX_CHILDREN = 25
"""Of one node; the rest is said as a number."""


@dataclass(frozen=True, slots=True)
class TopologyNode:
    """`kind` is outside, router, network, guest or more; `path` leads to its page, empty for none."""

    kind: str
    label: str
    detail: str = ""
    path: str = ""
    children: "tuple[TopologyNode, ...]" = ()


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A node and the middle of its sign."""

    node: TopologyNode
    x: int
    y: int

    @property
    def text_x(self) -> int:
        """Where its words begin."""
        return self.x + 18


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """From a node's parent down, and over to the node."""

    x: int
    top: int
    bottom: int
    end_x: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """All that is to be drawn, and how high it is."""

    nodes: tuple[DrawnNode, ...]
    lines: tuple[DrawnLine, ...]
    height: int


def bounded(children: Sequence[TopologyNode], *, total: int | None = None) -> tuple[TopologyNode, ...]:
    """The first of them, and how many more there are of `total` (all that are given unless said)."""
    shown = tuple(children[:MAX_CHILDREN])
    left = (len(children) if total is None else total) - len(shown)
    return shown if left <= 0 else (*shown, TopologyNode("more", gettext("and %(count)s more") % {"count": left}))


def drawing(roots: Sequence[TopologyNode]) -> Drawing:
    """Each node on a row of its own, below its parent and further in."""
    nodes: list[DrawnNode] = []
    lines: list[DrawnLine] = []
    for node, depth, parent in _rows(roots):
        drawn = DrawnNode(node, LEFT + depth * INDENT, TOP + len(nodes) * ROW)
        if parent is not None:
            above = nodes[parent]
            lines.append(DrawnLine(above.x, above.y, drawn.y, drawn.x))
        nodes.append(drawn)
    return Drawing(tuple(nodes), tuple(lines), len(nodes) * ROW)


def _rows(roots: Sequence[TopologyNode]) -> Iterator[tuple[TopologyNode, int, int | None]]:
    """Node, depth and the row of its parent, parents first."""
    waiting: list[tuple[TopologyNode, int, int | None]] = [(root, 0, None) for root in reversed(roots)]
    row = 0
    while waiting:
        node, depth, parent = waiting.pop()
        yield node, depth, parent
        waiting += [(child, depth + 1, row) for child in reversed(node.children)]
        row += 1
