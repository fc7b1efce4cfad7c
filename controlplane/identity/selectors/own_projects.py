"""The projects that a user may work in: enabled ones where the user has a role, all enabled ones for a superuser.

An installation has thousands of projects, and each page and each log-in asks for one of them: so one is looked for, or
a bounded number, and only `projects_of_user` reads them all. What pages ask for is prepared: that saves 18 % of the CPU
of GET /networks/ (`python -m bench.fast_ways --only "prepared projects"`). A name is asked for by log-ins alone, where
the check of the password takes a hundred times as long.
"""

import uuid
from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from controlplane.identity.models import Project, User
from controlplane.identity.selectors.held_roles import projects_with_role
from controlplane.infra.db import uuid_value
from controlplane.infra.prepared import PreparedQuery
from controlplane.kernel.ids import parse_uuid

MAX_OFFERED = 50
"""More than so many to choose from are looked for by name."""


class OwnProjects:
    """One prepared query for whoever has roles, one for superusers. `narrow` gets enabled projects, and the values."""

    def __init__(self, name: str, narrow: Callable[..., QuerySet[Project]], *, types: tuple[str, ...] = ()) -> None:
        self.narrow = narrow
        self._by_role = PreparedQuery(
            f"identity_own_{name}",
            lambda user_id, *values: narrow(projects_with_role(user_id).filter(enabled=True), *values),
            types=["uuid", *types],
        )
        self._of_all = PreparedQuery(
            f"identity_any_{name}", lambda *values: narrow(Project.objects.filter(enabled=True), *values), types=types
        )

    def run(self, user: User, *values: Any) -> list[Project]:
        """One query."""
        return self._of_all.run(values) if user.is_superuser else self._by_role.run([uuid_value(user.pk), *values])


_BY_ID = OwnProjects("project", lambda rows, pk: rows.filter(pk=pk), types=("uuid",))
_FIRST = OwnProjects("first_project", lambda rows: rows.order_by("name")[:1])
_OFFERED = OwnProjects("projects_offered", lambda rows: rows.order_by("name")[: MAX_OFFERED + 1])


def own_project(*, user: User, project_id: uuid.UUID) -> Project | None:
    """The project of this id. One query."""
    return next(iter(_BY_ID.run(user, uuid_value(project_id))), None)


def own_project_named(*, user: User, name: str) -> Project | None:
    """The project of this name. One query."""
    return enabled_projects(user).filter(name=name).first()


def own_project_called(*, user: User, text: str) -> Project | None:
    """The project of this id or name; an id goes before another project's name. At most two queries."""
    project_id = parse_uuid(text)
    found = own_project(user=user, project_id=project_id) if project_id else None
    return found or own_project_named(user=user, name=text)


def own_project_default(*, user: User) -> Project | None:
    """The user's default project, else the first by name. At most two queries."""
    found = own_project(user=user, project_id=user.default_project_id) if user.default_project_id else None
    return found or next(iter(_FIRST.run(user)), None)


def own_projects_offered(*, user: User | AnonymousUser) -> list[Project]:
    """The first by name, one more than MAX_OFFERED where there are more. One query."""
    return [] if isinstance(user, AnonymousUser) else _OFFERED.run(user)


def projects_of_user(*, user: User) -> list[Project]:
    """All of them, by name."""
    return list(enabled_projects(user).order_by("name"))


def enabled_projects(user: User) -> QuerySet[Project]:
    """All of them, in no order."""
    rows = Project.objects.all() if user.is_superuser else projects_with_role(user.pk)
    return rows.filter(enabled=True)
