"""Pools as the choice of one sees them, in a constant number of queries."""

import uuid
from collections import defaultdict
from collections.abc import Collection

from placement.selectors.usage import fleet_usage
from scheduling.conf import scheduling_options
from scheduling.fleet.selectors.liveness import hosts_up
from scheduling.fleet.selectors.zones import zones_by_host
from servers.models import StoragePool, StoragePoolHost
from servers.volumes.domain.pool_choice import PoolFacts
from servers.volumes.domain.pools import VOLUME_GB, whole_gib


def pool_facts(pool_ids: Collection[uuid.UUID] | None = None, *, with_zones: bool = False) -> list[PoolFacts]:
    """These pools, or all. Seven queries at most."""
    rows = list(StoragePool.objects.all() if pool_ids is None else StoragePool.objects.filter(pk__in=pool_ids))
    hosts: dict[uuid.UUID, dict[str, str]] = defaultdict(dict)
    for pool_id, host, problem in StoragePoolHost.objects.filter(pool__in=[row.pk for row in rows]).values_list(
        "pool_id", "host", "problem"
    ):
        hosts[pool_id][host] = problem
    known = {host for of_pool in hosts.values() for host in of_pool}
    up = hosts_up(known) if known else set()
    zones = zones_by_host() if with_zones and known else {}
    default_zone = scheduling_options().default_zone
    usage = fleet_usage([row.pk for row in rows])
    found = []
    for row in rows:
        inventory = usage.get(row.pk, {}).get(VOLUME_GB)
        its = hosts.get(row.pk, {})
        found.append(
            PoolFacts(
                id=row.pk,
                name=row.name,
                kind=row.kind,
                is_shared=not row.host,
                is_enabled=row.is_enabled,
                abilities=frozenset(row.abilities),
                capacity_gib=0 if inventory is None else inventory.capacity,
                free_gib=0 if inventory is None else inventory.free,
                measured_free_gib=whole_gib(row.free_bytes),
                allocation_ratio=row.allocation_ratio,
                hosts=its,
                up=frozenset(up & its.keys()),
                zones=frozenset(zones.get(host, default_zone) for host in its),
            )
        )
    return found
