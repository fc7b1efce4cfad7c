"""The admin of this app. States are only looked at; flavors, key pairs and networks are edited through services."""

from servers.admin.catalog import FlavorAdmin, ImageAdmin, KeyPairAdmin, NetworkAdmin, ServerGroupAdmin
from servers.admin.instances import InstanceAdmin
from servers.admin.pipeline import InstanceActionAdmin

__all__ = [
    "FlavorAdmin",
    "ImageAdmin",
    "InstanceActionAdmin",
    "InstanceAdmin",
    "KeyPairAdmin",
    "NetworkAdmin",
    "ServerGroupAdmin",
]
