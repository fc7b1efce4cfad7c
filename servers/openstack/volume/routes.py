"""The whole Volume API: which path and method leads where, from which version on, and what it needs.

Paths have no project's id: the door takes it out of those that do (see `access`).
"""

from controlplane.openstack.routes import Endpoint, Route, RouteTable
from servers.openstack.volume.access import VolumeAccess
from servers.openstack.volume.views import (
    attachments,
    backups,
    installation,
    metadata,
    quotas,
    snapshots,
    transfers,
    types,
    versions,
    volume_actions,
    volumes,
)

_A = VolumeAccess
VOLUME, SNAPSHOT, BACKUP, TYPE = (
    "/v3/volumes/{volume_id}",
    "/v3/snapshots/{snapshot_id}",
    "/v3/backups/{backup_id}",
    ("/v3/types/{type_id}"),
)
READ, WRITE = _A.VOLUMES_READ, _A.VOLUMES_WRITE

VERSION_ROUTES = (
    Route("/", {"GET": Endpoint(versions.version_list, None)}),
    Route("/v3", {"GET": Endpoint(versions.version_show, None)}),
    Route("/v3/", {"GET": Endpoint(versions.version_show, None)}),
)

VOLUME_ROUTES = (
    Route(
        "/v3/volumes",
        {"GET": Endpoint(volumes.volumes_list, READ), "POST": Endpoint(volumes.volume_add, WRITE, takes=True)},
    ),
    Route("/v3/volumes/detail", {"GET": Endpoint(volumes.volumes_detail, READ)}),
    Route("/v3/volumes/summary", {"GET": Endpoint(volumes.volumes_sum, READ, since=12)}),
    Route(
        VOLUME,
        {
            "GET": Endpoint(volumes.volume_show, READ),
            "PUT": Endpoint(volumes.volume_change, WRITE, takes=True),
            "DELETE": Endpoint(volumes.volume_remove, WRITE),
        },
    ),
    # The table of actions says what each needs; some only read.
    Route(VOLUME + "/action", {"POST": Endpoint(volume_actions.volume_action, READ, takes=True)}),
    Route(
        VOLUME + "/metadata",
        {
            "GET": Endpoint(metadata.volume_metadata, READ),
            "POST": Endpoint(metadata.volume_metadata_add, WRITE, takes=True),
            "PUT": Endpoint(metadata.volume_metadata_replace, WRITE, takes=True),
        },
    ),
    Route(
        VOLUME + "/metadata/{key}",
        {
            "GET": Endpoint(metadata.volume_meta_show, READ),
            "PUT": Endpoint(metadata.volume_meta_put, WRITE, takes=True),
            "DELETE": Endpoint(metadata.volume_meta_remove, WRITE),
        },
    ),
    Route("/v3/attachments", {"GET": Endpoint(attachments.attachments_list, READ, since=27)}),
    Route("/v3/attachments/detail", {"GET": Endpoint(attachments.attachments_detail, READ, since=27)}),
    Route(
        "/v3/attachments/{attachment_id}",
        {
            "GET": Endpoint(attachments.attachment_show, READ, since=27),
            "DELETE": Endpoint(attachments.attachment_remove, WRITE, since=27),
        },
    ),
)

SNAPSHOT_ROUTES = (
    Route(
        "/v3/snapshots",
        {
            "GET": Endpoint(snapshots.snapshots_list, _A.SNAPSHOTS_READ),
            "POST": Endpoint(snapshots.snapshot_add, _A.SNAPSHOTS_WRITE, takes=True),
        },
    ),
    Route("/v3/snapshots/detail", {"GET": Endpoint(snapshots.snapshots_detail, _A.SNAPSHOTS_READ)}),
    Route(
        SNAPSHOT,
        {
            "GET": Endpoint(snapshots.snapshot_show, _A.SNAPSHOTS_READ),
            "PUT": Endpoint(snapshots.snapshot_change, _A.SNAPSHOTS_WRITE, takes=True),
            "DELETE": Endpoint(snapshots.snapshot_remove, _A.SNAPSHOTS_WRITE),
        },
    ),
    Route(SNAPSHOT + "/action", {"POST": Endpoint(snapshots.snapshot_action, _A.SNAPSHOTS_WRITE, takes=True)}),
    Route(
        SNAPSHOT + "/metadata",
        {
            "GET": Endpoint(metadata.snapshot_metadata, _A.SNAPSHOTS_READ),
            "POST": Endpoint(metadata.snapshot_metadata_add, _A.SNAPSHOTS_WRITE, takes=True),
            "PUT": Endpoint(metadata.snapshot_metadata_replace, _A.SNAPSHOTS_WRITE, takes=True),
        },
    ),
    Route(
        SNAPSHOT + "/metadata/{key}",
        {
            "GET": Endpoint(metadata.snapshot_meta_show, _A.SNAPSHOTS_READ),
            "PUT": Endpoint(metadata.snapshot_meta_put, _A.SNAPSHOTS_WRITE, takes=True),
            "DELETE": Endpoint(metadata.snapshot_meta_remove, _A.SNAPSHOTS_WRITE),
        },
    ),
)

