"""Projects, users and role assignments as the Identity API shows them."""

from uuid import UUID

from controlplane.identity.models import Project, User, UserGroup
from controlplane.identity.openstack.call import DOMAIN, IdentityCall
from controlplane.identity.openstack.shapes import (
    AssignmentJson,
    AssignmentLinks,
    AssignmentScope,
    GroupJson,
    NamedJson,
    NamedRole,
    ProjectJson,
    RoleHolder,
    RoleJson,
    UserJson,
)
from controlplane.identity.openstack.token_json import DOMAIN_JSON
from controlplane.identity.selectors.assignments import Assignment


def project_json(call: IdentityCall, project: Project) -> ProjectJson:
    """One project. All are of the one domain, and below none."""
    return {
        "id": project.pk.hex,
        "name": project.name,
        "domain_id": DOMAIN,
        "description": project.description,
        "enabled": project.enabled,
        "parent_id": DOMAIN,
        "is_domain": False,
        "tags": [],
        "options": {},
        "links": {"self": call.absolute_url("v3", "projects", project.pk.hex)},
    }


def user_json(call: IdentityCall, user: User) -> UserJson:
    """One user."""
    return {
        "id": user.pk.hex,
        "name": user.username,
        "domain_id": DOMAIN,
        "enabled": user.is_active,
        "email": user.email or None,
        "default_project_id": user.default_project_id.hex if user.default_project_id else None,
        "password_expires_at": None,
        "options": {},
        "links": {"self": call.absolute_url("v3", "users", user.pk.hex)},
    }


def role_json(call: IdentityCall, name: str) -> RoleJson:
    """One role: its id is its name."""
    return {
        "id": name,
        "name": name,
        "domain_id": None,
        "description": None,
        "options": {},
        "links": {"self": call.absolute_url("v3", "roles", name)},
    }


def group_json(call: IdentityCall, group: UserGroup) -> GroupJson:
    """One group of users."""
    return {
        "id": group.pk.hex,
        "name": group.name,
        "domain_id": DOMAIN,
        "description": group.description,
        "links": {"self": call.absolute_url("v3", "groups", group.pk.hex)},
    }


def assignment_json(call: IdentityCall, row: Assignment, *, with_names: bool) -> AssignmentJson:
    """Who has which role where; `with_names` as clients ask for it. Of a role by a group, `links` says which."""
    role: NamedRole = {"id": row.role, "name": row.role} if with_names else {"id": row.role}
    scope: AssignmentScope = {"system": {"all": True}}
    where: tuple[str, ...] = ("system",)
    if row.project_id is not None:
        scope = {"project": _named(row.project_id, row.project_name, with_names=with_names)}
        where = ("projects", row.project_id.hex)
    whom: tuple[str, ...] = ()
    holder: RoleHolder = {}
    if row.user_id is not None:
        holder["user"] = _named(row.user_id, row.username, with_names=with_names)
        whom = ("users", row.user_id.hex)
    if row.group_id is not None:
        whom = ("groups", row.group_id.hex)
        if row.user_id is None:
            holder["group"] = _named(row.group_id, row.group_name, with_names=with_names)
    links: AssignmentLinks = {"assignment": call.absolute_url("v3", *where, *whom, "roles", row.role)}
    if row.user_id is not None and row.group_id is not None:
        links["membership"] = call.absolute_url("v3", "groups", row.group_id.hex, "users", row.user_id.hex)
    return {"role": role, **holder, "scope": scope, "links": links}


def _named(key: UUID, name: str, *, with_names: bool) -> NamedJson:
    return {"id": key.hex, "name": name, "domain": DOMAIN_JSON} if with_names else {"id": key.hex}
