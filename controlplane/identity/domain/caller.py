"""Who is calling: a user, in a project or in the system, with roles. Services take this, never a request."""

from dataclasses import dataclass
from uuid import UUID

from controlplane.identity.domain.errors import ProjectNeeded
from controlplane.identity.domain.role import Role


@dataclass(frozen=True, slots=True)
class Caller:
    """A user acting in one project, or in the system. `roles` are those held there; a superuser always holds `admin`.

    `own_project_id`: None in the system, and `project_name` is empty then. `is_by_credential`: by an application
    credential, so that `roles` may be less than what the user holds; `is_restricted`: by one that may not make or
    delete others.
    """

    user_id: UUID
    username: str
    own_project_id: UUID | None
    project_name: str
    roles: frozenset[Role]
    is_by_credential: bool = False
    is_restricted: bool = False

    @property
    def project_id(self) -> UUID:
        """The project that is acted in. Raises ProjectNeeded in the system: nothing is made in, or counted for, a
        project that nobody named.
        """
        if self.own_project_id is None:
            raise ProjectNeeded
        return self.own_project_id

    @property
    def is_of_system(self) -> bool:
        """Whether the roles are those in the system."""
        return self.own_project_id is None

    def holds(self, minimum: Role) -> bool:
        """Whether one of the roles is `minimum`, or includes it."""
        return any(role.includes(minimum) for role in self.roles)

    @property
    def is_admin(self) -> bool:
        """Operator of the whole installation: admin in a project or in the system."""
        return self.holds(Role.ADMIN)

    @property
    def sees_all(self) -> bool:
        """Is shown what belongs to every project, and hosts: an operator, or a reader in the system."""
        return self.is_admin or (self.is_of_system and self.holds(Role.READER))

    @property
    def can_write(self) -> bool:
        """May change what is in the project: member, manager or admin."""
        return self.holds(Role.MEMBER)

    @property
    def role_names(self) -> list[str]:
        """The roles as words, least powerful first."""
        return [role.value for role in sorted(self.roles)]
