"""The admin of this app. States are read-only; flavors, key pairs and networks are edited through services."""

from placement.selectors.inventory_effect import effect_notes_register
from servers.admin.agents import AgentCredentialAdmin, AgentEnrolmentAdmin
from servers.admin.bulk_jobs import BulkJobAdmin
from servers.admin.catalog import FlavorAdmin, KeyPairAdmin, ServerGroupAdmin
from servers.admin.consoles import ConsoleSessionAdmin
from servers.admin.drift import DriftSightingAdmin, OrphanGuestAdmin
from servers.admin.host_images import ImageCacheRequestAdmin, ImageOnHostAdmin
from servers.admin.hosts import CellLifeAdmin, ComputeNodeLifeAdmin, ServiceLifeAdmin
from servers.admin.images import ImageAdmin, ImageMemberAdmin, ImageTaskAdmin
from servers.admin.instances import InstanceAdmin
from servers.admin.network_rows import NetworkAdmin, SubnetAdmin
from servers.admin.networks import HostNetworkStateAdmin
from servers.admin.pipeline import InstanceActionAdmin
from servers.admin.ports import PortAdmin
from servers.admin.routing import FloatingIPAdmin, RouterAdmin, SecurityGroupAdmin, SecurityGroupRuleAdmin
from servers.admin.volume_types import StoragePoolAdmin, StoragePoolHostAdmin, VolumeTypeAccessAdmin, VolumeTypeAdmin
from servers.admin.volumes import (
    BlockDeviceMappingAdmin,
    VolumeAdmin,
    VolumeAttachmentAdmin,
    VolumeBackupAdmin,
    VolumeKeyAdmin,
    VolumeSnapshotAdmin,
    VolumeTransferAdmin,
)
from servers.catalog.selectors.flavor_fit import effect_notes

__all__ = [
    "AgentCredentialAdmin",
    "AgentEnrolmentAdmin",
    "BlockDeviceMappingAdmin",
    "BulkJobAdmin",
    "CellLifeAdmin",
    "ComputeNodeLifeAdmin",
    "ConsoleSessionAdmin",
    "DriftSightingAdmin",
    "FlavorAdmin",
    "FloatingIPAdmin",
    "HostNetworkStateAdmin",
    "ImageAdmin",
    "ImageCacheRequestAdmin",
    "ImageMemberAdmin",
    "ImageOnHostAdmin",
    "ImageTaskAdmin",
    "InstanceActionAdmin",
    "InstanceAdmin",
    "KeyPairAdmin",
    "NetworkAdmin",
    "OrphanGuestAdmin",
    "PortAdmin",
    "RouterAdmin",
    "SecurityGroupAdmin",
    "SecurityGroupRuleAdmin",
    "ServerGroupAdmin",
    "ServiceLifeAdmin",
    "StoragePoolAdmin",
    "StoragePoolHostAdmin",
    "SubnetAdmin",
    "VolumeAdmin",
    "VolumeAttachmentAdmin",
    "VolumeBackupAdmin",
    "VolumeKeyAdmin",
    "VolumeSnapshotAdmin",
    "VolumeTransferAdmin",
    "VolumeTypeAccessAdmin",
    "VolumeTypeAdmin",
]

# Placement's admin shows the effect of a change before saving; what it means for flavors is known here.
effect_notes_register("flavors", effect_notes)
