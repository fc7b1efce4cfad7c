"""What a claim itself keeps of a server group's rule: the filters see only members that have a row on a host by now."""

from collections.abc import Mapping
from uuid import UUID

from placement.domain import MAX_INT, CountLimit
from scheduling.domain.request.schedule_request import GroupSnapshot

AFFINITY, ANTI_AFFINITY, LEGACY = "affinity", "anti-affinity", "legacy"
LEGACY_AFFINITY, LEGACY_ANTI_AFFINITY = "GroupAffinityFilter", "GroupAntiAffinityFilter"
_APART, _TOGETHER = "group:", "together:"


def group_count_limits(group: GroupSnapshot | None, filters: tuple[str, ...] = ()) -> dict[str, int]:
    """{key: most on one host} of a group. `filters`: those that run, which say what a legacy group means."""
    if group is None:
        return {}
    is_legacy = group.policy == LEGACY
    limits: dict[str, int] = {}
    if group.policy == ANTI_AFFINITY or (is_legacy and LEGACY_ANTI_AFFINITY in filters):
        limits[f"{_APART}{group.uuid}"] = 1 if is_legacy else group.max_server_per_host
    if group.policy == AFFINITY or (is_legacy and LEGACY_AFFINITY in filters):
        limits[f"{_TOGETHER}{group.uuid}"] = MAX_INT
    return limits


def group_count_key(group_uuid: UUID | str, policy: str) -> str | None:
    """The key under which a member counts on its provider, for as long as it holds something there; None: no rule."""
    return next(iter(group_count_limits(GroupSnapshot(str(group_uuid), policy))), None)


def is_together(key: str) -> bool:
    """Whether all who carry the key must be on one host."""
    return key.startswith(_TOGETHER)


def limits_on(node: UUID, maximums: Mapping[str, int]) -> tuple[CountLimit, ...]:
    """The limits as a claim on this compute node states them."""
    return tuple(CountLimit(node, key, limit, together=is_together(key)) for key, limit in maximums.items())
