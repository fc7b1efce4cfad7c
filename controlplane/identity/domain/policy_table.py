"""The policy: which role each action needs. An action that is not here is allowed to nobody."""

from controlplane.identity.domain.roles import Role

_R, _M, _A = Role.READER, Role.MEMBER, Role.ADMIN

POLICY: dict[str, Role] = {
    "instances:read": _R,
    "instances:create": _M,
    "instances:create:forced_host": _A,
    "instances:delete": _M,
    "instances:act": _M,
    "flavors:read": _R,
    "flavors:write": _A,
    "images:read": _R,
    "images:write": _M,
    "images:publish": _A,
    "keypairs:read": _R,
    "keypairs:write": _M,
    "server_groups:read": _R,
    "server_groups:write": _M,
    "networks:read": _R,
    "networks:write": _A,
    "quota:read": _R,
    "zones:read": _R,
    "aggregates:read": _A,
    "aggregates:write": _A,
    "hosts:read": _A,
    "hosts:write": _A,
    "decisions:read": _R,
    "decisions:read_all": _A,
    "policies:read": _A,
    "policies:write": _A,
    "placement:read": _A,
    "placement:names": _R,
    "work:read": _A,
    "projects:read": _A,
    "projects:write": _A,
    "users:read": _A,
    "users:write": _A,
    "tokens:read": _R,
    "tokens:revoke": _R,
    "me:read": _R,
}
