"""The whole Network API on one screen: which path and method leads where, and what it needs."""

from controlplane.openstack.routes import Route, RouteTable, View
from servers.networks.selectors.tags import TaggedKind
from servers.openstack.network.access import NetworkAccess as Access
from servers.openstack.network.call import NetworkEndpoint
from servers.openstack.network.views import (
    agents,
    capacity,
    discovery,
    floating_ips,
    networks,
    ports,
    quotas,
    routers,
    security_groups,
    subnets,
    tags,
)


def _gets(view: View, access: Access | None) -> NetworkEndpoint:
    return NetworkEndpoint(view, access)


def _takes(view: View, access: Access) -> NetworkEndpoint:
    """A method with a body."""
    return NetworkEndpoint(view, access, takes=True)


def _tags(plural: str, views: tags.TagViews, read: Access, write: Access) -> tuple[Route, Route]:
    """The tags of one kind of thing."""
    path = f"/v2.0/{plural}/{{resource_id}}/tags"
    every = {
        "GET": _gets(views.listed, read),
        "PUT": _takes(views.replaced, write),
        "DELETE": _gets(views.cleared, write),
    }
    one = {"GET": _gets(views.checked, read), "PUT": _gets(views.added, write), "DELETE": _gets(views.removed, write)}
    return Route(path, every), Route(path + "/{tag}", one)


NETWORK_TAGS = tags.TagViews(TaggedKind.NETWORK, "NetworkNotFound", "Network")
SUBNET_TAGS = tags.TagViews(TaggedKind.SUBNET, "SubnetNotFound", "Subnet")
PORT_TAGS = tags.TagViews(TaggedKind.PORT, "PortNotFound", "Port")
ROUTER_TAGS = tags.TagViews(TaggedKind.ROUTER, "RouterNotFound", "Router")
FLOATING_IP_TAGS = tags.TagViews(TaggedKind.FLOATING_IP, "FloatingIPNotFound", "Floating IP")
GROUP_TAGS = tags.TagViews(TaggedKind.SECURITY_GROUP, "SecurityGroupNotFound", "Security group")
VERSION = {"GET": _gets(discovery.resource_list, None)}

