"""Holding a project to its quota.

Inside the transaction that creates: `quota_lock`, then a check, then the rows. The lock makes a second create of the
same project wait until the first one's rows can be counted, so together they cannot go over.
"""

import uuid

from django.db import transaction
from django.db.models import F

from controlplane.kernel.errors import QuotaExceeded
from servers.catalog.domain.quota import ImageAmounts, QuotaAmounts, Shortfall, count_that_fits, overruns, shortfalls
from servers.catalog.selectors.quota import image_quota_limits, image_quota_usage, quota_limit_amounts, quota_usage
from servers.conf import server_options
from servers.models import ProjectQuotaLock


def quota_lock(project_id: uuid.UUID) -> None:
    """Hold the project's quota until the transaction ends. Raises TransactionManagementError outside of one."""
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("quota_lock holds only inside a transaction.")
    rows = ProjectQuotaLock.objects.filter(project_id=project_id)
    if not rows.update(taken=F("taken") + 1):
        ProjectQuotaLock.objects.bulk_create([ProjectQuotaLock(project_id=project_id)], ignore_conflicts=True)
        rows.update(taken=F("taken") + 1)


def quota_count_allowed(*, project_id: uuid.UUID, min_count: int, max_count: int, vcpus: int, memory_mib: int) -> int:
    """How many instances of this size may be made: max_count or fewer, as the quota allows, as in Nova.

    Raises QuotaExceeded when not even min_count may.
    """
    each = QuotaAmounts(1, vcpus, memory_mib)
    used, limits = quota_usage(project_id=project_id), quota_limit_amounts(project_id=project_id)
    allowed = count_that_fits(each=each, used=used, limits=limits, maximum=max_count)
    if allowed < min_count:
        _refuse(each.times(min_count), used, limits)
    return allowed


def quota_recheck(*, project_id: uuid.UUID) -> None:
    """Raises QuotaExceeded where the project uses more than it may by now, with nothing asked for.

    Creates are counted under a lock, so together they never go over: what this finds is a limit that was lowered
    after a request was taken. The setting QUOTA_RECHECK, Nova's `[quota]recheck_quota`, switches it off.
    """
    if server_options().quota_recheck:
        used, limits = quota_usage(project_id=project_id), quota_limit_amounts(project_id=project_id)
        _raise_for(overruns(used=used, limits=limits))


def image_quota_check(*, project_id: uuid.UUID, wanted: ImageAmounts, image_id: uuid.UUID | None = None) -> None:
    """Raises QuotaExceeded when this would go over; what `image_id` has already is replaced by what is wanted."""
    used = image_quota_usage(project_id=project_id, apart_from=image_id)
    _raise_for(shortfalls(wanted=wanted, used=used, limits=image_quota_limits(project_id=project_id)))


def _refuse(wanted: QuotaAmounts, used: QuotaAmounts, limits: QuotaAmounts) -> None:
    _raise_for(shortfalls(wanted=wanted, used=used, limits=limits))


def _raise_for(missing: list[Shortfall]) -> None:
    if not missing:
        return
    first = missing[0]
    raise QuotaExceeded(
        "Over quota: " + " ".join(shortfall.sentence for shortfall in missing),
        field=first.resource,
        requested=first.requested,
        used=first.used,
        limit=first.limit,
        over=[
            {"resource": one.resource, "requested": one.requested, "used": one.used, "limit": one.limit}
            for one in missing
        ],
    )
