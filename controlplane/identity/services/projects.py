"""Projects and roles."""

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from controlplane.identity.domain import Role
from controlplane.identity.models import Project, RoleAssignment, User
from controlplane.kernel.errors import Conflict, InvalidFields


def project_create(*, name: str, description: str = "", **quota: int | None) -> Project:
    """A new project. Raises InvalidFields, or Conflict for a name that is taken."""
    project = Project(name=name, description=description, **quota)
    try:
        project.full_clean(validate_unique=False)
        with transaction.atomic():
            project.save()
    except ValidationError as error:
        raise InvalidFields(error.message_dict) from error
    except IntegrityError as error:
        raise Conflict("A project with this name exists already.", field="name") from error
    return project


def role_grant(*, user: User, project: Project, role: Role) -> RoleAssignment:
    """Give a role; giving it again changes nothing."""
    return RoleAssignment.objects.get_or_create(user=user, project=project, role=role.value)[0]


def role_revoke(*, user: User, project: Project, role: Role) -> None:
    """Take a role away; tokens that rested on it stop working at once, for roles are read at each call."""
    RoleAssignment.objects.filter(user=user, project=project, role=role.value).delete()
