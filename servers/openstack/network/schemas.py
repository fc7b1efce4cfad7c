"""What bodies of the Network API may say of networks, subnets and ports, and how all its schemas are made.

They are closed: what nothing here honours is refused by its name. `null`, an empty list or a word as the only value
that is accepted means that this is what is done anyway.
"""

from typing import Any

from computeagent.protocol.networks import Ipv6Mode
from controlplane.openstack.schemas import CompiledSchema
from servers.openstack.network.call import CreateSchemas

Schema = dict[str, Any]
MAX_AT_ONCE = 1000
NAME = {"type": "string", "maxLength": 255}
ID = {"type": "string", "format": "uuid"}
MAYBE_ID = {"type": ["string", "null"], "format": "uuid"}
PROJECT = {"type": ["string", "null"], "maxLength": 64}
FLAG = {"type": "boolean"}
ADDRESS = {"type": "string", "maxLength": 64}
ONLY_NULL = {"type": "null"}
NOTHING = {"maxLength": 0, "maxItems": 0, "maxProperties": 0, "type": ["string", "array", "object", "null"]}
WHOLE_NUMBER = {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^[0-9]{1,9}$"}]}
TAGS = CompiledSchema(
    {
        "type": "object",
        "properties": {"tags": {"type": "array", "items": {"type": "string"}}},
        "required": ["tags"],
        "additionalProperties": False,
    }
)
OWNER = {"project_id": PROJECT, "tenant_id": PROJECT}


def closed(required: list[str], **properties: Schema) -> Schema:
    """An object of these properties and no others."""
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def change_schema(name: str, properties: Schema) -> CompiledSchema:
    """A body that changes some of these properties of one thing."""
    return CompiledSchema(closed([name], **{name: closed([], **properties)}))


def create_schemas(name: str, plural: str, required: list[str], properties: Schema) -> CreateSchemas:
    """Bodies that make one thing or several."""
    thing = closed(required, **properties)
    several = {"type": "array", "items": thing, "minItems": 1, "maxItems": MAX_AT_ONCE}
    return CreateSchemas(
        name,
        plural,
        CompiledSchema(closed([name], **{name: thing})),
        CompiledSchema(closed([plural], **{plural: several})),
    )


_NETWORK = {
    "name": NAME,
    "description": NAME,
    "admin_state_up": FLAG,
    "shared": FLAG,
    "router:external": FLAG,
    "port_security_enabled": FLAG,
    "mtu": WHOLE_NUMBER,
}
NETWORK_CHANGE = change_schema("network", _NETWORK)
NETWORK_CREATE = create_schemas(
    "network",
    "networks",
    [],
    {
        **_NETWORK,
        **OWNER,
        "provider:network_type": {"enum": ["vxlan", "geneve", "flat"]},
        "provider:physical_network": {"type": ["string", "null"], "maxLength": 64},
        "provider:segmentation_id": ONLY_NULL,
        "availability_zone_hints": NOTHING,
        "dns_domain": NOTHING,
        "is_default": {"const": False},
        "qos_policy_id": ONLY_NULL,
        "vlan_transparent": {"enum": [None, False]},
    },
)

_POOLS = {
    "type": "array",
    "items": closed(["start", "end"], start=ADDRESS, end=ADDRESS),
    "maxItems": MAX_AT_ONCE,
}
ROUTES = {
    "type": "array",
    "items": closed(["destination", "nexthop"], destination=ADDRESS, nexthop=ADDRESS),
    "maxItems": MAX_AT_ONCE,
}
_SUBNET = {
    "name": NAME,
    "description": NAME,
    "gateway_ip": {"type": ["string", "null"], "maxLength": 64},
    "enable_dhcp": FLAG,
    "allocation_pools": _POOLS,
    "dns_nameservers": {"type": "array", "items": ADDRESS, "maxItems": MAX_AT_ONCE},
    "host_routes": ROUTES,
}
_MODE = {"enum": [None, *(mode.value for mode in Ipv6Mode)]}
SUBNET_CHANGE = change_schema("subnet", _SUBNET)
SUBNET_CREATE = create_schemas(
    "subnet",
    "subnets",
    ["network_id", "cidr"],
    {
        **_SUBNET,
        **OWNER,
        "network_id": ID,
        "cidr": ADDRESS,
        "ip_version": {"enum": [4, 6, "4", "6"]},
        "ipv6_ra_mode": _MODE,
        "ipv6_address_mode": _MODE,
        "segment_id": ONLY_NULL,
        "service_types": NOTHING,
        "subnetpool_id": ONLY_NULL,
        "use_default_subnetpool": {"const": False},
    },
)

_PORT = {
    "name": NAME,
    "description": NAME,
    "admin_state_up": FLAG,
    "mac_address": ADDRESS,
    "fixed_ips": {
        "type": "array",
        "items": closed([], subnet_id=ID, ip_address=ADDRESS),
        "maxItems": MAX_AT_ONCE,
    },
    "security_groups": {"type": "array", "items": ID, "maxItems": MAX_AT_ONCE},
    "allowed_address_pairs": {
        "type": "array",
        "items": closed(["ip_address"], ip_address=ADDRESS, mac_address=ADDRESS),
        "maxItems": MAX_AT_ONCE,
    },
    "port_security_enabled": FLAG,
}
PORT_CHANGE = change_schema("port", _PORT)
PORT_CREATE = create_schemas(
    "port",
    "ports",
    ["network_id"],
    {
        **_PORT,
        **OWNER,
        "network_id": ID,
        "binding:vnic_type": {"enum": ["normal", "direct", "direct-physical", "macvtap"]},
        "binding:host_id": NOTHING,
        "binding:profile": NOTHING,
        "device_id": NOTHING,
        "device_owner": NOTHING,
        "dns_domain": NOTHING,
        "dns_name": NOTHING,
        "extra_dhcp_opts": NOTHING,
        "qos_policy_id": ONLY_NULL,
    },
)
