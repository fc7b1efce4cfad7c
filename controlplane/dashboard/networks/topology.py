"""What hangs on what, as a drawing: a tree of outside, routers, networks and guests, one row each.

Places are pixels, so that it reads alike on a phone and on a desk; whatever is too long for its row is cut.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext

from servers.networks.selectors.network_topology import TopologyKind, TopologyNode

ROW, INDENT, LEFT, TOP = 46, 30, 16, 22
MAX_CHILDREN = 25
"""Of one node; the rest is said as a number."""
MORE = "more"


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A node and the middle of its sign. `kind` is outside, router, network, guest or more; `path` leads to its page,
    empty for none.
    """

    kind: str
    label: str
    detail: str
    path: str
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


def drawing(root: TopologyNode, *, here: uuid.UUID) -> Drawing:
    """Each node on a row of its own, below its parent and further in. `here` is whose page it is drawn on."""
    nodes: list[DrawnNode] = []
    lines: list[DrawnLine] = []
    for signs, depth, parent in _rows(root, here):
        drawn = DrawnNode(*signs, LEFT + depth * INDENT, TOP + len(nodes) * ROW)
        if parent is not None:
            above = nodes[parent]
            lines.append(DrawnLine(above.x, above.y, drawn.y, drawn.x))
        nodes.append(drawn)
    return Drawing(tuple(nodes), tuple(lines), len(nodes) * ROW)


def _rows(root: TopologyNode, here: uuid.UUID) -> Iterator[tuple[tuple[str, str, str, str], int, int | None]]:
    """What is drawn of each node, its depth and the row of its parent, parents first; after a node's children how
    many more there are.
    """
    waiting: list[tuple[TopologyNode | int, int, int | None]] = [(root, 0, None)]
    row = 0
    while waiting:
        node, depth, parent = waiting.pop()
        if isinstance(node, int):
            yield (MORE, gettext("and %(count)s more") % {"count": node}, "", ""), depth, parent
        else:
            yield (node.kind, _label(node), _detail(node), _path(node, here)), depth, parent
            if node.more:
                waiting.append((node.more, depth + 1, row))
            waiting += [(child, depth + 1, row) for child in reversed(node.children)]
        row += 1


def _label(node: TopologyNode) -> str:
    return _cut(node.name or str(node.id), 30)


def _detail(node: TopologyNode) -> str:
    if node.kind == TopologyKind.NETWORK and not node.addresses:
        return _cut(", ".join(node.cidrs) or gettext("no subnet"), 60)
    return _cut(", ".join(node.addresses) + "".join(f" · {address}" for address in node.floating), 60)


def _path(node: TopologyNode, here: uuid.UUID) -> str:
    if node.id == here:
        return ""
    if node.kind == TopologyKind.GUEST:
        return f"/instances/{node.instance_id}/" if node.instance_id else ""
    return f"/routers/{node.id}/" if node.kind == TopologyKind.ROUTER else f"/networks/{node.id}/"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
