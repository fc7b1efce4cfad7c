"""What answers of the Volume API hold. What a version lacks, or is for administrators alone, is not required."""

from typing import NotRequired, TypedDict

from controlplane.openstack.shapes import LinkJson, MediaType

VolumeVersionJson = TypedDict(
    "VolumeVersionJson",
    {
        "id": str,
        "status": str,
        "version": str,
        "min_version": str,
        "updated": str,
        "links": list[LinkJson],
        "media-types": list[MediaType],
    },
)


class VolumeVersionsShown(TypedDict):
    versions: list[VolumeVersionJson]


class VolumeSummary(TypedDict):
    id: str
    name: str
    links: list[LinkJson]


class AttachedJson(TypedDict):
    """Which instance has a volume."""

    id: str
    attachment_id: str
    volume_id: str
    server_id: str
    host_name: None
    device: str | None
    attached_at: str | None


class VolumeFieldsByVersion(TypedDict, total=False):
    provider_id: None
    group_id: None
    shared_targets: bool
    service_uuid: None
    cluster_name: None
    volume_type_id: str | None
    consumes_quota: bool


class VolumeMigrationStatus(TypedDict, total=False):
    migration_status: None


class ChangedVolumeJson(VolumeSummary, VolumeFieldsByVersion, VolumeMigrationStatus):
    """A volume, as what makes or changes it answers."""

    description: str
    status: str
    size: int
    availability_zone: str | None
    created_at: str
    updated_at: str
    volume_type: str | None
    metadata: dict[str, str]
    user_id: str
    bootable: str
    encrypted: bool
    multiattach: bool
    replication_status: None
    consistencygroup_id: None
    attachments: list[AttachedJson]
    snapshot_id: str | None
    source_volid: str | None


# Some names have a colon.
_VolumeTenant = TypedDict("_VolumeTenant", {"os-vol-tenant-attr:tenant_id": str})
_VolumeExtensions = TypedDict(
    "_VolumeExtensions",
    {
        "os-vol-host-attr:host": NotRequired[str | None],
        "os-vol-mig-status-attr:migstat": NotRequired[None],
        "os-vol-mig-status-attr:name_id": NotRequired[None],
    },
)


class VolumeExtensions(VolumeMigrationStatus, _VolumeExtensions, total=False):
    volume_image_metadata: dict[str, str]


class VolumeJson(ChangedVolumeJson, _VolumeTenant, _VolumeExtensions):
    """A volume."""

    volume_image_metadata: NotRequired[dict[str, str]]


class BesideVolumes(TypedDict, total=False):
    volumes_links: list[LinkJson]
    count: int


class VolumeSummariesShown(BesideVolumes):
    volumes: list[VolumeSummary]


class VolumesShown(BesideVolumes):
    volumes: list[VolumeJson]


class VolumeShown(TypedDict):
    volume: VolumeJson


class ChangedVolumeShown(TypedDict):
    volume: ChangedVolumeJson


class VolumeSums(TypedDict):
    """How many volumes there are, how large they are together in GiB, and every value that their metadata have."""

    total_count: int
    total_size: int
    metadata: NotRequired[dict[str, list[str]]]


VolumeSumsShown = TypedDict("VolumeSumsShown", {"volume-summary": VolumeSums})


class SnapshotSummary(TypedDict):
    id: str
    name: str
    description: str
    volume_id: str
    status: str
    size: int
    metadata: dict[str, str]
    created_at: str
    updated_at: str


class SnapshotFieldsByVersion(TypedDict, total=False):
    group_snapshot_id: None
    user_id: str
    consumes_quota: bool


class ChangedSnapshotJson(SnapshotSummary, SnapshotFieldsByVersion):
    """A snapshot, as what makes or changes it answers."""


_SnapshotExtensions = TypedDict(
    "_SnapshotExtensions",
    {
        "os-extended-snapshot-attributes:project_id": str,
        "os-extended-snapshot-attributes:progress": str,
    },
)


class SnapshotJson(ChangedSnapshotJson, _SnapshotExtensions):
    """A snapshot of a volume."""


