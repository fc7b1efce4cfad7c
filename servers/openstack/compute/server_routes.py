"""The routes of servers and of what belongs to one."""

from controlplane.openstack.routes import Endpoint, Route
from servers.openstack.compute.access import ComputeAccess
from servers.openstack.compute.views import (
    instance_actions,
    migrations,
    server_actions,
    server_metadata,
    server_parts,
    servers,
)

READ, UPDATE = ComputeAccess.SERVERS_READ, ComputeAccess.SERVERS_UPDATE
CREATE, DELETE = ComputeAccess.SERVERS_CREATE, ComputeAccess.SERVERS_DELETE
SERVER = "/v2.1/servers/{server_id}"
TAGS_SINCE, CONSOLES_SINCE, SHARES_SINCE = 26, 6, 97
MIGRATIONS_SINCE, FORCED_SINCE, ABORTED_SINCE = 23, 22, 24

SERVER_ROUTES = (
    Route(
        "/v2.1/servers",
        {"GET": Endpoint(servers.servers_list, READ), "POST": Endpoint(servers.server_create, CREATE, takes=True)},
    ),
    Route("/v2.1/servers/detail", {"GET": Endpoint(servers.servers_detail, READ)}),
    Route(
        SERVER,
        {
            "GET": Endpoint(servers.server_show, READ),
            "PUT": Endpoint(servers.server_update, UPDATE, takes=True),
            "DELETE": Endpoint(servers.server_delete, DELETE),
        },
    ),
    # What an action needs stands in its own table.
    Route(SERVER + "/action", {"POST": Endpoint(server_actions.server_act, READ, takes=True)}),
    Route(
        SERVER + "/metadata",
        {
            "GET": Endpoint(server_metadata.metadata_show, READ),
            "POST": Endpoint(server_metadata.metadata_merge, UPDATE, takes=True),
            "PUT": Endpoint(server_metadata.metadata_replace, UPDATE, takes=True),
        },
    ),
    Route(
        SERVER + "/metadata/{key}",
        {
            "GET": Endpoint(server_metadata.metadata_item_show, READ),
            "PUT": Endpoint(server_metadata.metadata_item_put, UPDATE, takes=True),
            "DELETE": Endpoint(server_metadata.metadata_item_remove, UPDATE),
        },
    ),
    Route(
        SERVER + "/tags",
        {
            "GET": Endpoint(server_metadata.tags_list, READ, since=TAGS_SINCE),
            "PUT": Endpoint(server_metadata.tags_replace, UPDATE, since=TAGS_SINCE, takes=True),
            "DELETE": Endpoint(server_metadata.tags_clear, UPDATE, since=TAGS_SINCE),
        },
    ),
    Route(
        SERVER + "/tags/{tag}",
        {
            "GET": Endpoint(server_metadata.tag_check, READ, since=TAGS_SINCE),
            "PUT": Endpoint(server_metadata.tag_put, UPDATE, since=TAGS_SINCE),
            "DELETE": Endpoint(server_metadata.tag_delete, UPDATE, since=TAGS_SINCE),
        },
    ),
    Route(SERVER + "/ips", {"GET": Endpoint(server_parts.addresses_list, READ)}),
    Route(SERVER + "/ips/{network}", {"GET": Endpoint(server_parts.addresses_of_network, READ)}),
    Route(SERVER + "/diagnostics", {"GET": Endpoint(server_parts.diagnostics_show, ComputeAccess.DIAGNOSTICS)}),
    Route(
        SERVER + "/os-server-password",
        {
            "GET": Endpoint(server_parts.password_show, ComputeAccess.GUEST_PASSWORD),
            "DELETE": Endpoint(server_parts.password_clear, ComputeAccess.GUEST_PASSWORD_CLEAR),
        },
    ),
    Route(
        SERVER + "/os-security-groups",
        {"GET": Endpoint(server_parts.security_groups_list, ComputeAccess.SECURITY_GROUPS_READ)},
    ),
    Route(
        SERVER + "/remote-consoles",
        {"POST": Endpoint(server_parts.console_create, ComputeAccess.CONSOLE, since=CONSOLES_SINCE, takes=True)},
    ),
    Route(
        SERVER + "/shares",
        {
            "GET": Endpoint(server_parts.shares_list, READ, since=SHARES_SINCE),
            "POST": Endpoint(server_parts.share_attach, ComputeAccess.SERVERS_ACT, since=SHARES_SINCE, takes=True),
        },
    ),
    Route(
        SERVER + "/shares/{share_id}",
        {
            "GET": Endpoint(server_parts.share_absent, READ, since=SHARES_SINCE),
            "DELETE": Endpoint(server_parts.share_absent, ComputeAccess.SERVERS_ACT, since=SHARES_SINCE),
        },
    ),
    Route(SERVER + "/os-instance-actions", {"GET": Endpoint(instance_actions.actions_list, READ)}),
    Route(SERVER + "/os-instance-actions/{request_id}", {"GET": Endpoint(instance_actions.action_show, READ)}),
    Route(
        SERVER + "/migrations",
        {"GET": Endpoint(migrations.server_migrations_list, ComputeAccess.MIGRATIONS_READ, since=MIGRATIONS_SINCE)},
    ),
    Route(
        SERVER + "/migrations/{migration_id}",
        {
            "GET": Endpoint(migrations.server_migration_absent, ComputeAccess.ALL_SERVERS_READ, since=MIGRATIONS_SINCE),
            "DELETE": Endpoint(migrations.server_migration_absent, ComputeAccess.SERVERS_MIGRATE, since=ABORTED_SINCE),
        },
    ),
    Route(
        SERVER + "/migrations/{migration_id}/action",
        {
            "POST": Endpoint(
                migrations.server_migration_act, ComputeAccess.SERVERS_MIGRATE, since=FORCED_SINCE, takes=True
            )
        },
    ),
)
