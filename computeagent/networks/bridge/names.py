"""Names of what is made here. By them it is known as ours, so that what no document names any more can be removed.

A name is a prefix and the first 12 hexadecimal digits of the id: interfaces have names of at most 15 characters.
"""

import re

from computeagent.networks.base import TAP_PREFIX

BRIDGE_PREFIX = "knb"
VXLAN_PREFIX = "knx"
SERVICE_PREFIX = "kns"
"""The end, in a network's bridge, of the link to its service namespace."""
ROUTER_PREFIX = "knr"
"""The end, in a network's bridge, of a router's leg."""
UPLINK_PREFIX = "knu"
"""The end, in our bridge, of the link to a physical network's bridge."""
PHYSICAL_PREFIX = "knp"
"""Its other end, in the physical network's bridge."""
LEG_PREFIX = "leg"
"""A router's leg, in the router's namespace."""
SERVICE_LINK = "guests"
"""The link to the guests, in a service namespace."""

TABLE = "kilonova"
"""Our tables in nftables, of each family that we need."""

METADATA_ADDRESS = "169.254.169.254"
SERVICE_MAC = "0e:6b:6e:a9:fe:fe"
"""Of every service namespace: none is ever seen outside the bridge that it serves."""

_OURS = re.compile(f"(kn[bxsrup]|{TAP_PREFIX})[0-9a-f]{{12}}")


def device_name(prefix: str, identifier: str) -> str:
    """The interface of this kind for the thing with this id."""
    return prefix + identifier.replace("-", "")[:12]


def is_ours(name: str) -> bool:
    """Whether the interface can only have been made here."""
    return _OURS.fullmatch(name) is not None


def service_namespace(namespace_prefix: str, network_id: str) -> str:
    """Where a network's guests of this host are served: DHCP and metadata."""
    return f"{namespace_prefix}-net-{network_id.replace('-', '')[:12]}"


def router_namespace(namespace_prefix: str, router_id: str) -> str:
    """Where a router is."""
    return f"{namespace_prefix}-router-{router_id.replace('-', '')[:12]}"


def own_namespaces(namespace_prefix: str) -> re.Pattern[str]:
    """Matches the names of all of them."""
    return re.compile(re.escape(namespace_prefix) + "-(net|router)-[0-9a-f]{12}")
