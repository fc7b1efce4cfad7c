"""What a method of the Compute API needs, and whose path it is: actions of the policy, and the project of the token."""

from enum import Enum

from controlplane.identity.domain import Caller
from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.faults import bad_request

VERSION_PATHS = ("", "/", "/v2", "/v2/", "/v2.1", "/v2.1/")
"""Version documents, which need no token."""


class ComputeAccess(Enum):
    """What a method needs; the values are actions of the policy."""

    SERVERS_READ = "instances:read"
    SERVERS_CREATE = "instances:create"
    SERVERS_DELETE = "instances:delete"
    SERVERS_UPDATE = "instances:update"
    SERVERS_ACT = "instances:act"
    SERVERS_REBUILD = "instances:rebuild"
    SERVERS_SHELVE_OFFLOAD = "instances:shelve_offload"
    SERVERS_RESET_STATE = "instances:reset_state"
    SERVERS_MIGRATE = "instances:migrate"
    SERVERS_MOVE = "instances:move"
    MIGRATIONS_READ = "migrations:read"
    SECURITY_GROUPS_READ = "security_groups:read"
    SECURITY_GROUPS_WRITE = "security_groups:write"
    FLOATING_IPS_WRITE = "floating_ips:write"
    CONSOLE = "instances:console"
    CONSOLE_WRITE = "instances:console:write"
    DIAGNOSTICS = "instances:diagnostics"
    GUEST_PASSWORD = "instances:guest_password"  # noqa: S105 - an action of the policy
    GUEST_PASSWORD_CLEAR = "instances:guest_password:clear"  # noqa: S105 - likewise
    # What projects choose from and have beside servers.
    FLAVORS_READ = "flavors:read"
    FLAVORS_WRITE = "flavors:write"
    KEYPAIRS_READ = "keypairs:read"
    KEYPAIRS_WRITE = "keypairs:write"
    GROUPS_READ = "server_groups:read"
    GROUPS_WRITE = "server_groups:write"
    QUOTAS_READ = "quotas:read"
    QUOTAS_WRITE = "user_quotas:write"
    QUOTA_CLASSES_READ = "quota_classes:read"
    QUOTA_CLASSES_WRITE = "quota_classes:write"
    ALL_SERVERS_READ = "instances:read_all"
    # The installation.
    AGGREGATES_READ = "aggregates:read"
    AGGREGATES_WRITE = "aggregates:write"
    HYPERVISORS_READ = "hosts:read"
    HOSTS_WRITE = "hosts:write"
    SERVER_EVENTS = "server_events:create"
    ZONES_READ = "availability_zones:read"
    # What old microversions pass on to other doors.
    IMAGES_READ = "images:read"
    IMAGES_WRITE = "images:write"
    NETWORKS_READ = "networks:read"
    FLOATING_IPS_READ = "floating_ips:read"
    VOLUMES_READ = "volumes:read"
    VOLUMES_WRITE = "volumes:write"


def routed_path(path: str, caller: Caller | None) -> str:
    """The path as the routes have it: under v2.1, without the project's id, which old clients send.

    Raises Fault 400 for the id of another project.
    """
    if caller is None or path in VERSION_PATHS:
        return path
    _, version, *rest = path.split("/")
    project_id = parse_uuid(rest[0]) if rest else None
    if project_id is not None:
        if project_id != caller.own_project_id:
            own = "is of the system" if caller.own_project_id is None else f"is of {caller.own_project_id.hex}"
            raise bad_request(
                f"Malformed request URL: its project {project_id.hex} is not the project of the token, which {own}."
            )
        rest = rest[1:]
    return "/".join(("", "v2.1" if version == "v2" else version, *rest))
