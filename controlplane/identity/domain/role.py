"""The roles. Four are ordered: who holds one may do all that the lower ones may. `service` stands apart."""

from enum import StrEnum


class Role(StrEnum):
    """A role of a user in one project.

    `reader` sees the project, `member` also changes what is in it, `manager` also does there what needs more trust.
    `admin` is the operator's role, as in OpenStack: whoever calls as `admin`, in whichever project, may do everything
    in the whole installation. `service` is for programs of the installation: no other role includes it, and it none.

    Roles compare by power (SERVICE < READER < MEMBER < MANAGER < ADMIN), not by spelling; who may do what is asked of
    `includes`.
    """

    READER = "reader"
    MEMBER = "member"
    MANAGER = "manager"
    ADMIN = "admin"
    SERVICE = "service"

    @property
    def rank(self) -> int:
        """0 for the least powerful role of people."""
        return _RANKS[self.value]

    def includes(self, other: "Role") -> bool:
        """Whether who holds this one may do what `other` may."""
        return self is other or self.rank >= other.rank >= 0

    def __lt__(self, other: str) -> bool:
        return self.rank < Role(other).rank

    def __le__(self, other: str) -> bool:
        return self.rank <= Role(other).rank

    def __gt__(self, other: str) -> bool:
        return self.rank > Role(other).rank

    def __ge__(self, other: str) -> bool:
        return self.rank >= Role(other).rank


_RANKS = {"service": -1, "reader": 0, "member": 1, "manager": 2, "admin": 3}
BEYOND_PROJECTS = frozenset({Role.ADMIN, Role.SERVICE})
"""Roles that reach what belongs to no project, or to others."""
