"""The whole Identity API on one screen: which path and method leads where, and what it needs."""

from controlplane.identity.openstack.access import IdentityAccess
from controlplane.identity.openstack.views import (
    application_credentials,
    grants,
    groups,
    projects,
    roles,
    services,
    tokens,
    users,
    versions,
)
from controlplane.openstack.routes import Endpoint, Route, RouteTable

PROJECTS_READ, PROJECTS_WRITE = IdentityAccess.PROJECTS_READ, IdentityAccess.PROJECTS_WRITE
USERS_READ, USERS_WRITE = IdentityAccess.USERS_READ, IdentityAccess.USERS_WRITE
GROUPS_READ, GROUPS_WRITE = IdentityAccess.GROUPS_READ, IdentityAccess.GROUPS_WRITE
ROLES_READ, ROLES_WRITE = IdentityAccess.ROLES_READ, IdentityAccess.ROLES_WRITE
CREDENTIALS = "/v3/users/{user_id}/application_credentials"
GRANTS = (
    "/v3/projects/{project_id}/users/{user_id}/roles",
    "/v3/projects/{project_id}/groups/{group_id}/roles",
    "/v3/system/users/{user_id}/roles",
    "/v3/system/groups/{group_id}/roles",
)

VERSION = {"GET": Endpoint(versions.version_show, None)}

ROUTES = RouteTable(
    [
        Route("/", {"GET": Endpoint(versions.version_list, None)}),
        Route("/v3", VERSION),
        Route("/v3/", VERSION),
        # Where no access is named, the view judges: one's own token, project or user needs no role.
        Route(
            "/v3/auth/tokens",
            {
                "GET": Endpoint(tokens.token_show, None),
                "HEAD": Endpoint(tokens.token_check, None),
                "POST": Endpoint(tokens.token_create, None, takes=True),
                "DELETE": Endpoint(tokens.token_delete, None),
            },
        ),
        Route("/v3/auth/catalog", {"GET": Endpoint(tokens.catalog_show, None)}),
        Route("/v3/auth/projects", {"GET": Endpoint(tokens.project_choices, None)}),
        Route("/v3/auth/domains", {"GET": Endpoint(tokens.domain_choices, None)}),
        Route("/v3/auth/system", {"GET": Endpoint(tokens.system_choices, None)}),
        Route(
            "/v3/projects",
            {
                "GET": Endpoint(projects.projects_list, PROJECTS_READ),
                "POST": Endpoint(projects.project_add, PROJECTS_WRITE, takes=True),
            },
        ),
        Route(
            "/v3/projects/{project_id}",
            {
                "GET": Endpoint(projects.project_show, None),
                "PATCH": Endpoint(projects.project_change, PROJECTS_WRITE, takes=True),
                "DELETE": Endpoint(projects.project_remove, PROJECTS_WRITE),
            },
        ),
        Route(
            "/v3/users",
            {
                "GET": Endpoint(users.users_list, USERS_READ),
                "POST": Endpoint(users.user_add, USERS_WRITE, takes=True),
            },
        ),
        Route(
            "/v3/users/{user_id}",
            {
                "GET": Endpoint(users.user_show, None),
                "PATCH": Endpoint(users.user_change, USERS_WRITE, takes=True),
                "DELETE": Endpoint(users.user_remove, USERS_WRITE),
            },
        ),
        Route("/v3/users/{user_id}/projects", {"GET": Endpoint(projects.projects_of, None)}),
        Route("/v3/users/{user_id}/password", {"POST": Endpoint(users.password_change, None, takes=True)}),
        Route(
            CREDENTIALS,
            {
                "GET": Endpoint(application_credentials.credentials_list, None),
                "POST": Endpoint(application_credentials.credential_add, None, takes=True),
            },
        ),
        Route(
            CREDENTIALS + "/{credential_id}",
            {
                "GET": Endpoint(application_credentials.credential_show, None),
                "DELETE": Endpoint(application_credentials.credential_remove, None),
            },
        ),
        Route("/v3/users/{user_id}/groups", {"GET": Endpoint(groups.groups_of_user, None)}),
        Route(
            "/v3/groups",
            {
                "GET": Endpoint(groups.groups_list, GROUPS_READ),
                "POST": Endpoint(groups.group_add, GROUPS_WRITE, takes=True),
            },
        ),
        Route(
            "/v3/groups/{group_id}",
            {
                "GET": Endpoint(groups.group_show, GROUPS_READ),
                "PATCH": Endpoint(groups.group_change, GROUPS_WRITE, takes=True),
                "DELETE": Endpoint(groups.group_remove, GROUPS_WRITE),
            },
        ),
        Route("/v3/groups/{group_id}/users", {"GET": Endpoint(groups.members_list, GROUPS_READ)}),
        Route(
            "/v3/groups/{group_id}/users/{user_id}",
            {
                "GET": Endpoint(groups.member_check, GROUPS_READ),
                "HEAD": Endpoint(groups.member_check, GROUPS_READ),
                "PUT": Endpoint(groups.member_add, GROUPS_WRITE),
                "DELETE": Endpoint(groups.member_remove, GROUPS_WRITE),
            },
        ),
        Route(
            "/v3/roles",
            {
                "GET": Endpoint(roles.roles_list, ROLES_READ),
                "POST": Endpoint(roles.role_fixed, ROLES_WRITE),
            },
        ),
        Route("/v3/roles/{role_id}", {"GET": Endpoint(roles.role_show, ROLES_READ)}),
        Route("/v3/role_assignments", {"GET": Endpoint(grants.assignments_list, ROLES_READ)}),
        *(Route(path, {"GET": Endpoint(grants.grants_list, ROLES_READ)}) for path in GRANTS),
        *(
            Route(
                path + "/{role_id}",
                {
                    "GET": Endpoint(grants.grant_check, ROLES_READ),
                    "HEAD": Endpoint(grants.grant_check, ROLES_READ),
                    "PUT": Endpoint(grants.grant_add, ROLES_WRITE),
                    "DELETE": Endpoint(grants.grant_remove, ROLES_WRITE),
                },
            )
            for path in GRANTS
        ),
        Route("/v3/domains", {"GET": Endpoint(roles.domains_list, None)}),
        Route("/v3/domains/{domain_id}", {"GET": Endpoint(roles.domain_show, None)}),
        Route("/v3/regions", {"GET": Endpoint(services.regions_list, None)}),
        Route("/v3/regions/{region_id}", {"GET": Endpoint(services.region_show, None)}),
        Route("/v3/services", {"GET": Endpoint(services.services_list, PROJECTS_READ)}),
        Route("/v3/services/{service_id}", {"GET": Endpoint(services.service_show, PROJECTS_READ)}),
        Route("/v3/endpoints", {"GET": Endpoint(services.endpoints_list, PROJECTS_READ)}),
        Route("/v3/endpoints/{endpoint_id}", {"GET": Endpoint(services.endpoint_show, PROJECTS_READ)}),
    ]
)
