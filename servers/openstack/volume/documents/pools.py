"""Storage pools as the schedulers and services of the Volume API show them."""

from collections.abc import Mapping

from computeagent.protocol.volumes import PoolAbility
from servers.models import StoragePool, StoragePoolHost
from servers.openstack.call import micro_seconds
from servers.openstack.volume.call import VolumeCall
from servers.openstack.volume.documents.volumes import pool_host
from servers.openstack.volume.shapes_installation import PoolCapabilities, StoragePoolJson, VolumeServiceJson
from servers.volumes.domain.pools import whole_gib

VENDOR = "Kilonova"
BACKEND_STATE_SINCE, CLUSTER_SINCE = 49, 7


def pool_json(pool: StoragePool, *, promised_gib: int, with_detail: bool) -> StoragePoolJson:
    """One pool; in detail what it can do and how much of it is promised."""
    if not with_detail:
        return {"name": pool_host(pool)}
    abilities = set(pool.abilities)
    capabilities: PoolCapabilities = {
        "pool_name": pool.name,
        "volume_backend_name": pool.name,
        "vendor_name": VENDOR,
        "storage_protocol": pool.kind,
        "total_capacity_gb": whole_gib(pool.total_bytes),
        "free_capacity_gb": whole_gib(pool.free_bytes),
        "allocated_capacity_gb": promised_gib,
        "provisioned_capacity_gb": promised_gib,
        "max_over_subscription_ratio": str(pool.allocation_ratio),
        "reserved_gb": pool.reserved_gib,
        "multiattach": PoolAbility.MULTI_ATTACH.value in abilities,
        "QoS_support": True,
        "backend_state": "up" if any(not one.problem for one in pool.hosts.all()) else "down",
        "timestamp": micro_seconds(pool.reported_at),
    }
    return {"name": pool_host(pool), "capabilities": capabilities}


def service_json(
    call: VolumeCall, row: StoragePoolHost, *, zones: Mapping[str, str], default_zone: str, is_up: bool
) -> VolumeServiceJson:
    """That a host works in a pool, which is what a cinder-volume does."""
    works = is_up and not row.problem
    shown: VolumeServiceJson = {
        "binary": "cinder-volume",
        "host": f"{row.host}@{row.pool.name}",
        "zone": zones.get(row.host, default_zone),
        "status": "enabled" if row.pool.is_enabled else "disabled",
        "state": "up" if works else "down",
        "updated_at": micro_seconds(row.reported_at),
        "disabled_reason": None if row.pool.is_enabled else "Its pool gets no new volumes.",
        "replication_status": "disabled",
        "active_backend_id": None,
        "frozen": False,
    }
    if call.minor >= CLUSTER_SINCE:
        shown["cluster"] = None
    if call.minor >= BACKEND_STATE_SINCE:
        shown["backend_state"] = "up" if works else "down"
    return shown
