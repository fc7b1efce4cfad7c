"""The admin of this app. States are read-only; flavors, key pairs and networks are edited through services."""

from placement.selectors.inventory_effect import effect_notes_register
from servers.admin.agents import AgentCredentialAdmin, AgentEnrolmentAdmin
from servers.admin.catalog import FlavorAdmin, ImageAdmin, KeyPairAdmin, NetworkAdmin, ServerGroupAdmin
from servers.admin.drift import DriftSightingAdmin, OrphanGuestAdmin
from servers.admin.hosts import CellLifeAdmin, ComputeNodeLifeAdmin, ServiceLifeAdmin
from servers.admin.instances import InstanceAdmin
from servers.admin.pipeline import InstanceActionAdmin
from servers.catalog.selectors.flavor_fit import effect_notes

__all__ = [
    "AgentCredentialAdmin",
    "AgentEnrolmentAdmin",
    "CellLifeAdmin",
    "ComputeNodeLifeAdmin",
    "DriftSightingAdmin",
    "FlavorAdmin",
    "ImageAdmin",
    "InstanceActionAdmin",
    "InstanceAdmin",
    "KeyPairAdmin",
    "NetworkAdmin",
    "OrphanGuestAdmin",
    "ServerGroupAdmin",
    "ServiceLifeAdmin",
]

# Placement's admin shows the effect of a change before saving; what it means for flavors is known here.
effect_notes_register("flavors", effect_notes)
