"""Which door leads where. Composition only."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path, re_path

from controlplane.dashboard.api_docs import ApiDocs
from controlplane.infra.api.no_such_route import no_such_route
from controlplane.infra.api.schema import CachedSchema
from placement.openstack.dispatcher import serve as placement_door
from servers.agent_door.views import serve as agent_door

api: list[URLPattern | URLResolver] = [
    path("", include("controlplane.identity.api.urls")),
    path("", include("placement.api.urls")),
    path("", include("servers.api.urls")),
    path("", include("scheduling.api.urls")),
    path("", include("controlplane.notifications.api.urls")),
    path("schema/", CachedSchema.as_view(), name="api-schema"),
    path("docs/", ApiDocs.as_view(url_name="api-schema"), name="api-docs"),
    # Last. Without its closing slash a path is first sent to the one that has it.
    re_path(r"^(?:.*/)?$", no_such_route, name="api-no-such-route"),
]

urlpatterns = [
    path("", include("controlplane.dashboard.urls")),
    path("api/", include(api)),
    path("admin/", admin.site.urls),
    path("agent/v1/<path:verb>", agent_door, name="agent-door"),
    re_path(r"^placement(?:/.*)?$", placement_door, name="placement"),
]
