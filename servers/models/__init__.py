"""Rows of what users own. Other apps reach them through selectors and services only.

API scope: flavors, images, key pairs, groups, networks and ports, volumes, request specs, build requests, mappings,
quota locks.
Cell scope: instances and what carries an `instance_uuid`, but for ports. No foreign key crosses the two.
"""

from servers.models.agent_credential import AgentCredential, AgentEnrolment
from servers.models.attempt import AttemptRecord
from servers.models.block_device_mapping import BlockDeviceMapping
from servers.models.build_request import BuildRequest
from servers.models.bulk_job import BulkJob, BulkJobItem
from servers.models.console_log import ConsoleLog
from servers.models.console_session import ConsoleSession
from servers.models.device_profile import DeviceProfile
from servers.models.drift import DriftCheck, DriftSighting, OrphanGuest, PoolSighting
from servers.models.first_boot import FirstBootData
from servers.models.flavor import Flavor, FlavorAccess
from servers.models.guest_counter_chunk import GuestCounterChunk
from servers.models.guest_password import GuestPassword
from servers.models.host_image import ImageCacheRequest, ImageOnHost
from servers.models.host_networks import HostNetworkState
from servers.models.image import Image
from servers.models.image_certificate import ImageCertificate
from servers.models.image_member import ImageMember
from servers.models.image_store import ImageStore
from servers.models.image_tag import ImageTag
from servers.models.image_task import ImageTask
from servers.models.instance import Instance, InstanceTag
from servers.models.instance_action import InstanceAction, InstanceActionEvent
from servers.models.instance_fault import InstanceFault
from servers.models.instance_mapping import InstanceMapping
from servers.models.keypair import KeyPair
from servers.models.network import Network, Subnet
from servers.models.ovn import OvnChange, OvnCheck
from servers.models.port import IPAllocation, Port, PortGroup
from servers.models.quota import ProjectQuotaLock
from servers.models.request_spec import RequestSpec
from servers.models.router import FloatingIP, Router
from servers.models.screenshot import Screenshot
from servers.models.security_group import SecurityGroup, SecurityGroupRule
from servers.models.server_group import ServerGroup, ServerGroupMember
from servers.models.storage_pool import StoragePool, StoragePoolHost
from servers.models.volume import Volume, VolumeAttachment, VolumeBackup, VolumeKey, VolumeSnapshot, VolumeTransfer
from servers.models.volume_type import VolumeType, VolumeTypeAccess
from servers.models.waiting_action import WaitingAction
from servers.models.work_secret import WorkSecret

__all__ = [
    "AgentCredential",
    "AgentEnrolment",
    "AttemptRecord",
    "BlockDeviceMapping",
    "BuildRequest",
    "BulkJob",
    "BulkJobItem",
    "ConsoleLog",
    "ConsoleSession",
    "DeviceProfile",
    "DriftCheck",
    "DriftSighting",
    "FirstBootData",
    "Flavor",
    "FlavorAccess",
    "FloatingIP",
    "GuestCounterChunk",
    "GuestPassword",
    "HostNetworkState",
    "IPAllocation",
    "Image",
    "ImageCacheRequest",
    "ImageCertificate",
    "ImageMember",
    "ImageOnHost",
    "ImageStore",
    "ImageTag",
    "ImageTask",
    "Instance",
    "InstanceAction",
    "InstanceActionEvent",
    "InstanceFault",
    "InstanceMapping",
    "InstanceTag",
    "KeyPair",
    "Network",
    "OrphanGuest",
    "OvnChange",
    "OvnCheck",
    "PoolSighting",
    "Port",
    "PortGroup",
    "ProjectQuotaLock",
    "RequestSpec",
    "Router",
    "Screenshot",
    "SecurityGroup",
    "SecurityGroupRule",
    "ServerGroup",
    "ServerGroupMember",
    "StoragePool",
    "StoragePoolHost",
    "Subnet",
    "Volume",
    "VolumeAttachment",
    "VolumeBackup",
    "VolumeKey",
    "VolumeSnapshot",
    "VolumeTransfer",
    "VolumeType",
    "VolumeTypeAccess",
    "WaitingAction",
    "WorkSecret",
]
