"""Rows of what users own. Other apps reach them through selectors and services only.

API scope: flavors, images, key pairs, groups, networks, request specs, build requests, mappings, quota locks.
Cell scope: instances and everything that carries an `instance_uuid`. No foreign key crosses the two.
"""

from servers.models.agent_credential import AgentCredential, AgentEnrolment
from servers.models.attempt import AttemptRecord
from servers.models.build_request import BuildRequest
from servers.models.console_log import ConsoleLog
from servers.models.drift import DriftCheck, DriftSighting, OrphanGuest
from servers.models.flavor import Flavor
from servers.models.guest_counter_chunk import GuestCounterChunk
from servers.models.image import Image
from servers.models.image_store import ImageStore
from servers.models.instance import Instance, InstanceTag
from servers.models.instance_action import InstanceAction, InstanceActionEvent
from servers.models.instance_fault import InstanceFault
from servers.models.instance_mapping import InstanceMapping
from servers.models.keypair import KeyPair
from servers.models.network import Network, Port
from servers.models.quota import ProjectQuotaLock
from servers.models.request_spec import RequestSpec
from servers.models.server_group import ServerGroup, ServerGroupMember

__all__ = [
    "AgentCredential",
    "AgentEnrolment",
    "AttemptRecord",
    "BuildRequest",
    "ConsoleLog",
    "DriftCheck",
    "DriftSighting",
    "Flavor",
    "GuestCounterChunk",
    "Image",
    "ImageStore",
    "Instance",
    "InstanceAction",
    "InstanceActionEvent",
    "InstanceFault",
    "InstanceMapping",
    "InstanceTag",
    "KeyPair",
    "Network",
    "OrphanGuest",
    "Port",
    "ProjectQuotaLock",
    "RequestSpec",
    "ServerGroup",
    "ServerGroupMember",
]
