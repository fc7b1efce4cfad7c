"""What the installation has: zones, pools, services, extensions, and what lists can be filtered by."""

from typing import Any

from controlplane.openstack.answers import JsonAnswer
from controlplane.openstack.faults import not_found
from scheduling.conf import scheduling_options
from scheduling.fleet.selectors.liveness import hosts_up
from scheduling.fleet.selectors.zones import zone_list, zones_by_host
from servers.openstack.volume.call import VolumeCall
from servers.openstack.volume.documents.pools import pool_json, service_json
from servers.openstack.volume.documents.volumes import pool_host
from servers.openstack.volume.listing import VolumeListing
from servers.openstack.volume.shapes_installation import (
    ResourceFiltersJson,
    ResourceFiltersShown,
    StoragePoolsShown,
    VolumeExtensionJson,
    VolumeExtensionShown,
    VolumeExtensionsShown,
    VolumeServicesShown,
    VolumeZoneJson,
    VolumeZonesShown,
)
from servers.openstack.volume.views.attachments import ATTACHMENTS
from servers.openstack.volume.views.backups import BACKUPS
from servers.openstack.volume.views.snapshots import SNAPSHOTS
from servers.openstack.volume.views.transfers import TRANSFERS
from servers.openstack.volume.views.types import TYPES
from servers.openstack.volume.views.volumes import VOLUMES
from servers.volumes.selectors.pools import pool_hosts_shown, pools_shown, promised_gib
from servers.volumes.selectors.volume_types import volume_type_named

POOL_NAME_SINCE, POOL_TYPE_SINCE = 28, 35
FILTERED: dict[str, VolumeListing[Any]] = {
    "volume": VOLUMES,
    "snapshot": SNAPSHOTS,
    "backup": BACKUPS,
    "attachment": ATTACHMENTS,
    "volume_transfer": TRANSFERS,
    "volume_type": TYPES,
}
EXTENSIONS = (
    ("os-availability-zone", "AvailabilityZones", "Zones of hosts."),
    ("os-extended-snapshot-attributes", "ExtendedSnapshotAttributes", "Project and progress of snapshots."),
    ("os-quota-class-sets", "QuotaClasses", "The limits that projects fall back to."),
    ("os-quota-sets", "Quotas", "Limits of projects."),
    ("os-services", "Services", "Hosts that work in pools."),
    ("os-types-manage", "TypesManage", "Types are made and changed."),
    ("os-types-extra-specs", "TypesExtraSpecs", "What types say."),
    ("os-vol-host-attr", "VolumeHostAttribute", "The pool of a volume, for administrators."),
    ("os-vol-image-meta", "VolumeImageMetadata", "What a volume has of its image."),
    ("os-vol-tenant-attr", "VolumeTenantAttribute", "The project of a volume."),
    ("os-volume-actions", "VolumeActions", "What is done to volumes."),
    ("os-volume-transfer", "VolumeTransfer", "Volumes go to other projects."),
    ("os-volume-type-access", "VolumeTypeAccess", "Types for some projects."),
    ("os-volume-encryption-metadata", "VolumeTypeEncryption", "Types whose volumes are encrypted."),
    ("backups", "Backups", "Copies that outlive their volume."),
    ("scheduler-stats", "Scheduler_stats", "Pools and what they can do."),
)
UPDATED = "2026-11-01T00:00:00+00:00"


def zones_list(call: VolumeCall) -> JsonAnswer[VolumeZonesShown]:
    """The zones that a volume may be asked for in."""
    shown: list[VolumeZoneJson] = [
        {"zoneName": zone.name, "zoneState": {"available": zone.is_available}} for zone in zone_list()
    ]
    return call.answer({"availabilityZoneInfo": shown})


def pools_list(call: VolumeCall) -> JsonAnswer[StoragePoolsShown]:
    """Pools, those of one name or one type where that is asked."""
    by_name = ["name"] if call.minor >= POOL_NAME_SINCE else []
    by_type = ["volume_type"] if call.minor >= POOL_TYPE_SINCE else []
    call.check_names("detail", *by_name, *by_type)
    pools = list(pools_shown())
    if name := call.query.get("name"):
        pools = [pool for pool in pools if name in (pool.name, pool_host(pool))]
    if reference := call.query.get("volume_type"):
        kind = volume_type_named(caller=call.caller, reference=reference)
        pools = [
            pool
            for pool in pools
            if (not kind.pools or pool.name in kind.pools) and (not kind.kinds or pool.kind in kind.kinds)
        ]
    promised = promised_gib([pool.pk for pool in pools])
    with_detail = call.flag("detail")
    shown = [pool_json(pool, promised_gib=promised.get(pool.pk, 0), with_detail=with_detail) for pool in pools]
    return call.answer({"pools": shown})


def services_list(call: VolumeCall) -> JsonAnswer[VolumeServicesShown]:
    """Each host with each pool that it works in."""
    call.check_names("host", "binary", "service")
    rows = list(pool_hosts_shown())
    up, zones, default = hosts_up({row.host for row in rows}), zones_by_host(), scheduling_options().default_zone
    shown = [service_json(call, row, zones=zones, default_zone=default, is_up=row.host in up) for row in rows]
    for name, key in (("host", "host"), ("binary", "binary"), ("service", "binary")):
        if asked := call.query.get(name):
            shown = [one for one in shown if asked in (one.get(key), str(one.get(key)).partition("@")[0])]
    return call.answer({"services": shown})


def extensions_list(call: VolumeCall) -> JsonAnswer[VolumeExtensionsShown]:
    """What of Cinder's extensions is there."""
    return call.answer({"extensions": [_extension(*one) for one in EXTENSIONS]})


def extension_show(call: VolumeCall, alias: str) -> JsonAnswer[VolumeExtensionShown]:
    """One of them."""
    for one in EXTENSIONS:
        if one[0] == alias:
            return call.answer({"extension": _extension(*one)})
    raise not_found(f"Extension {alias:.80} could not be found.")


def _extension(alias: str, name: str, description: str) -> VolumeExtensionJson:
    return {"alias": alias, "name": name, "description": description, "updated": UPDATED, "links": []}


def filters_list(call: VolumeCall) -> JsonAnswer[ResourceFiltersShown]:
    """What each list can be filtered by in this version."""
    call.check_names("resource")
    asked = call.query.get("resource")
    shown: list[ResourceFiltersJson] = [
        {
            "resource": name,
            "filters": sorted(
                key for key, one in listing.filters.items() if one.since <= call.minor and "~" not in key
            ),
        }
        for name, listing in FILTERED.items()
        if asked in (None, name)
    ]
    return call.answer({"resource_filters": shown})
