"""Which hosts reach a pool, and which of them can do something there now."""

from collections.abc import Collection
from uuid import UUID

from scheduling.fleet.selectors.liveness import hosts_up
from servers.models import Instance, StoragePool, StoragePoolHost, Volume, VolumeAttachment


def hosts_of_pool(pool: StoragePool) -> dict[str, str]:
    """{host: why it cannot use the pool now, empty where it can}."""
    return dict(StoragePoolHost.objects.filter(pool=pool).values_list("host", "problem"))


def live_hosts(pool: StoragePool) -> list[str]:
    """Those that are up and can do something in the pool, in the order of their names: the host that stores it alone,
    or all that reach a shared one without a problem. Two queries.
    """
    reaching = [host for host, problem in hosts_of_pool(pool).items() if not problem and pool.host in ("", host)]
    return sorted(hosts_up(reaching)) if reaching else []


def hosts_of_attachments(volume_id: UUID) -> list[str]:
    """The hosts of the instances that have the volume; instances that are on none are left out. Two queries."""
    instances = VolumeAttachment.objects.filter(volume=volume_id).values_list("instance_uuid", flat=True)
    rows = Instance.objects.filter(pk__in=list(instances), deleted_at__isnull=True).exclude(host="")
    return sorted(set(rows.values_list("host", flat=True)))


def pools_reached(host: str) -> set[UUID]:
    """Ids of the pools that a host reaches without a problem."""
    return set(StoragePoolHost.objects.filter(host=host, problem="").values_list("pool", flat=True))


def shared_pools_reached(host: str) -> list[UUID]:
    """The same of pools that several hosts may reach: each is an aggregate of its provider and theirs."""
    return list(StoragePoolHost.objects.filter(host=host, problem="", pool__host="").values_list("pool", flat=True))


def volumes_by_id(volume_ids: Collection[UUID]) -> dict[UUID, Volume]:
    """These volumes with their pools; those that are gone are left out."""
    rows = Volume.objects.select_related("pool", "left_pool", "wanted_pool")
    return {one.pk: one for one in rows.filter(pk__in=volume_ids)}
