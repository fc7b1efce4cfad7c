"""What a project may have."""

from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.kernel.texts import phrase as _


@dataclass(frozen=True, slots=True)
class QuotaLimits:
    """The limits in force for one project: its own, or the default class's, or the installation's. -1: unlimited."""

    instances: int
    cores: int
    ram_mib: int
    images: int
    image_bytes: int
    image_uploads: int
    networks: int
    subnets: int
    ports: int
    routers: int
    floating_ips: int
    security_groups: int
    security_group_rules: int
    volumes: int
    volume_gib: int
    volume_snapshots: int
    volume_backups: int
    volume_backup_gib: int
    metadata_items: int
    injected_files: int
    injected_file_content_bytes: int
    injected_file_path_bytes: int
    key_pairs: int
    server_groups: int
    server_group_members: int


DEFAULT_CLASS = "default"
COUNTED_LIMITS = ("instances", "cores", "ram_mib")
"""What all instances have together."""
REQUEST_LIMITS = ("metadata_items", "injected_files", "injected_file_content_bytes", "injected_file_path_bytes")
"""How much one request, or one instance, may have."""
OWNER_LIMITS = (*REQUEST_LIMITS, "key_pairs", "server_groups", "server_group_members")
USER_LIMITS = (*COUNTED_LIMITS, *OWNER_LIMITS)
"""What a user of a project can have limits of his own of, as in Nova."""
NETWORK_LIMITS = (
    "networks",
    "subnets",
    "ports",
    "routers",
    "floating_ips",
    "security_groups",
    "security_group_rules",
)
VOLUME_LIMITS = (
    "volumes",
    "volume_gib",
    "volume_snapshots",
    "volume_backups",
    "volume_backup_gib",
)
UNLIMITED = -1


def user_limit_problems(
    limits: Mapping[str, int | None], *, of_project: Mapping[str, int], used: Mapping[str, int]
) -> dict[str, list[str]]:
    """What is against limits of a user of a project, by Nova's rules: not above the project's, not below what is used.

    -1 is no limit but the project's, and so is None.
    """
    problems: dict[str, list[str]] = {}
    for name, limit in limits.items():
        if limit is None or limit == UNLIMITED:
            continue
        maximum, minimum = of_project[name], used.get(name, 0)
        if maximum != UNLIMITED and limit > maximum:
            problems[name] = [_("Is {limit}; the project's own limit is {maximum}.", limit=limit, maximum=maximum)]
        elif limit < minimum:
            problems[name] = [_("Is {limit}; the user has {minimum} already.", limit=limit, minimum=minimum)]
    return problems


def narrower(of_project: int, of_user: int | None) -> int:
    """The limit in force of the two; -1 is unlimited, and a user without a limit has the project's."""
    if of_user is None or of_user == UNLIMITED:
        return of_project
    return of_user if of_project == UNLIMITED else min(of_project, of_user)
