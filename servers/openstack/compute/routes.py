"""The whole Compute API: which path and method leads where, and what it needs. Each table is one screen."""

from controlplane.openstack.routes import Endpoint, Route, RouteTable
from servers.openstack.compute.catalog_routes import CATALOG_ROUTES
from servers.openstack.compute.fleet_routes import FLEET_ROUTES
from servers.openstack.compute.proxy_routes import PROXY_ROUTES
from servers.openstack.compute.server_routes import SERVER_ROUTES
from servers.openstack.compute.views import versions

OLD, CURRENT = {"GET": Endpoint(versions.version_old, None)}, {"GET": Endpoint(versions.version_current, None)}

VERSION_ROUTES = (
    Route("/", {"GET": Endpoint(versions.version_list, None)}),
    Route("/v2", OLD),
    Route("/v2/", OLD),
    Route("/v2.1", CURRENT),
    Route("/v2.1/", CURRENT),
)

ROUTES = RouteTable([*VERSION_ROUTES, *SERVER_ROUTES, *CATALOG_ROUTES, *FLEET_ROUTES, *PROXY_ROUTES])
