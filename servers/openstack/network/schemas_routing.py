"""What bodies of the Network API may say of routers, floating addresses, security groups and quotas."""

from controlplane.openstack.schemas import CompiledSchema
from servers.fields import INTEGER_MAX
from servers.openstack.network.schemas import (
    ADDRESS,
    FLAG,
    ID,
    MAYBE_ID,
    NAME,
    NOTHING,
    ONLY_NULL,
    OWNER,
    ROUTES,
    WHOLE_NUMBER,
    change_schema,
    closed,
    create_schemas,
)

_GATEWAY = {
    "anyOf": [
        {"type": "null"},
        {"type": "object", "maxProperties": 0},
        closed(
            ["network_id"],
            network_id=ID,
            enable_snat=FLAG,
            external_fixed_ips={
                "type": "array",
                "items": closed(["ip_address"], ip_address=ADDRESS, subnet_id=ID),
                "maxItems": 1,
            },
        ),
    ]
}
_ROUTER = {"name": NAME, "description": NAME, "admin_state_up": FLAG, "external_gateway_info": _GATEWAY}
ROUTER_CHANGE = change_schema("router", {**_ROUTER, "routes": {"anyOf": [ROUTES, {"type": "null"}]}})
"""No routes are said by null too."""
ROUTER_CREATE = create_schemas(
    "router",
    "routers",
    [],
    {**_ROUTER, **OWNER, "availability_zone_hints": NOTHING, "flavor_id": ONLY_NULL, "ha": {"const": False}},
)
EXTRA_ROUTES = CompiledSchema(closed(["router"], router=closed(["routes"], routes=ROUTES)))
ROUTER_INTERFACE = CompiledSchema(closed([], subnet_id=ID, port_id=ID))

_MAYBE_ADDRESS = {"type": ["string", "null"], "maxLength": 64}
_FLOATING = {"port_id": MAYBE_ID, "fixed_ip_address": _MAYBE_ADDRESS, "description": NAME}
FLOATING_IP_CHANGE = change_schema("floatingip", _FLOATING)
FLOATING_IP_CREATE = create_schemas(
    "floatingip",
    "floatingips",
    ["floating_network_id"],
    {
        **_FLOATING,
        **OWNER,
        "floating_network_id": ID,
        "floating_ip_address": _MAYBE_ADDRESS,
        "dns_domain": NOTHING,
        "dns_name": NOTHING,
        "qos_policy_id": ONLY_NULL,
        "subnet_id": ONLY_NULL,
    },
)

_GROUP = {"name": NAME, "description": NAME, "stateful": {"const": True}}
GROUP_CHANGE = change_schema("security_group", _GROUP)
GROUP_CREATE = create_schemas("security_group", "security_groups", ["name"], {**_GROUP, **OWNER})
_MAYBE_NUMBER = {"anyOf": [WHOLE_NUMBER, {"type": "null"}]}
RULE_CREATE = create_schemas(
    "security_group_rule",
    "security_group_rules",
    ["security_group_id", "direction"],
    {
        **OWNER,
        "security_group_id": ID,
        "direction": {"enum": ["ingress", "egress"]},
        "ethertype": {"enum": ["IPv4", "IPv6", None]},
        "protocol": {"type": ["string", "integer", "null"], "maxLength": 40},
        "port_range_min": _MAYBE_NUMBER,
        "port_range_max": _MAYBE_NUMBER,
        "remote_ip_prefix": _MAYBE_ADDRESS,
        "remote_group_id": {"type": ["string", "null"], "maxLength": 64},
        "remote_address_group_id": ONLY_NULL,
        "description": NAME,
    },
)

QUOTAS = {
    "floatingip": "floating_ips",
    "network": "networks",
    "port": "ports",
    "router": "routers",
    "security_group": "security_groups",
    "security_group_rule": "security_group_rules",
    "subnet": "subnets",
}
"""How we call the limits that Neutron calls so."""
_LIMIT = {"type": "integer", "minimum": -1, "maximum": INTEGER_MAX}
QUOTA_CHANGE = change_schema("quota", {**dict.fromkeys(QUOTAS, _LIMIT), "check_limit": FLAG, "force": FLAG})
