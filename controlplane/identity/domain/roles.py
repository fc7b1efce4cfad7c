"""Roles of a user in a project."""

from enum import StrEnum


class Role(StrEnum):
    """Each includes those before it: a reader looks, a member owns instances, an admin runs the installation."""

    READER = "reader"
    MEMBER = "member"
    ADMIN = "admin"

    @property
    def level(self) -> int:
        """1 for reader to 3 for admin."""
        return [Role.READER, Role.MEMBER, Role.ADMIN].index(self) + 1

    def implies(self, other: "Role") -> bool:
        """Whether who has this role may do what `other` may."""
        return self.level >= other.level
