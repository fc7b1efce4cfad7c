"""What paths and bodies of the Identity API name: a user, a project, the only domain."""

from typing import Any

from controlplane.identity.domain import Role
from controlplane.identity.models import Project, User, UserGroup
from controlplane.identity.openstack.access import IdentityAccess
from controlplane.identity.openstack.call import DOMAIN, IdentityCall, is_default_domain
from controlplane.identity.policy import allows
from controlplane.identity.selectors import project_get
from controlplane.identity.selectors.groups import group_get
from controlplane.identity.selectors.people import user_get
from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.faults import ApiFault, bad_request, not_found


def user_found(user_id: str) -> User:
    """Raises Fault 404 for what is no id, and NotFound."""
    known = parse_uuid(user_id)
    if known is None:
        raise not_found(f"Could not find user: {user_id:.80}.")
    return user_get(user_id=known)


def project_found(project_id: str) -> Project:
    """Raises Fault 404 for what is no id, and NotFound."""
    known = parse_uuid(project_id)
    if known is None:
        raise not_found(f"Could not find project: {project_id:.80}.")
    return project_get(project_id=known)


def group_found(group_id: str) -> UserGroup:
    """Raises Fault 404 for what is no id, and NotFound."""
    known = parse_uuid(group_id)
    if known is None:
        raise not_found(f"Could not find group: {group_id:.80}.")
    return group_get(group_id=known)


def role_found(role_id: str) -> Role:
    """Raises Fault 404."""
    if role_id not in {role.value for role in Role}:
        raise not_found(f"Could not find role: {role_id:.80}.")
    return Role(role_id)


def domain_require(asked: dict[str, Any], *keys: str) -> None:
    """Raises Fault 404, as Keystone does, where any of these keys names another domain than the only one."""
    for key in keys:
        if not is_default_domain(asked.get(key) or DOMAIN):
            raise not_found(f"{key} {asked[key]:.64} does not exist: the only domain is {DOMAIN}.")


def require_unless_own(call: IdentityCall, access: IdentityAccess, *, is_own: bool) -> None:
    """Raises Fault 403 for what is somebody else's, unless the caller's role reaches it."""
    caller = call.held.caller
    if not is_own and (caller is None or not allows(caller, access.value)):
        raise ApiFault(403, f"You are not authorized to perform the requested action: {access.value}.")


def domain_of(named: dict[str, Any], what: str) -> str:
    """The domain that a name stands with, by its id or name: `default` in any spelling of the only one.

    Raises Fault 400 where none is said.
    """
    domain = named.get("domain") or {}
    said: str = domain.get("id") or domain.get("name") or ""
    if not said:
        raise bad_request(f"Expecting to find domain in {what}.")
    return said.lower() if is_default_domain(said) else said
