"""What a method of the Volume API needs, and whose path it is: actions of the policy, and the project of the token."""

from enum import Enum

from controlplane.identity.domain import Caller
from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.faults import bad_request

VERSION_PATHS = ("", "/", "/v3", "/v3/")
"""Version documents, which need no token."""


class VolumeAccess(Enum):
    """What a method needs; the values are actions of the policy."""

    VOLUMES_READ = "volumes:read"
    VOLUMES_WRITE = "volumes:write"
    RESET_STATE = "volumes:reset_state"
    FORCE_DELETE = "volumes:force_delete"
    SNAPSHOTS_READ = "volume_snapshots:read"
    SNAPSHOTS_WRITE = "volume_snapshots:write"
    TRANSFERS_READ = "volume_transfers:read"
    TRANSFERS_WRITE = "volume_transfers:write"
    BACKUPS_READ = "volume_backups:read"
    BACKUPS_WRITE = "volume_backups:write"
    TYPES_READ = "volume_types:read"
    TYPES_WRITE = "volume_types:write"
    POOLS_READ = "storage_pools:read"
    ZONES_READ = "availability_zones:read"
    QUOTAS_READ = "quotas:read"
    CLASSES_READ = "quota_classes:read"
    CLASSES_WRITE = "quota_classes:write"
    PROJECTS_READ = "projects:read"
    PROJECTS_WRITE = "projects:write"


def path_project(path: str) -> str:
    """The project's id that a path has after its version; empty where it has none."""
    _, _, *rest = path.split("/", 3)
    return rest[0] if rest and parse_uuid(rest[0]) is not None else ""


def routed_path(path: str, caller: Caller | None) -> str:
    """The path as the routes have it: without the project's id, which most clients send.

    Raises Fault 400 for the id of another project.
    """
    if caller is None or path in VERSION_PATHS:
        return path
    named = path_project(path)
    if not named:
        return path
    if parse_uuid(named) != caller.own_project_id:
        own = "is of the system" if caller.own_project_id is None else f"is of {caller.own_project_id.hex}"
        raise bad_request(f"Malformed request url: its project {named} is not the project of the token, which {own}.")
    return path.replace(f"/{named}", "", 1)
