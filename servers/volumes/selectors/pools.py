"""Reading storage pools, for administrators."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count, QuerySet
from django.db.models.functions import Coalesce

from controlplane.infra.related_count import related_count
from controlplane.kernel.texts import phrase as _
from placement.selectors.usage import fleet_usage
from servers.models import StoragePool, StoragePoolHost
from servers.volumes.domain.errors import StoragePoolNotFound
from servers.volumes.domain.pools import VOLUME_GB, whole_gib


def pools_shown() -> QuerySet[StoragePool]:
    """All pools with the number of their volumes and the hosts that reach them: two queries."""
    return (
        StoragePool.objects.annotate(volume_count=Count("volumes")).order_by("name", "host").prefetch_related("hosts")
    )


def pool_hosts_shown() -> QuerySet[StoragePoolHost]:
    """Each host with each pool that it reaches, by host and pool: one query."""
    return StoragePoolHost.objects.select_related("pool").order_by("host", "pool__name")


def pool_get(*, pool_id: uuid.UUID) -> StoragePool:
    """The pool with this id. Raises StoragePoolNotFound."""
    found = pools_shown().filter(pk=pool_id).first()
    if found is None:
        raise StoragePoolNotFound(_("Storage pool {pool_id} does not exist.", pool_id=pool_id))
    return found


def promised_gib(pool_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, int]:
    """What volumes and snapshots claim of each of these pools, in GiB. One query."""
    usage = fleet_usage(pool_ids)
    return {pk: usage[pk][VOLUME_GB].used for pk in pool_ids if VOLUME_GB in usage.get(pk, {})}


@dataclass(frozen=True, slots=True)
class PoolOfHost:
    """A pool as one host reaches it. `problem`: why the host cannot use it now. Sizes in GiB: what may be promised of
    it, what is promised, and what its hosts measured as free. `volumes` counts all that are in it.
    """

    pool: StoragePool
    problem: str
    capacity_gib: int
    promised_gib: int
    measured_free_gib: int
    volumes: int

    @property
    def is_own(self) -> bool:
        """Whether it is stored by one host alone."""
        return bool(self.pool.host)


def pools_of_host(*, host: str) -> list[PoolOfHost]:
    """All that a host reports, by name. Five queries."""
    problems = dict(StoragePoolHost.objects.filter(host=host).values_list("pool", "problem"))
    pools = StoragePool.objects.filter(pk__in=problems).annotate(volume_count=Count("volumes")).order_by("name", "host")
    usage = fleet_usage(problems.keys()) if problems else {}
    found = []
    for pool in pools:
        inventory = usage.get(pool.pk, {}).get(VOLUME_GB)
        found.append(
            PoolOfHost(
                pool=pool,
                problem=problems[pool.pk],
                capacity_gib=0 if inventory is None else inventory.capacity,
                promised_gib=0 if inventory is None else inventory.used,
                measured_free_gib=whole_gib(pool.free_bytes),
                volumes=pool.volume_count,
            )
        )
    return found


def pool_host_count() -> Coalesce:
    """Of the hosts that reach each pool; to sort pools by."""
    return related_count(StoragePoolHost.objects.all(), "pool")
