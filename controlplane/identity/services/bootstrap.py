"""The first admin of an installation."""

import secrets
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Role
from controlplane.identity.models import Project, User
from controlplane.identity.services.projects import role_grant
from controlplane.identity.services.users import user_create

ADMIN = "admin"
DEMO_PROJECT = "demo"


@dataclass(frozen=True, slots=True)
class AdminBootstrap:
    """`password` is only there when it was made now: it is shown once and stored as a hash."""

    created: bool
    password: str | None


@audited("user.admin_ensure")
@transaction.atomic
def admin_ensure(password: str | None = None) -> AdminBootstrap:
    """User `admin` with the projects `admin` and `demo`, all or nothing; once somebody rules, it changes nothing.

    What operators changed since stays: roles that they took from `admin`, projects that they removed, and an `admin`
    that they deleted in favour of another superuser. Raises InvalidFields for a password that is too weak.
    """
    if User.objects.filter(Q(username=ADMIN) | Q(is_superuser=True, is_active=True)).exists():
        return AdminBootstrap(created=False, password=None)
    password = password or secrets.token_urlsafe(12)
    user = user_create(username=ADMIN, password=password, is_superuser=True)
    for name in (ADMIN, DEMO_PROJECT):
        project, _ = Project.objects.get_or_create(name=name)
        role_grant(user=user, project=project, role=Role.ADMIN)
    return AdminBootstrap(created=True, password=password)
