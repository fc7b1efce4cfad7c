"""Holding projects to their quotas of networks, subnets, ports, routers, floating addresses and security groups."""

import uuid
from collections.abc import Mapping
from typing import Any

from controlplane.identity.selectors import project_get, quota_limits
from controlplane.identity.services import project_update
from controlplane.kernel.errors import InvalidFields
from controlplane.kernel.texts import phrase as _
from servers.catalog.domain.quota import count_shortfalls
from servers.catalog.services.quota import quota_lock, shortfalls_refuse
from servers.networks.selectors.quota import network_quota_usage


def network_quota_check(*, project_id: uuid.UUID | None, wanted: Mapping[str, int]) -> None:
    """Hold the project's quota until the transaction ends, and raise QuotaExceeded when so many more would go over it.

    `wanted` is by the names of NETWORK_LIMITS. What belongs to no project is not counted. Called before the rows are
    locked that many projects share, so that all wait in the same order.
    """
    asked = {name: count for name, count in wanted.items() if count > 0}
    if project_id is None or not asked:
        return
    quota_lock(project_id)
    used, limits = network_quota_usage(project_id=project_id, names=list(asked)), quota_limits(project_id=project_id)
    allowed = {name: getattr(limits, name) for name in asked}
    shortfalls_refuse(count_shortfalls(wanted=asked, used=used, limits=allowed))


def network_quota_limit(*, project_id: uuid.UUID, limits: Mapping[str, int | None], checks_use: bool) -> None:
    """Change what a project may have of networks, by the names of NETWORK_LIMITS; None: the installation's default.

    `checks_use`: no limit may be below what the project has. Raises NotFound and InvalidFields.
    """
    project = project_get(project_id=project_id)
    if checks_use:
        used = network_quota_usage(project_id=project_id)
        if below := {
            name: [_("Is {limit}; the project has {used} already.", limit=limit, used=used[name])]
            for name, limit in limits.items()
            if limit is not None and 0 <= limit < used[name]
        }:
            raise InvalidFields(below)
    changes: Any = {f"quota_{name}": limit for name, limit in limits.items()}
    project_update(project=project, **changes)
