"""The trees of providers, by row. The index is made anew whenever a provider comes, goes or moves: that is cheap, and
no index is ever half right.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from placement.candidates.facts import ProviderFacts

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TreeIndex:
    """`root` by row; `parent` of the rows that have one; `members` of the trees with more than one provider."""

    root: Ints
    parent: Mapping[int, int]
    members: Mapping[int, tuple[int, ...]]

    @property
    def is_flat(self) -> bool:
        """Whether no provider has a parent."""
        return not self.members

    def rows_of(self, root: int) -> tuple[int, ...]:
        """Return the rows of a tree, in their order."""
        return self.members.get(root) or (root,)

    def path(self, row: int) -> tuple[int, ...]:
        """Return the row and its ancestors, up to the root."""
        path = [row]
        # `not in path`: parents that go in a circle are for the audit to report, no search may hang on them.
        while (above := self.parent.get(path[-1])) is not None and above not in path:
            path.append(above)
        return tuple(path)


def tree_index(facts: Sequence[ProviderFacts | None], row_of: Mapping[UUID, int]) -> TreeIndex:
    """Make the index of these providers. One whose parent is unknown is a tree of its own until the parent turns up."""
    root = np.arange(len(facts), dtype=np.int64)
    parent: dict[int, int] = {}
    members: dict[int, list[int]] = {}
    for row, one in enumerate(facts):
        if one is None or one.parent_uuid is None:
            continue
        above, top = row_of.get(one.parent_uuid), row_of.get(one.root_uuid)
        if above is None or top is None:
            continue
        parent[row], root[row] = above, top
        members.setdefault(top, [top]).append(row)
    return TreeIndex(root, parent, {top: tuple(sorted(rows)) for top, rows in members.items()})
