"""Volumes and pools in numbers, for /metrics. Hosts are counts, never names; pools of one name are summed."""

from collections import Counter

from django.db.models import Count

from controlplane.kernel.exposition import Family, Sample, gauge
from placement.selectors.usage import fleet_usage
from servers.models import PoolSighting, StoragePool, StoragePoolHost, Volume
from servers.volumes.domain.pools import VOLUME_GB, whole_gib

MAX_POOLS = 50
"""Names of pools that have samples of their own, in the order of the names."""


def volume_families() -> list[Family]:
    """As they are now. Seven queries."""
    states = Volume.objects.values_list("state").annotate(Count("pk")).order_by("state")
    sightings = dict(PoolSighting.objects.values_list("is_missing").annotate(Count("pk")).order_by("is_missing"))
    return [
        gauge(
            "kilonova_volumes",
            "Volumes by state.",
            (Sample(many, {"state": state}) for state, many in states),
        ),
        gauge("kilonova_volume_pool_gib", "GiB of pools: what may be promised, what is, and what is free.", _sizes()),
        gauge(
            "kilonova_volume_pool_problems",
            "Pools that a host is meant to reach and cannot use now, each for each host.",
            [Sample(StoragePoolHost.objects.exclude(problem="").count())],
        ),
        gauge(
            "kilonova_volume_pool_sightings",
            "Volumes and snapshots in pools that no row explains, and those whose bytes are missing.",
            (Sample(sightings.get(is_missing, 0), {"what": what}) for is_missing, what in SIGHTINGS),
        ),
    ]


SIGHTINGS = ((False, "orphan"), (True, "missing"))


def _sizes() -> list[Sample]:
    pools = list(StoragePool.objects.order_by("name").values_list("pk", "name", "free_bytes"))
    usage = fleet_usage([pk for pk, _, _ in pools]) if pools else {}
    sums: dict[str, Counter[str]] = {}
    for pk, name, free_bytes in pools:
        inventory = usage.get(pk, {}).get(VOLUME_GB)
        sizes = {"measured_free": whole_gib(free_bytes)}
        if inventory is not None:
            sizes |= {"capacity": inventory.capacity, "promised": inventory.used}
        sums.setdefault(name, Counter()).update(sizes)
    return [
        Sample(many, {"pool": name, "what": what})
        for name, sizes in list(sums.items())[:MAX_POOLS]
        for what, many in sorted(sizes.items())
    ]
