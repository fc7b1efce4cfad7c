"""Bodies of volumes, snapshots, backups, transfers, types and quotas."""

from controlplane.openstack.schemas import CompiledSchema, SchemaVersions
from servers.openstack.volume.schemas.shapes import (
    FLAG,
    ID,
    MAYBE_ID,
    METADATA,
    NAME,
    NONE,
    SIZE,
    TEXT,
    closed,
    under,
)

_DESCRIBED = {"name": TEXT, "description": TEXT, "display_name": TEXT, "display_description": TEXT}
_METADATA_OR_NONE = {**METADATA, "type": ["object", "null"]}
_NOTHING = {"anyOf": [NONE, {"type": "object", "maxProperties": 0}]}

# Groups, replicas and hints of a place: null is what a volume here has of each.
VOLUME_CREATE = CompiledSchema(
    closed(
        ["volume"],
        volume=closed(
            [],
            **_DESCRIBED,
            size={**SIZE, "type": ["integer", "string", "null"]},
            volume_type=TEXT,
            metadata=_METADATA_OR_NONE,
            snapshot_id=MAYBE_ID,
            source_volid=MAYBE_ID,
            imageRef=TEXT,
            image_id=TEXT,
            backup_id=MAYBE_ID,
            availability_zone=TEXT,
            consistencygroup_id=NONE,
            group_id=NONE,
            source_replica=NONE,
            multiattach={"enum": [False, None, "false", "False"]},
        ),
        **{"OS-SCH-HNT:scheduler_hints": _NOTHING},
    )
)
VOLUME_UPDATE = CompiledSchema(under("volume", {**closed([], **_DESCRIBED, metadata=METADATA), "minProperties": 1}))
METADATA_BODY = CompiledSchema(under("metadata", METADATA))
META_ITEM = CompiledSchema(under("meta", {**METADATA, "minProperties": 1, "maxProperties": 1}))

SNAPSHOT_CREATE = CompiledSchema(
    under("snapshot", closed(["volume_id"], **_DESCRIBED, volume_id=ID, force=FLAG, metadata=_METADATA_OR_NONE))
)
SNAPSHOT_UPDATE = CompiledSchema(under("snapshot", {**closed([], **_DESCRIBED), "minProperties": 1}))

BACKUP_CREATE = CompiledSchema(
    under(
        "backup",
        closed(
            ["volume_id"],
            volume_id=ID,
            name=TEXT,
            description=TEXT,
            incremental=FLAG,
            force=FLAG,
            snapshot_id=MAYBE_ID,
            container=NONE,
            availability_zone=NONE,
            metadata=_NOTHING,
        ),
    )
)
BACKUP_UPDATE = CompiledSchema(
    under("backup", {**closed([], name=TEXT, description=TEXT, metadata=_NOTHING), "minProperties": 1})
)
BACKUP_RESTORE = CompiledSchema(under("restore", closed([], name=TEXT, volume_id=MAYBE_ID)))

TRANSFER_CREATE = SchemaVersions(
    (55, CompiledSchema(under("transfer", closed(["volume_id"], volume_id=ID, name=TEXT, no_snapshots=FLAG)))),
    (0, CompiledSchema(under("transfer", closed(["volume_id"], volume_id=ID, name=TEXT)))),
)
TRANSFER_ACCEPT = CompiledSchema(
    under("accept", closed(["auth_key"], auth_key={"type": ["string", "integer"], "maxLength": 200}))
)

_SPECS = {"type": "object", "additionalProperties": {"type": ["string", "null"], "maxLength": 255}}
TYPE_CREATE = CompiledSchema(
    under(
        "volume_type",
        closed(
            ["name"],
            name=NAME,
            description=TEXT,
            extra_specs={**_SPECS, "type": ["object", "null"]},
            **{"os-volume-type-access:is_public": FLAG},
        ),
    )
)
TYPE_UPDATE = CompiledSchema(
    under("volume_type", {**closed([], name=TEXT, description=TEXT, is_public=FLAG), "minProperties": 1})
)
EXTRA_SPECS_BODY = CompiledSchema(under("extra_specs", {**_SPECS, "minProperties": 1}))
EXTRA_SPEC_BODY = CompiledSchema({**_SPECS, "minProperties": 1, "maxProperties": 1})
ENCRYPTION = CompiledSchema(
    under(
        "encryption",
        closed(
            ["provider", "control_location"],
            provider=NAME,
            control_location={"enum": ["front-end", "back-end"]},
            cipher=TEXT,
            key_size={"type": ["integer", "null"]},
        ),
    )
)
_LIMIT = {"type": ["integer", "string", "null"], "pattern": "^-?[0-9]+$", "maxLength": 10}
QUOTA = CompiledSchema(
    under(
        "quota_set",
        closed(
            [],
            volumes=_LIMIT,
            gigabytes=_LIMIT,
            snapshots=_LIMIT,
            backups=_LIMIT,
            backup_gigabytes=_LIMIT,
            per_volume_gigabytes={"enum": [-1, "-1"]},
            groups={"enum": [0, "0"]},
            tenant_id=TEXT,
            id=TEXT,
        ),
    )
)
QUOTA_CLASS = CompiledSchema(
    under(
        "quota_class_set",
        closed(
            [],
            volumes=_LIMIT,
            gigabytes=_LIMIT,
            snapshots=_LIMIT,
            backups=_LIMIT,
            backup_gigabytes=_LIMIT,
            per_volume_gigabytes={"enum": [-1, "-1"]},
            groups={"enum": [0, "0"]},
            class_name=TEXT,
            id=TEXT,
        ),
    )
)
