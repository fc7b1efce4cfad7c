"""Pools and requests as JSON values, to be stored in rows."""

from collections.abc import Iterable, Mapping
from typing import Any

from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.domain.pci.pool import NumaPolicy, PciPool, Pools

Json = dict[str, Any]


def pools_to_list(pools: Pools) -> list[Json]:
    """One object for each pool; what is empty is left out."""
    return [_pool(pool) for pool in pools]


def pools_from_list(data: Iterable[Mapping[str, Any]]) -> Pools:
    """The inverse of `pools_to_list`."""
    return tuple(_read_pool(each) for each in data)


def requests_to_list(requests: Iterable[PciRequest]) -> list[Json]:
    """One object for each request."""
    return [
        {
            "count": each.count,
            "specs": [dict(spec) for spec in each.specs],
            "alias": each.alias,
            "numa_policy": each.numa_policy,
            "request_id": each.request_id,
        }
        for each in requests
    ]


def requests_from_list(data: Iterable[Mapping[str, Any]]) -> tuple[PciRequest, ...]:
    """The inverse of `requests_to_list`."""
    return tuple(
        PciRequest(
            each["count"],
            tuple(tuple(sorted(spec.items())) for spec in each["specs"]),
            each.get("alias", ""),
            NumaPolicy(each["numa_policy"]) if each.get("numa_policy") else None,
            each.get("request_id", ""),
        )
        for each in data
    )


def _pool(pool: PciPool) -> Json:
    rest = {"address": pool.address, "provider": pool.provider, "tags": dict(pool.tags)}
    return {
        "vendor_id": pool.vendor_id,
        "product_id": pool.product_id,
        "dev_type": pool.dev_type,
        "numa_node": pool.numa_node,
        "count": pool.count,
        **{name: value for name, value in rest.items() if value},
    }


def _read_pool(data: Mapping[str, Any]) -> PciPool:
    return PciPool(
        data["vendor_id"],
        data["product_id"],
        data["dev_type"],
        data.get("numa_node"),
        data["count"],
        data.get("address", ""),
        data.get("provider", ""),
        tuple(sorted(data.get("tags", {}).items())),
    )
