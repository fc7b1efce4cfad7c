"""Projects and roles."""

from typing import TypedDict, Unpack

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Role
from controlplane.identity.models import Project, RoleAssignment, User
from controlplane.kernel.errors import Conflict, InvalidFields
from controlplane.kernel.texts import phrase as _


class ProjectFields(TypedDict, total=False):
    """What a project says about itself; a quota of None means the installation's default, -1 no limit."""

    name: str
    description: str
    enabled: bool
    quota_instances: int | None
    quota_cores: int | None
    quota_ram_mib: int | None
    quota_images: int | None
    quota_image_bytes: int | None
    quota_image_uploads: int | None
    quota_networks: int | None
    quota_subnets: int | None
    quota_ports: int | None
    quota_routers: int | None
    quota_floating_ips: int | None
    quota_security_groups: int | None
    quota_security_group_rules: int | None
    quota_volumes: int | None
    quota_volume_gib: int | None
    quota_volume_snapshots: int | None
    quota_volume_backups: int | None
    quota_volume_backup_gib: int | None
    quota_metadata_items: int | None
    quota_injected_files: int | None
    quota_injected_file_content_bytes: int | None
    quota_injected_file_path_bytes: int | None
    quota_key_pairs: int | None
    quota_server_groups: int | None
    quota_server_group_members: int | None


@audited("project.create", Project)
def project_create(**fields: Unpack[ProjectFields]) -> Project:
    """A new project. Raises InvalidFields, or Conflict for a name that is taken."""
    return _project_save(Project(**fields))


@audited("project.update", Project, by="project")
def project_update(*, project: Project, **changes: Unpack[ProjectFields]) -> Project:
    """Change a project; what is left out stays. Disabled, it refuses callers from their next request on.

    Raises InvalidFields, or Conflict for a name that is taken.
    """
    for name, value in changes.items():
        setattr(project, name, value)
    return _project_save(project)


def _project_save(project: Project) -> Project:
    try:
        project.full_clean(validate_unique=False)
        with transaction.atomic():
            project.save()
    except ValidationError as error:
        raise InvalidFields(error.message_dict) from error
    except IntegrityError as error:
        raise Conflict(_("A project with this name exists already."), field="name") from error
    return project


@audited("role.grant", RoleAssignment)
def role_grant(*, user: User, project: Project, role: Role) -> RoleAssignment:
    """Give a role; giving it again changes nothing, but that one given by a group outside is then given for good."""
    row, is_new = RoleAssignment.objects.get_or_create(user=user, project=project, role=role.value)
    if not is_new and row.by_group:
        row.by_group = False
        row.save(update_fields=["by_group", "updated_at"])
    return row


@audited("role.revoke", User, by="user", also=("role", "project"))
def role_revoke(*, user: User, project: Project, role: Role) -> None:
    """Take a role away; tokens that rested on it stop working at once, for roles are read at each call."""
    RoleAssignment.objects.filter(user=user, project=project, role=role.value).delete()