class BesideSnapshots(TypedDict, total=False):
    snapshots_links: list[LinkJson]
    count: int


class SnapshotSummariesShown(BesideSnapshots):
    snapshots: list[SnapshotSummary]


class SnapshotsShown(BesideSnapshots):
    snapshots: list[SnapshotJson]


class SnapshotShown(TypedDict):
    snapshot: SnapshotJson


class ChangedSnapshotShown(TypedDict):
    snapshot: ChangedSnapshotJson


class BackupSummary(TypedDict):
    id: str
    name: str
    links: list[LinkJson]


_BackupProject = TypedDict("_BackupProject", {"os-backup-project-attr:project_id": NotRequired[str]})


class BackupFieldsByVersion(_BackupProject, total=False):
    metadata: dict[str, str]
    user_id: str


class BackupJson(BackupSummary, BackupFieldsByVersion):
    """A backup of a volume."""

    status: str
    size: int
    object_count: int
    availability_zone: None
    container: None
    created_at: str
    updated_at: str
    description: str
    fail_reason: str | None
    volume_id: str
    is_incremental: bool
    has_dependent_backups: bool
    snapshot_id: str | None
    data_timestamp: str


class BesideBackups(TypedDict, total=False):
    backups_links: list[LinkJson]
    count: int


class BackupSummariesShown(BesideBackups):
    backups: list[BackupSummary]


class BackupsShown(BesideBackups):
    backups: list[BackupJson]


class BackupShown(TypedDict):
    backup: BackupJson


class BackupSummaryShown(TypedDict):
    backup: BackupSummary


class RestoreJson(TypedDict):
    backup_id: str
    volume_id: str
    volume_name: str


class RestoreShown(TypedDict):
    restore: RestoreJson


class TransferSummary(TypedDict):
    id: str
    name: str
    volume_id: str
    links: list[LinkJson]


class TransferFieldsByVersion(TypedDict, total=False):
    no_snapshots: bool
    source_project_id: str
    destination_project_id: None
    accepted: bool


class TransferJson(TransferSummary, TransferFieldsByVersion):
    """An offer of a volume to whoever knows its word."""

    created_at: str


class NewTransferJson(TransferJson):
    """With the word by which it is taken, which no later answer has."""

    auth_key: str


class BesideTransfers(TypedDict, total=False):
    transfers_links: list[LinkJson]
    count: int


class TransferSummariesShown(BesideTransfers):
    transfers: list[TransferSummary]


class TransfersShown(BesideTransfers):
    transfers: list[TransferJson]


class TransferShown(TypedDict):
    transfer: TransferJson


class NewTransferShown(TypedDict):
    transfer: NewTransferJson


class TransferSummaryShown(TypedDict):
    transfer: TransferSummary


class AttachmentSummary(TypedDict):
    id: str
    status: str
    instance: str
    volume_id: str


class AttachmentJson(AttachmentSummary):
    """That an instance has a volume."""

    attached_at: str
    detached_at: str
    attach_mode: str
    connection_info: dict[str, object]


class BesideAttachments(TypedDict, total=False):
    attachments_links: list[LinkJson]
    count: int


class AttachmentSummariesShown(BesideAttachments):
    attachments: list[AttachmentSummary]


class AttachmentsShown(BesideAttachments):
    attachments: list[AttachmentJson]


class AttachmentShown(TypedDict):
    attachment: AttachmentJson


class VolumeMetadataShown(TypedDict):
    metadata: dict[str, str]


class VolumeMetaShown(TypedDict):
    """One key."""

    meta: dict[str, str]


class UploadedType(TypedDict):
    id: str
    name: str


class UploadJson(TypedDict):
    """The image that a volume is uploaded to."""

    id: str
    updated_at: str
    status: str
    display_description: str
    size: int
    volume_type: UploadedType | None
    image_id: str
    container_format: str
    disk_format: str
    image_name: str
    visibility: NotRequired[str]
    protected: NotRequired[bool]


UploadShown = TypedDict("UploadShown", {"os-volume_upload_image": UploadJson})
