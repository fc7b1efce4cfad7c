"""The table of actions: what each needs. An action that is not in it is refused, loudly.

The least role is enough in the caller's own project; that a thing belongs to the project is the business of the
selector that fetches it. `admin` reaches every project.
"""

from collections.abc import Mapping
from types import MappingProxyType

from controlplane.identity.domain.caller import Caller
from controlplane.identity.domain.role import Role
from controlplane.kernel.errors import Forbidden

# Whoever is logged in has at least one role, so the least role means "any caller".
_ANY = Role.READER

POLICY: Mapping[str, Role] = MappingProxyType(
    {
        # What a project owns.
        "instances:read": Role.READER,
        "instances:read_all": Role.ADMIN,
        "instances:create": Role.MEMBER,
        "instances:create:forced_host": Role.ADMIN,
        "instances:create:zero_disk_flavor": Role.ADMIN,
        "instances:delete": Role.MEMBER,
        "instances:act": Role.MEMBER,
        "instances:update": Role.MEMBER,
        "instances:reset_state": Role.ADMIN,
        "instances:protect": Role.MEMBER,
        "instances:lock": Role.MEMBER,
        "instances:unlock": Role.MEMBER,
        "instances:unlock:override": Role.ADMIN,
        "instances:console": Role.READER,
        "keypairs:read": Role.READER,
        "keypairs:write": Role.MEMBER,
        "server_groups:read": Role.READER,
        "server_groups:write": Role.MEMBER,
        "quotas:read": Role.READER,
        "decisions:read": Role.READER,
        "decisions:read_all": Role.ADMIN,
        "schedule:simulate": Role.READER,
        "schedule:simulate:edits": Role.ADMIN,
        "schedule:explain": Role.READER,
        "schedule:explain:host": Role.ADMIN,
        # What all projects choose from.
        "flavors:read": _ANY,
        "flavors:write": Role.ADMIN,
        "images:read": _ANY,
        "images:write": Role.MEMBER,
        "images:publish": Role.ADMIN,
        "availability_zones:read": _ANY,
        "zones:read": _ANY,
        "networks:read": _ANY,
        "networks:write": Role.ADMIN,
        "placement:names": _ANY,
        # The installation.
        "aggregates:read": Role.ADMIN,
        "aggregates:write": Role.ADMIN,
        "capacity:read": Role.ADMIN,
        "cells:read": Role.ADMIN,
        "cells:write": Role.ADMIN,
        "drift:read": Role.ADMIN,
        "drift:write": Role.ADMIN,
        "heals:read": Role.ADMIN,
        "hosts:read": Role.ADMIN,
        "hosts:write": Role.ADMIN,
        "placement:read": Role.ADMIN,
        "placement:write": Role.ADMIN,
        "policies:read": Role.ADMIN,
        "policies:write": Role.ADMIN,
        "webhooks:read": Role.ADMIN,
        "webhooks:write": Role.ADMIN,
        "work:read": Role.ADMIN,
        "work:write": Role.ADMIN,
        "overview:read": _ANY,
        # Identity itself.
        "me:read": _ANY,
        "tokens:read": _ANY,
        "tokens:revoke": _ANY,
        "projects:read": Role.ADMIN,
        "projects:write": Role.ADMIN,
        "users:read": Role.ADMIN,
        "users:write": Role.ADMIN,
        "roles:read": Role.ADMIN,
        "roles:write": Role.ADMIN,
    }
)


class UnknownActionError(LookupError):
    """Code asked for an action that the table does not have: a mistake in the program, never the caller's."""


def min_role(action: str) -> Role:
    """The role that `action` needs. Raises `UnknownActionError`, so that a misspelt action grants nothing."""
    try:
        return POLICY[action]
    except KeyError:
        raise UnknownActionError(f"no such action in the policy: {action!r}") from None


def allows(caller: Caller, action: str) -> bool:
    """Whether `caller` may do `action`: for pages that leave out what would be refused."""
    return caller.holds(min_role(action))


def require(caller: Caller, action: str) -> None:
    """Raise `Forbidden`, with a sentence naming the action and the role it needs, unless `caller` may do it."""
    needed = min_role(action)
    if caller.holds(needed):
        return
    held = ", ".join(caller.role_names) or "none"
    raise Forbidden(
        f"{action} needs the role {needed.value}; {caller.username} has {held} in project {caller.project_name}.",
        action=action,
        needed=needed.value,
        held=caller.role_names,
    )
