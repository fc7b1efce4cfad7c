"""The three roles, ordered: who holds one may do all that the lower ones may."""

from enum import StrEnum


class Role(StrEnum):
    """A role of a user in one project.

    `reader` sees the project, `member` also changes what is in it. `admin` is the operator's role, as in
    OpenStack: whoever calls as `admin`, in whichever project, may do everything in the whole installation.

    Roles compare by power (READER < MEMBER < ADMIN), not by spelling.
    """

    READER = "reader"
    MEMBER = "member"
    ADMIN = "admin"

    @property
    def rank(self) -> int:
        """0 for the least powerful role."""
        return _RANKS[self.value]

    def __lt__(self, other: str) -> bool:
        return self.rank < Role(other).rank

    def __le__(self, other: str) -> bool:
        return self.rank <= Role(other).rank

    def __gt__(self, other: str) -> bool:
        return self.rank > Role(other).rank

    def __ge__(self, other: str) -> bool:
        return self.rank >= Role(other).rank


_RANKS = {"reader": 0, "member": 1, "admin": 2}