BACKUP_ROUTES = (
    Route(
        "/v3/backups",
        {
            "GET": Endpoint(backups.backups_list, _A.BACKUPS_READ),
            "POST": Endpoint(backups.backup_add, _A.BACKUPS_WRITE, takes=True),
        },
    ),
    Route("/v3/backups/detail", {"GET": Endpoint(backups.backups_detail, _A.BACKUPS_READ)}),
    Route(
        BACKUP,
        {
            "GET": Endpoint(backups.backup_show, _A.BACKUPS_READ),
            "PUT": Endpoint(backups.backup_change, _A.BACKUPS_WRITE, since=9, takes=True),
            "DELETE": Endpoint(backups.backup_remove, _A.BACKUPS_WRITE),
        },
    ),
    Route(BACKUP + "/restore", {"POST": Endpoint(backups.backup_restored, WRITE, takes=True)}),
    Route(BACKUP + "/action", {"POST": Endpoint(backups.backup_action, _A.BACKUPS_WRITE, takes=True)}),
)


def _transfers(path: str) -> tuple[Route, ...]:
    """The same twice: Cinder gave them a second path when snapshots began to go with volumes, in each version."""
    one = path + "/{transfer_id}"
    return (
        Route(
            path,
            {
                "GET": Endpoint(transfers.transfers_list, _A.TRANSFERS_READ),
                "POST": Endpoint(transfers.transfer_add, _A.TRANSFERS_WRITE, takes=True),
            },
        ),
        Route(path + "/detail", {"GET": Endpoint(transfers.transfers_detail, _A.TRANSFERS_READ)}),
        Route(
            one,
            {
                "GET": Endpoint(transfers.transfer_show, _A.TRANSFERS_READ),
                "DELETE": Endpoint(transfers.transfer_remove, _A.TRANSFERS_WRITE),
            },
        ),
        Route(
            one + "/accept",
            {"POST": Endpoint(transfers.transfer_taken, _A.TRANSFERS_WRITE, takes=True)},
        ),
    )


TYPE_ROUTES = (
    Route(
        "/v3/types",
        {
            "GET": Endpoint(types.types_list, _A.TYPES_READ),
            "POST": Endpoint(types.type_add, _A.TYPES_WRITE, takes=True),
        },
    ),
    Route(
        TYPE,
        {
            "GET": Endpoint(types.type_show, _A.TYPES_READ),
            "PUT": Endpoint(types.type_change, _A.TYPES_WRITE, takes=True),
            "DELETE": Endpoint(types.type_remove, _A.TYPES_WRITE),
        },
    ),
    Route(
        TYPE + "/extra_specs",
        {
            "GET": Endpoint(types.specs_list, _A.TYPES_READ),
            "POST": Endpoint(types.specs_add, _A.TYPES_WRITE, takes=True),
        },
    ),
    Route(
        TYPE + "/extra_specs/{key}",
        {
            "GET": Endpoint(types.spec_show, _A.TYPES_READ),
            "PUT": Endpoint(types.spec_put, _A.TYPES_WRITE, takes=True),
            "DELETE": Endpoint(types.spec_remove, _A.TYPES_WRITE),
        },
    ),
    Route(TYPE + "/os-volume-type-access", {"GET": Endpoint(types.access_list, _A.TYPES_WRITE)}),
    Route(TYPE + "/action", {"POST": Endpoint(types.type_action, _A.TYPES_WRITE, takes=True)}),
    Route(
        TYPE + "/encryption",
        {
            "GET": Endpoint(types.encryption_show, _A.TYPES_WRITE),
            "POST": Endpoint(types.encryption_add, _A.TYPES_WRITE, takes=True),
        },
    ),
    Route(
        TYPE + "/encryption/{key}",
        {
            "GET": Endpoint(types.encryption_key, _A.TYPES_WRITE),
            "DELETE": Endpoint(types.encryption_remove, _A.TYPES_WRITE),
        },
    ),
)

QUOTA_ROUTES = (
    Route(
        "/v3/os-quota-sets/{target}",
        {
            "GET": Endpoint(quotas.quota_show, _A.QUOTAS_READ),
            "PUT": Endpoint(quotas.quota_change, _A.PROJECTS_WRITE, takes=True),
            "DELETE": Endpoint(quotas.quota_reset, _A.PROJECTS_WRITE),
        },
    ),
    Route("/v3/os-quota-sets/{target}/defaults", {"GET": Endpoint(quotas.quota_defaults_show, _A.QUOTAS_READ)}),
    Route(
        "/v3/os-quota-class-sets/{name}",
        {
            "GET": Endpoint(quotas.class_show, _A.CLASSES_READ),
            "PUT": Endpoint(quotas.class_change, _A.CLASSES_WRITE, takes=True),
        },
    ),
    Route("/v3/limits", {"GET": Endpoint(quotas.limits_show, _A.QUOTAS_READ)}),
)

INSTALLATION_ROUTES = (
    Route("/v3/os-availability-zone", {"GET": Endpoint(installation.zones_list, _A.ZONES_READ)}),
    Route("/v3/scheduler-stats/get_pools", {"GET": Endpoint(installation.pools_list, _A.POOLS_READ)}),
    Route("/v3/os-services", {"GET": Endpoint(installation.services_list, _A.POOLS_READ)}),
    Route("/v3/extensions", {"GET": Endpoint(installation.extensions_list, READ)}),
    Route("/v3/extensions/{alias}", {"GET": Endpoint(installation.extension_show, READ)}),
    Route("/v3/resource_filters", {"GET": Endpoint(installation.filters_list, READ, since=31)}),
)

ROUTES = RouteTable(
    [
        *VERSION_ROUTES,
        *VOLUME_ROUTES,
        *SNAPSHOT_ROUTES,
        *BACKUP_ROUTES,
        *_transfers("/v3/os-volume-transfer"),
        *_transfers("/v3/volume-transfers"),
        *TYPE_ROUTES,
        *QUOTA_ROUTES,
        *INSTALLATION_ROUTES,
    ]
)
