"""Holding a project to its quota.

Inside the transaction that creates: `quota_lock`, then a check, then the rows. The lock makes a second create of the
same project wait until the first one's rows can be counted, so together they cannot go over.
"""

import uuid
from collections.abc import Mapping
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import cast

from django.db import transaction

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain.quota import REQUEST_LIMITS
from controlplane.identity.models import Project, UserQuota
from controlplane.identity.selectors import limits_of_owner, project_get
from controlplane.identity.services import project_update, user_quota_set
from controlplane.identity.services.projects import ProjectFields
from controlplane.infra.db import uuid_value
from controlplane.infra.prepared import PreparedStatement
from controlplane.kernel.errors import QuotaExceeded
from controlplane.kernel.texts import phrase as _
from controlplane.kernel.texts import sentences
from servers.catalog.domain.quota import (
    UNLIMITED,
    ImageAmounts,
    QuotaAmounts,
    Shortfall,
    count_shortfalls,
    count_that_fits,
    overruns,
    shortfalls,
)
from servers.catalog.selectors.quota import (
    image_quota_limits,
    image_quota_usage,
    owner_quota_usage,
    quota_limit_amounts,
    quota_usage,
    user_quota_amounts,
)
from servers.conf import server_options
from servers.fields import refuse_if
from servers.models import ProjectQuotaLock

OVER_QUOTA = _("Over quota")
_LOCK = PreparedStatement(
    "quota_lock",
    lambda: "UPDATE servers_projectquotalock SET taken = taken + 1 WHERE project_id = %s RETURNING taken",
    types=["uuid"],
)
OVER_QUOTA_OF_USER = _("Over the user's quota")


def quota_lock(project_id: uuid.UUID) -> None:
    """Hold the project's quota until the transaction ends. Raises TransactionManagementError outside of one."""
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("quota_lock holds only inside a transaction.")
    if not _LOCK.rows([uuid_value(project_id)]):
        ProjectQuotaLock.objects.bulk_create([ProjectQuotaLock(project_id=project_id)], ignore_conflicts=True)
        _LOCK.rows([uuid_value(project_id)])


def quota_count_allowed(
    *,
    project_id: uuid.UUID,
    user_id: uuid.UUID | None = None,
    min_count: int,
    max_count: int,
    vcpus: int,
    memory_mib: int,
) -> int:
    """How many instances of this size may be made: max_count or fewer, as the quotas of the project and of the user who
    is named allow, as in Nova.

    Raises QuotaExceeded when not even min_count may.
    """
    each = QuotaAmounts(1, vcpus, memory_mib)
    used, limits = quota_usage(project_id=project_id), quota_limit_amounts(project_id=project_id)
    allowed = count_that_fits(each=each, used=used, limits=limits, maximum=max_count)
    if allowed < min_count:
        _refuse(each.times(min_count), used, limits)
    of_user = None if user_id is None else user_quota_amounts(project_id=project_id, user_id=user_id)
    if of_user is not None:
        used = quota_usage(project_id=project_id, user_id=user_id)
        allowed = count_that_fits(each=each, used=used, limits=of_user, maximum=allowed)
        if allowed < min_count:
            shortfalls_refuse(
                shortfalls(wanted=each.times(min_count), used=used, limits=of_user), whose=OVER_QUOTA_OF_USER
            )
    return allowed


def quota_recheck(*, project_id: uuid.UUID) -> None:
    """Raises QuotaExceeded where the project uses more than it may by now, with nothing asked for.

    Creates are counted under a lock, so together they never go over: what this finds is a limit that was lowered
    after a request was taken. The setting QUOTA_RECHECK, Nova's `[quota]recheck_quota`, switches it off.
    """
    if server_options().quota_recheck:
        used, limits = quota_usage(project_id=project_id), quota_limit_amounts(project_id=project_id)
        shortfalls_refuse(overruns(used=used, limits=limits))


