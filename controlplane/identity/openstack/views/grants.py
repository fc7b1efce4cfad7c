"""Roles given and taken: of a user or a group, in a project or in the system."""

from dataclasses import dataclass

from controlplane.identity.domain import Role
from controlplane.identity.models import Project, User, UserGroup
from controlplane.identity.openstack.call import IdentityCall, refusals_answered
from controlplane.identity.openstack.lookups import group_found, project_found, role_found, user_found
from controlplane.identity.openstack.project_json import assignment_json, role_json
from controlplane.identity.openstack.query import flag_asked
from controlplane.identity.openstack.shapes import AssignmentsShown, RolesShown
from controlplane.identity.selectors.assignments import AssignmentFilter, assignments, roles_granted
from controlplane.identity.services import (
    group_role_grant,
    group_role_revoke,
    role_grant,
    role_revoke,
    system_role_grant,
    system_role_revoke,
)
from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.answers import Empty, JsonAnswer
from controlplane.openstack.faults import bad_request, not_found


@dataclass(frozen=True, slots=True)
class Grantee:
    """Whom a path names, and where: in the system where it names no project."""

    holder: User | UserGroup
    project: Project | None

    def give(self, role: Role) -> None:
        if isinstance(self.holder, UserGroup):
            group_role_grant(group=self.holder, project=self.project, role=role)
        elif self.project is None:
            system_role_grant(user=self.holder, role=role)
        else:
            role_grant(user=self.holder, project=self.project, role=role)

    def take(self, role: Role) -> None:
        if isinstance(self.holder, UserGroup):
            group_role_revoke(group=self.holder, project=self.project, role=role)
        elif self.project is None:
            system_role_revoke(user=self.holder, role=role)
        else:
            role_revoke(user=self.holder, project=self.project, role=role)


def grants_list(call: IdentityCall, **ids: str) -> JsonAnswer[RolesShown]:
    """The roles that were given there, without those that come by groups."""
    who = _grantee(ids)
    held = roles_granted(holder=who.holder, project=who.project)
    path = call.request.path_info.removeprefix("/identity/v3/").split("/")
    return call.answer({"roles": [role_json(call, one) for one in held], "links": call.list_links(*path)})


def grant_check(call: IdentityCall, role_id: str, **ids: str) -> Empty:
    """204 where it was given there, else 404."""
    _require_given(_grantee(ids), role_found(role_id))
    return call.empty()


def grant_add(call: IdentityCall, role_id: str, **ids: str) -> Empty:
    """Give it; giving it again changes nothing."""
    with refusals_answered():
        _grantee(ids).give(role_found(role_id))
    return call.empty()


def grant_remove(call: IdentityCall, role_id: str, **ids: str) -> Empty:
    """Take it away; 404 where there was none."""
    who, role = _grantee(ids), role_found(role_id)
    _require_given(who, role)
    with refusals_answered():
        who.take(role)
    return call.empty()


def _require_given(who: Grantee, role: Role) -> None:
    if role.value not in roles_granted(holder=who.holder, project=who.project):
        raise not_found(f"Could not find role assignment with role: {role.value}, of: {who.holder}.")


def _grantee(ids: dict[str, str]) -> Grantee:
    project = project_found(ids["project_id"]) if "project_id" in ids else None
    return Grantee(group_found(ids["group_id"]) if "group_id" in ids else user_found(ids["user_id"]), project)


def assignments_list(call: IdentityCall) -> JsonAnswer[AssignmentsShown]:
    """Who has which role where. Nobody has one in a domain. `effective` shows members in place of groups."""
    query, is_effective = call.query, bool(flag_asked(call, "effective"))
    if is_effective and "group.id" in query:
        raise bad_request("effective shows users alone: it and group.id exclude each other.")
    asked, is_possible = {}, "scope.domain.id" not in query
    for key, name in (("user.id", "user_id"), ("group.id", "group_id"), ("scope.project.id", "project_id")):
        if value := query.get(key):
            asked[name] = parse_uuid(value)
            is_possible = is_possible and asked[name] is not None
    is_in_system = "scope.system" in query
    if is_in_system and "project_id" in asked:
        raise bad_request("scope.system and scope.project.id exclude each other.")
    wanted = AssignmentFilter(
        **asked, is_in_system=is_in_system, role=query.get("role.id") or None, is_effective=is_effective
    )
    with_names = bool(flag_asked(call, "include_names"))
    rows = assignments(wanted) if is_possible else []
    found = [assignment_json(call, one, with_names=with_names) for one in rows]
    return call.answer({"role_assignments": found, "links": call.list_links("role_assignments")})
