"""Who is calling: a user, in a project, with roles. Services take this, never a request."""

from dataclasses import dataclass
from uuid import UUID

from controlplane.identity.domain.role import Role


@dataclass(frozen=True, slots=True)
class Caller:
    """A user acting in one project. `roles` are those held there; a superuser always holds `admin`."""

    user_id: UUID
    username: str
    project_id: UUID
    project_name: str
    roles: frozenset[Role]

    def holds(self, minimum: Role) -> bool:
        """Whether one of the roles is `minimum` or more powerful."""
        return any(role >= minimum for role in self.roles)

    @property
    def is_admin(self) -> bool:
        """Operator of the whole installation."""
        return self.holds(Role.ADMIN)

    @property
    def can_write(self) -> bool:
        """May change what is in the project: member or admin."""
        return self.holds(Role.MEMBER)

    @property
    def role_names(self) -> list[str]:
        """The roles as words, least powerful first."""
        return [role.value for role in sorted(self.roles)]