ROUTES = RouteTable(
    [
        Route("/", {"GET": _gets(discovery.version_list, None)}),
        Route("/v2.0", VERSION),
        Route("/v2.0/", VERSION),
        Route("/v2.0/extensions", {"GET": _gets(discovery.extensions_list, None)}),
        Route("/v2.0/extensions/{alias}", {"GET": _gets(discovery.extension_show, None)}),
        Route(
            "/v2.0/networks",
            {
                "GET": _gets(networks.networks_list, Access.NETWORKS_READ),
                "POST": _takes(networks.network_add, Access.NETWORKS_WRITE),
            },
        ),
        Route(
            "/v2.0/networks/{network_id}",
            {
                "GET": _gets(networks.network_show, Access.NETWORKS_READ),
                "PUT": _takes(networks.network_change, Access.NETWORKS_WRITE),
                "DELETE": _gets(networks.network_remove, Access.NETWORKS_WRITE),
            },
        ),
        Route(
            "/v2.0/subnets",
            {
                "GET": _gets(subnets.subnets_list, Access.NETWORKS_READ),
                "POST": _takes(subnets.subnet_add, Access.NETWORKS_WRITE),
            },
        ),
        Route(
            "/v2.0/subnets/{subnet_id}",
            {
                "GET": _gets(subnets.subnet_show, Access.NETWORKS_READ),
                "PUT": _takes(subnets.subnet_change, Access.NETWORKS_WRITE),
                "DELETE": _gets(subnets.subnet_remove, Access.NETWORKS_WRITE),
            },
        ),
        Route(
            "/v2.0/ports",
            {
                "GET": _gets(ports.ports_list, Access.PORTS_READ),
                "POST": _takes(ports.port_add, Access.PORTS_WRITE),
            },
        ),
        Route(
            "/v2.0/ports/{port_id}",
            {
                "GET": _gets(ports.port_show, Access.PORTS_READ),
                "PUT": _takes(ports.port_change, Access.PORTS_WRITE),
                "DELETE": _gets(ports.port_remove, Access.PORTS_WRITE),
            },
        ),
        Route(
            "/v2.0/routers",
            {
                "GET": _gets(routers.routers_list, Access.ROUTERS_READ),
                "POST": _takes(routers.router_add, Access.ROUTERS_WRITE),
            },
        ),
        Route(
            "/v2.0/routers/{router_id}",
            {
                "GET": _gets(routers.router_show, Access.ROUTERS_READ),
                "PUT": _takes(routers.router_change, Access.ROUTERS_WRITE),
                "DELETE": _gets(routers.router_remove, Access.ROUTERS_WRITE),
            },
        ),
        Route(
            "/v2.0/routers/{router_id}/add_router_interface",
            {"PUT": _takes(routers.interface_add, Access.ROUTERS_WRITE)},
        ),
        Route(
            "/v2.0/routers/{router_id}/remove_router_interface",
            {"PUT": _takes(routers.interface_remove, Access.ROUTERS_WRITE)},
        ),
        Route(
            "/v2.0/routers/{router_id}/add_extraroutes",
            {"PUT": _takes(routers.routes_add, Access.ROUTERS_WRITE)},
        ),
        Route(
            "/v2.0/routers/{router_id}/remove_extraroutes",
            {"PUT": _takes(routers.routes_remove, Access.ROUTERS_WRITE)},
        ),
        Route(
            "/v2.0/floatingips",
            {
                "GET": _gets(floating_ips.floating_ips_list, Access.FLOATING_IPS_READ),
                "POST": _takes(floating_ips.floating_ip_add, Access.FLOATING_IPS_WRITE),
            },
        ),
        Route(
            "/v2.0/floatingips/{floating_ip_id}",
            {
                "GET": _gets(floating_ips.floating_ip_show, Access.FLOATING_IPS_READ),
                "PUT": _takes(floating_ips.floating_ip_change, Access.FLOATING_IPS_WRITE),
                "DELETE": _gets(floating_ips.floating_ip_remove, Access.FLOATING_IPS_WRITE),
            },
        ),
        Route(
            "/v2.0/security-groups",
            {
                "GET": _gets(security_groups.groups_list, Access.GROUPS_READ),
                "POST": _takes(security_groups.group_add, Access.GROUPS_WRITE),
            },
        ),
        Route(
            "/v2.0/security-groups/{group_id}",
            {
                "GET": _gets(security_groups.group_show, Access.GROUPS_READ),
                "PUT": _takes(security_groups.group_change, Access.GROUPS_WRITE),
                "DELETE": _gets(security_groups.group_remove, Access.GROUPS_WRITE),
            },
        ),
        Route(
            "/v2.0/security-group-rules",
            {
                "GET": _gets(security_groups.rules_list, Access.GROUPS_READ),
                "POST": _takes(security_groups.rule_add, Access.GROUPS_WRITE),
            },
        ),
        Route(
            "/v2.0/security-group-rules/{rule_id}",
            {
                "GET": _gets(security_groups.rule_show, Access.GROUPS_READ),
                "DELETE": _gets(security_groups.rule_remove, Access.GROUPS_WRITE),
            },
        ),
        Route("/v2.0/quotas", {"GET": _gets(quotas.quotas_list, Access.PROJECTS_READ)}),
        Route(
            "/v2.0/quotas/{project_id}",
            {
                "GET": _gets(quotas.quota_show, Access.QUOTAS_READ),
                "PUT": _takes(quotas.quota_change, Access.PROJECTS_WRITE),
                "DELETE": _gets(quotas.quota_reset, Access.PROJECTS_WRITE),
            },
        ),
        Route("/v2.0/quotas/{project_id}/default", {"GET": _gets(quotas.quota_default, Access.QUOTAS_READ)}),
        Route("/v2.0/quotas/{project_id}/details", {"GET": _gets(quotas.quota_details, Access.QUOTAS_READ)}),
        Route("/v2.0/quotas/{project_id}/details.json", {"GET": _gets(quotas.quota_details, Access.QUOTAS_READ)}),
        Route("/v2.0/network-ip-availabilities", {"GET": _gets(capacity.availability_list, Access.NETWORKS_READ)}),
        Route(
            "/v2.0/network-ip-availabilities/{network_id}",
            {"GET": _gets(capacity.availability_show, Access.NETWORKS_READ)},
        ),
        Route("/v2.0/availability_zones", {"GET": _gets(capacity.zones_list, Access.ZONES_READ)}),
        *_tags("networks", NETWORK_TAGS, Access.NETWORKS_READ, Access.NETWORKS_WRITE),
        *_tags("subnets", SUBNET_TAGS, Access.NETWORKS_READ, Access.NETWORKS_WRITE),
        *_tags("ports", PORT_TAGS, Access.PORTS_READ, Access.PORTS_WRITE),
        *_tags("routers", ROUTER_TAGS, Access.ROUTERS_READ, Access.ROUTERS_WRITE),
        *_tags("floatingips", FLOATING_IP_TAGS, Access.FLOATING_IPS_READ, Access.FLOATING_IPS_WRITE),
        *_tags("security-groups", GROUP_TAGS, Access.GROUPS_READ, Access.GROUPS_WRITE),
        Route("/v2.0/agents", {"GET": _gets(agents.agents_list, Access.HOSTS_READ)}),
        Route("/v2.0/agents/{agent_id}", {"GET": _gets(agents.agent_show, Access.HOSTS_READ)}),
    ]
)
