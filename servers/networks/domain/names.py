"""What rows of networks say in single words."""

from enum import StrEnum


class PortOwner(StrEnum):
    """What a port is for (Neutron's `device_owner`). Nobody's: made for an instance that is yet to come."""

    NOBODY = ""
    INSTANCE = "compute:nova"
    ROUTER_INTERFACE = "network:router_interface"
    ROUTER_GATEWAY = "network:router_gateway"
    FLOATING_IP = "network:floatingip"


class VnicType(StrEnum):
    """How a port reaches its guest: a tap of its host's, or a device of its host's own."""

    NORMAL = "normal"
    DIRECT = "direct"
    DIRECT_PHYSICAL = "direct-physical"
    MACVTAP = "macvtap"


class FloatingStatus(StrEnum):
    """DOWN: it stands for no port. ACTIVE: its router has it. ERROR: its router's host could not do it."""

    DOWN = "DOWN"
    BUILD = "BUILD"
    ACTIVE = "ACTIVE"
    ERROR = "ERROR"


class OvnSubject(StrEnum):
    """What OVN is told of at once. ALL: everything is compared."""

    NETWORK = "network"
    PORT = "port"
    GROUP = "group"
    ROUTER = "router"
    ALL = "all"
