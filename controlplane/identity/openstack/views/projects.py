"""Projects."""

from typing import Any

from controlplane.identity.openstack.access import IdentityAccess
from controlplane.identity.openstack.call import DOMAIN, IdentityCall, is_default_domain, refusals_answered
from controlplane.identity.openstack.lookups import domain_require, project_found, require_unless_own, user_found
from controlplane.identity.openstack.project_json import project_json
from controlplane.identity.openstack.query import flag_asked
from controlplane.identity.openstack.schemas import PROJECT_CREATE, PROJECT_UPDATE
from controlplane.identity.openstack.shapes import ProjectShown, ProjectsShown
from controlplane.identity.selectors import project_list
from controlplane.identity.selectors.own_projects import projects_of_user
from controlplane.identity.services import project_create, project_delete, project_update
from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.answers import Empty, JsonAnswer


def projects_list(call: IdentityCall) -> JsonAnswer[ProjectsShown]:
    """All of them, or those that the filters name, in one page."""
    rows = project_list().order_by("name")
    if name := call.query.get("name"):
        rows = rows.filter(name=name)
    enabled = flag_asked(call, "enabled")
    if enabled is not None:
        rows = rows.filter(enabled=enabled)
    outside = any(not is_default_domain(call.query.get(key, DOMAIN)) for key in ("domain_id", "parent_id"))
    if outside or flag_asked(call, "is_domain"):
        rows = rows.none()
    return call.answer({"projects": [project_json(call, one) for one in rows], "links": call.list_links("projects")})


def project_add(call: IdentityCall) -> JsonAnswer[ProjectShown]:
    """A new project."""
    asked = call.body(PROJECT_CREATE)["project"]
    with refusals_answered():
        row = project_create(**_fields(asked))
    return call.answer({"project": project_json(call, row)}, status=201)


def project_show(call: IdentityCall, project_id: str) -> JsonAnswer[ProjectShown]:
    """One project: for members and readers only the one that they are in."""
    caller = call.held.caller
    is_own = caller is not None and parse_uuid(project_id) == caller.own_project_id
    require_unless_own(call, IdentityAccess.PROJECTS_READ, is_own=is_own)
    return call.answer({"project": project_json(call, project_found(project_id))})


def project_change(call: IdentityCall, project_id: str) -> JsonAnswer[ProjectShown]:
    """What is left out stays."""
    asked = call.body(PROJECT_UPDATE)["project"]
    row = project_found(project_id)
    with refusals_answered():
        row = project_update(project=row, **_fields(asked))
    return call.answer({"project": project_json(call, row)})


def project_remove(call: IdentityCall, project_id: str) -> Empty:
    """Gone, if nothing is in it any more."""
    with refusals_answered():
        project_delete(project_id=project_found(project_id).pk)
    return call.empty()


def projects_of(call: IdentityCall, user_id: str) -> JsonAnswer[ProjectsShown]:
    """Projects where a user has a role: one's own, or anybody's for those who may read users."""
    require_unless_own(call, IdentityAccess.USERS_READ, is_own=parse_uuid(user_id) == call.held.user_id)
    rows = projects_of_user(user=user_found(user_id))
    return call.answer(
        {"projects": [project_json(call, one) for one in rows], "links": call.list_links("users", user_id, "projects")}
    )


def _fields(asked: dict[str, Any]) -> Any:
    """As the service takes them. Raises Fault 404 for another domain or parent than the only one."""
    domain_require(asked, "domain_id", "parent_id")
    return {key: asked[key] or "" if key == "description" else asked[key] for key in _FIELDS if key in asked}


_FIELDS = ("name", "description", "enabled")
