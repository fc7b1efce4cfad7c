"""What answers of the Volume API hold of types, quotas and the installation."""

from typing import NotRequired, TypedDict

from controlplane.openstack.shapes import LinkJson


class ChangedTypeJson(TypedDict):
    """A volume type, as what changes it answers."""

    id: str
    name: str
    description: str
    is_public: bool
    extra_specs: dict[str, str]


_TypeAccess = TypedDict("_TypeAccess", {"os-volume-type-access:is_public": bool})


class MadeTypeJson(ChangedTypeJson, _TypeAccess):
    """A volume type, as what makes it answers."""


class QosField(TypedDict, total=False):
    qos_specs_id: None


class TypeJson(MadeTypeJson, QosField):
    """A volume type."""


class BesideTypes(TypedDict, total=False):
    volume_type_links: list[LinkJson]
    count: int


class TypesShown(BesideTypes):
    volume_types: list[TypeJson]


class TypeShown(TypedDict):
    volume_type: TypeJson


class MadeTypeShown(TypedDict):
    volume_type: MadeTypeJson


class ChangedTypeShown(TypedDict):
    volume_type: ChangedTypeJson


class ExtraSpecsShown(TypedDict):
    extra_specs: dict[str, str]


class TypeAccessJson(TypedDict):
    """A project that may use a type which is not public."""

    volume_type_id: str
    project_id: str


class TypeAccessShown(TypedDict):
    volume_type_access: list[TypeAccessJson]


class LuksJson(TypedDict):
    provider: str
    control_location: str
    cipher: None
    key_size: None


class EncryptionShown(TypedDict, total=False):
    """How volumes of a type are encrypted; empty where they are not."""

    volume_type_id: str
    encryption_id: str
    provider: str
    control_location: str
    cipher: None
    key_size: None


class NewEncryption(LuksJson):
    volume_type_id: str


class NewEncryptionShown(TypedDict):
    encryption: NewEncryption


class FixedLimits(TypedDict):
    per_volume_gigabytes: int
    groups: int


class VolumeLimits(FixedLimits):
    """Each limit; -1 is none."""

    volumes: int
    gigabytes: int
    snapshots: int
    backups: int
    backup_gigabytes: int


class IdentifiedLimits(VolumeLimits):
    """The same with the id of the project or class."""

    id: str


class LimitUse(TypedDict):
    limit: int
    in_use: int
    reserved: int
    allocated: int


class VolumeLimitUses(TypedDict):
    """Each limit with what is used of it."""

    volumes: LimitUse
    gigabytes: LimitUse
    snapshots: LimitUse
    backups: LimitUse
    backup_gigabytes: LimitUse
    per_volume_gigabytes: LimitUse
    groups: LimitUse


class IdentifiedLimitUses(VolumeLimitUses):
    """The same with the id of the project."""

    id: str


class VolumeQuotaShown(TypedDict):
    quota_set: IdentifiedLimits


class VolumeQuotaUseShown(TypedDict):
    quota_set: IdentifiedLimitUses


class ChangedVolumeQuotaShown(TypedDict):
    quota_set: VolumeLimits


class VolumeQuotaClassShown(TypedDict):
    quota_class_set: IdentifiedLimits


class ChangedVolumeQuotaClassShown(TypedDict):
    quota_class_set: VolumeLimits


class AbsoluteVolumeLimits(TypedDict):
    maxTotalVolumes: int
    totalVolumesUsed: int
    maxTotalVolumeGigabytes: int
    totalGigabytesUsed: int
    maxTotalSnapshots: int
    totalSnapshotsUsed: int
    maxTotalBackups: int
    totalBackupsUsed: int
    maxTotalBackupGigabytes: int
    totalBackupGigabytesUsed: int


class LimitsJson(TypedDict):
    """`rate` is empty: there are no limits of how often something is asked."""

    rate: list[str]
    absolute: AbsoluteVolumeLimits


class VolumeLimitsShown(TypedDict):
    limits: LimitsJson


class ZoneState(TypedDict):
    available: bool


class VolumeZoneJson(TypedDict):
    zoneName: str
    zoneState: ZoneState


class VolumeZonesShown(TypedDict):
    availabilityZoneInfo: list[VolumeZoneJson]


class PoolCapabilities(TypedDict):
    pool_name: str
    volume_backend_name: str
    vendor_name: str
    storage_protocol: str
    total_capacity_gb: int
    free_capacity_gb: int
    allocated_capacity_gb: int
    provisioned_capacity_gb: int
    max_over_subscription_ratio: str
    reserved_gb: int
    multiattach: bool
    QoS_support: bool
    backend_state: str
    timestamp: str | None


class StoragePoolJson(TypedDict):
    """A pool; in detail with what it can do."""

    name: str
    capabilities: NotRequired[PoolCapabilities]


class StoragePoolsShown(TypedDict):
    pools: list[StoragePoolJson]


class VolumeServiceJson(TypedDict):
    """That a host works in a pool."""

    binary: str
    host: str
    zone: str
    status: str
    state: str
    updated_at: str | None
    disabled_reason: str | None
    replication_status: str
    active_backend_id: None
    frozen: bool
    cluster: NotRequired[None]
    backend_state: NotRequired[str]


class VolumeServicesShown(TypedDict):
    services: list[VolumeServiceJson]


class VolumeExtensionJson(TypedDict):
    alias: str
    name: str
    description: str
    updated: str
    links: list[LinkJson]


class VolumeExtensionShown(TypedDict):
    extension: VolumeExtensionJson


class VolumeExtensionsShown(TypedDict):
    extensions: list[VolumeExtensionJson]


class ResourceFiltersJson(TypedDict):
    resource: str
    filters: list[str]


class ResourceFiltersShown(TypedDict):
    resource_filters: list[ResourceFiltersJson]
