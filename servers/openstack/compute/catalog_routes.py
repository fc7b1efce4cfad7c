"""The routes of what projects choose from and have beside servers; and of interfaces and volumes of a server."""

from controlplane.openstack.routes import Endpoint, Route
from servers.openstack.compute.access import ComputeAccess
from servers.openstack.compute.views import (
    extensions,
    flavor_parts,
    flavors,
    interfaces,
    keypairs,
    limits,
    quotas,
    server_groups,
    topology,
    usage,
    volume_attachments,
)

FLAVORS, FLAVORS_WRITE = ComputeAccess.FLAVORS_READ, ComputeAccess.FLAVORS_WRITE
KEYS, KEYS_WRITE = ComputeAccess.KEYPAIRS_READ, ComputeAccess.KEYPAIRS_WRITE
GROUPS, GROUPS_WRITE = ComputeAccess.GROUPS_READ, ComputeAccess.GROUPS_WRITE
QUOTAS, QUOTAS_WRITE = ComputeAccess.QUOTAS_READ, ComputeAccess.QUOTAS_WRITE
SERVER_READ, SERVER_ACT = ComputeAccess.SERVERS_READ, ComputeAccess.SERVERS_ACT
FLAVOR, SERVER = "/v2.1/flavors/{flavor_id}", "/v2.1/servers/{server_id}"
QUOTA = "/v2.1/os-quota-sets/{project_id}"
DESCRIPTIONS_SINCE, TOPOLOGY_SINCE = 55, 78

CATALOG_ROUTES = (
    Route(
        "/v2.1/flavors",
        {
            "GET": Endpoint(flavors.flavors_list, FLAVORS),
            "POST": Endpoint(flavors.flavor_add, FLAVORS_WRITE, takes=True),
        },
    ),
    Route("/v2.1/flavors/detail", {"GET": Endpoint(flavors.flavors_detail, FLAVORS)}),
    Route(
        FLAVOR,
        {
            "GET": Endpoint(flavors.flavor_show, FLAVORS),
            "PUT": Endpoint(flavors.flavor_change, FLAVORS_WRITE, since=DESCRIPTIONS_SINCE, takes=True),
            "DELETE": Endpoint(flavors.flavor_remove, FLAVORS_WRITE),
        },
    ),
    Route(FLAVOR + "/action", {"POST": Endpoint(flavor_parts.access_action, FLAVORS_WRITE, takes=True)}),
    Route(FLAVOR + "/os-flavor-access", {"GET": Endpoint(flavor_parts.access_list, FLAVORS_WRITE)}),
    Route(
        FLAVOR + "/os-extra_specs",
        {
            "GET": Endpoint(flavor_parts.specs_list, FLAVORS),
            "POST": Endpoint(flavor_parts.specs_write, FLAVORS_WRITE, takes=True),
        },
    ),
    Route(
        FLAVOR + "/os-extra_specs/{key}",
        {
            "GET": Endpoint(flavor_parts.spec_show, FLAVORS),
            "PUT": Endpoint(flavor_parts.spec_write, FLAVORS_WRITE, takes=True),
            "DELETE": Endpoint(flavor_parts.spec_remove, FLAVORS_WRITE),
        },
    ),
    Route(
        "/v2.1/os-keypairs",
        {"GET": Endpoint(keypairs.keypairs_list, KEYS), "POST": Endpoint(keypairs.keypair_add, KEYS_WRITE, takes=True)},
    ),
    Route(
        "/v2.1/os-keypairs/{name}",
        {"GET": Endpoint(keypairs.keypair_show, KEYS), "DELETE": Endpoint(keypairs.keypair_remove, KEYS_WRITE)},
    ),
    Route(
        "/v2.1/os-server-groups",
        {
            "GET": Endpoint(server_groups.groups_list, GROUPS),
            "POST": Endpoint(server_groups.group_add, GROUPS_WRITE, takes=True),
        },
    ),
    Route(
        "/v2.1/os-server-groups/{group_id}",
        {
            "GET": Endpoint(server_groups.group_show, GROUPS),
            "DELETE": Endpoint(server_groups.group_remove, GROUPS_WRITE),
        },
    ),
    Route("/v2.1/limits", {"GET": Endpoint(limits.limits_show, QUOTAS)}),
    # Whose quota it is decides who may read it: the views check.
    Route(
        QUOTA,
        {
            "GET": Endpoint(quotas.quota_show, QUOTAS),
            "PUT": Endpoint(quotas.quota_change, QUOTAS_WRITE, takes=True),
            "DELETE": Endpoint(quotas.quota_reset, QUOTAS_WRITE),
        },
    ),
    Route(QUOTA + "/defaults", {"GET": Endpoint(quotas.quota_defaults_show, QUOTAS)}),
    Route(QUOTA + "/detail", {"GET": Endpoint(quotas.quota_detail, QUOTAS)}),
    Route(
        "/v2.1/os-quota-class-sets/{name}",
        {
            "GET": Endpoint(quotas.quota_class_show, ComputeAccess.QUOTA_CLASSES_READ),
            "PUT": Endpoint(quotas.quota_class_change, ComputeAccess.QUOTA_CLASSES_WRITE, takes=True),
        },
    ),
    Route("/v2.1/os-simple-tenant-usage", {"GET": Endpoint(usage.usage_list, ComputeAccess.ALL_SERVERS_READ)}),
    Route("/v2.1/os-simple-tenant-usage/{project_id}", {"GET": Endpoint(usage.usage_show, SERVER_READ)}),
    Route("/v2.1/extensions", {"GET": Endpoint(extensions.extensions_list, SERVER_READ)}),
    Route("/v2.1/extensions/{alias}", {"GET": Endpoint(extensions.extension_show, SERVER_READ)}),
    Route(
        SERVER + "/os-interface",
        {
            "GET": Endpoint(interfaces.interfaces_list, SERVER_READ),
            "POST": Endpoint(interfaces.interface_add, SERVER_ACT, takes=True),
        },
    ),
    Route(
        SERVER + "/os-interface/{port_id}",
        {
            "GET": Endpoint(interfaces.interface_show, SERVER_READ),
            "DELETE": Endpoint(interfaces.interface_remove, SERVER_ACT),
        },
    ),
    Route(
        SERVER + "/os-volume_attachments",
        {
            "GET": Endpoint(volume_attachments.attachments_list, SERVER_READ),
            "POST": Endpoint(volume_attachments.attachment_add, SERVER_ACT, takes=True),
        },
    ),
    Route(
        SERVER + "/os-volume_attachments/{volume_id}",
        {
            "GET": Endpoint(volume_attachments.attachment_show, SERVER_READ),
            "PUT": Endpoint(volume_attachments.attachment_change, SERVER_ACT, takes=True),
            "DELETE": Endpoint(volume_attachments.attachment_remove, SERVER_ACT),
        },
    ),
    Route(SERVER + "/topology", {"GET": Endpoint(topology.topology_show, SERVER_READ, since=TOPOLOGY_SINCE)}),
)
