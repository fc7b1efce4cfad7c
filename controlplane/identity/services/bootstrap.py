"""The first admin of an installation."""

import secrets
from dataclasses import dataclass

from django.db import transaction

from controlplane.identity.domain import Role
from controlplane.identity.models import Project, User
from controlplane.identity.services.projects import role_grant
from controlplane.identity.services.users import user_create

ADMIN = "admin"
DEMO_PROJECT = "demo"


@dataclass(frozen=True, slots=True)
class AdminBootstrap:
    """`password` is only there when it was made now: it is told once and stored as a hash."""

    created: bool
    password: str | None


@transaction.atomic
def admin_ensure(password: str | None = None) -> AdminBootstrap:
    """User `admin` with the projects `admin` and `demo`, all or nothing; again, it changes nothing.

    An admin that is there keeps its password. Raises InvalidFields for a password that is too weak.
    """
    user = User.objects.filter(username=ADMIN).first()
    created = user is None
    if user is None:
        password = password or secrets.token_urlsafe(12)
        user = user_create(username=ADMIN, password=password, is_superuser=True)
    for name in (ADMIN, DEMO_PROJECT):
        project, _ = Project.objects.get_or_create(name=name)
        role_grant(user=user, project=project, role=Role.ADMIN)
    return AdminBootstrap(created, password if created else None)
