"""Roles of users in the system."""

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Role
from controlplane.identity.models import SystemRole, User


@audited("role.grant_in_system", User, by="user", also=("role",))
def system_role_grant(*, user: User, role: Role) -> SystemRole:
    """Give a role in the system; giving it again changes nothing."""
    return SystemRole.objects.get_or_create(user=user, role=role.value)[0]


@audited("role.revoke_in_system", User, by="user", also=("role",))
def system_role_revoke(*, user: User, role: Role) -> bool:
    """Take it away, from the next request on. Whether the user had it."""
    return bool(SystemRole.objects.filter(user=user, role=role.value).delete()[0])