def quota_growth_check(
    *, project_id: uuid.UUID, user_id: uuid.UUID | None, before: QuotaAmounts, after: QuotaAmounts
) -> None:
    """Raises QuotaExceeded where an instance that counts already grows above what the project, or its user, may have.
    Call under `quota_lock`, before the rows change.
    """
    growth = QuotaAmounts(0, max(0, after.cores - before.cores), max(0, after.ram_mib - before.ram_mib))
    if growth == QuotaAmounts(0, 0, 0):
        return
    _refuse(growth, quota_usage(project_id=project_id), quota_limit_amounts(project_id=project_id))
    of_user = None if user_id is None else user_quota_amounts(project_id=project_id, user_id=user_id)
    if of_user is not None:
        used = quota_usage(project_id=project_id, user_id=user_id)
        shortfalls_refuse(shortfalls(wanted=growth, used=used, limits=of_user), whose=OVER_QUOTA_OF_USER)


def image_quota_check(*, project_id: uuid.UUID, wanted: ImageAmounts, image_id: uuid.UUID | None = None) -> None:
    """Raises QuotaExceeded when this would go over; what `image_id` has already is replaced by what is wanted."""
    used = image_quota_usage(project_id=project_id, apart_from=image_id)
    shortfalls_refuse(shortfalls(wanted=wanted, used=used, limits=image_quota_limits(project_id=project_id)))


def owner_quota_check(
    *,
    project_id: uuid.UUID | None,
    user_id: uuid.UUID | None,
    asked: Mapping[str, int],
    used: Mapping[str, int] = MappingProxyType({}),
    field: str = "",
) -> None:
    """Raises QuotaExceeded, at `field`, where more is asked for than the project and its user may have, beside what is
    in use: of OWNER_LIMITS, by name. Nothing is read where nothing is asked for.
    """
    wanted = {name: amount for name, amount in asked.items() if amount > 0}
    if not wanted:
        return
    limits = limits_of_owner(project_id=project_id, user_id=user_id, names=list(wanted))
    held = {name: used.get(name, 0) for name in wanted}
    missing = count_shortfalls(wanted=wanted, used=held, limits=limits)
    shortfalls_refuse([replace(one, is_each=one.resource in REQUEST_LIMITS) for one in missing], field=field)


def _refuse(wanted: QuotaAmounts, used: QuotaAmounts, limits: QuotaAmounts) -> None:
    shortfalls_refuse(shortfalls(wanted=wanted, used=used, limits=limits))


def shortfalls_refuse(missing: list[Shortfall], whose: str = OVER_QUOTA, *, field: str = "") -> None:
    """Raises QuotaExceeded, with all of them and the numbers of the first, unless there is none."""
    if not missing:
        return
    first = missing[0]
    raise QuotaExceeded(
        _("{whose}: {shortfalls}", whose=whose, shortfalls=sentences(one.sentence for one in missing)),
        field=field or first.resource,
        requested=first.requested,
        used=first.used,
        limit=first.limit,
        over=[
            {"resource": one.resource, "requested": one.requested, "used": one.used, "limit": one.limit}
            for one in missing
        ],
    )


@audited("project.update", Project, by="project_id", also=("limits",))
def project_quota_limit(*, project_id: uuid.UUID, limits: Mapping[str, int | None], force: bool) -> Project:
    """Change what a project may have: what is left out stays, and None is the default again. As in Nova a limit of what
    instances, key pairs and groups take is not below what is in use, unless `force`.

    Raises NotFound and InvalidFields.
    """
    project = project_get(project_id=project_id)
    if not force:
        used = asdict(quota_usage(project_id=project_id)) | owner_quota_usage(project_id=project_id)
        refuse_if(
            {
                name: [_("Is {limit}; the project has {used} already.", limit=limit, used=used[name])]
                for name, limit in limits.items()
                if limit not in (None, UNLIMITED) and used.get(name, 0) > limit
            }
        )
    changes = cast("ProjectFields", {f"quota_{name}": limit for name, limit in limits.items()})
    return project_update(project=project, **changes)


def user_quota_limit(
    *, project_id: uuid.UUID, user_id: uuid.UUID, limits: Mapping[str, int | None], force: bool
) -> UserQuota:
    """Change what a user may have in a project, between what he has now (unless `force`) and the project's limits.

    Raises NotFound and InvalidFields.
    """
    used = asdict(quota_usage(project_id=project_id, user_id=user_id))
    used |= owner_quota_usage(project_id=project_id, user_id=user_id)
    return user_quota_set(project_id=project_id, user_id=user_id, limits=limits, used=used, force=force)
