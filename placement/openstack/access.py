"""Who may do what at this door.

Everything is the business of operators and services, as in Placement, by the access rules `placement:*`; what a project
uses may also be read by whoever reads that project. The test identity, for the published test suite
of Placement, is a setting that is off by default and that production refuses.
"""

from dataclasses import dataclass
from enum import Enum

from django.http import HttpRequest

from controlplane.audit_log.recording.actor_scope import actor_known
from controlplane.identity.domain import Caller, Role
from controlplane.identity.policy import allows
from controlplane.identity.selectors.token_holder import token_holder
from controlplane.identity.services import token_used
from controlplane.openstack.faults import ApiFault
from placement.conf import placement_options


class Access(Enum):
    """What a method needs; the values are access rules."""

    READ = "placement:read"
    WRITE = "placement:write"
    RESHAPE = "placement:reshape"
    PROJECT_USAGES = "placement:usages"


@dataclass(frozen=True, slots=True)
class WireCaller:
    """Who calls. `caller` is None for the test identity, which has names and roles of its own."""

    user_id: str
    project_id: str
    roles: frozenset[str]
    system_scope: bool = False
    caller: Caller | None = None


def wire_caller(request: HttpRequest) -> WireCaller:
    """Who sent this request; a Fault 401 when nobody is known."""
    token = request.META.get("HTTP_X_AUTH_TOKEN", "")
    found = (_tester(request, token) if placement_options().test_identity else _holder(token)) if token else None
    if found is None:
        raise ApiFault(401, "A valid X-Auth-Token is required.")
    return found


def _holder(token: str) -> WireCaller | None:
    found = token_holder(token)
    if found is None:
        return None
    token_used(token_id=found.token_id, last_used_at=found.last_used_at)
    caller = found.caller
    actor_known(caller)
    roles = frozenset(role.value for role in caller.roles)
    project = "" if caller.own_project_id is None else str(caller.own_project_id)
    return WireCaller(str(caller.user_id), project, roles, caller.is_of_system, caller)


def _tester(request: HttpRequest, token: str) -> WireCaller:
    """The test identity: `USER[:PROJECT]` is believed, and so are the roles in `X-Roles`."""
    user, _, project = token.partition(":")
    sent = request.META.get("HTTP_X_ROLES")
    roles = sent.split(",") if sent is not None else (["admin"] if user == "admin" else [])
    is_system = bool(request.META.get("HTTP_OPENSTACK_SYSTEM_SCOPE"))
    scope = request.META.get("HTTP_X_PROJECT_ID") or project or user
    return WireCaller(user, "" if is_system else scope, frozenset(map(str.strip, roles)), is_system)


def require_access(caller: WireCaller, access: Access, *, project_id: str | None = None) -> None:
    """Fault 403 unless the caller may. `project_id`: whose usages are asked for."""
    may = _holder_may if caller.caller is not None else _tester_may
    if not may(caller, access, project_id):
        raise ApiFault(403, f"Policy does not allow {access.value} to be performed.")


def _holder_may(who: WireCaller, access: Access, project_id: str | None) -> bool:
    if who.caller is None:
        return False
    own = bool(who.project_id) and project_id == who.project_id
    if access is Access.PROJECT_USAGES and own and who.caller.holds(Role.READER):
        return True
    return allows(who.caller, access.value)


def _tester_may(who: WireCaller, access: Access, project_id: str | None) -> bool:
    mode = placement_options().test_identity
    if mode == "open":
        return True
    if mode == "legacy":
        return "admin" in who.roles and not who.system_scope
    if who.system_scope or not who.project_id:
        return False
    if access is Access.RESHAPE:
        return "service" in who.roles
    own = access is Access.PROJECT_USAGES and "reader" in who.roles and project_id == who.project_id
    return own or bool(who.roles & {"admin", "service"})
