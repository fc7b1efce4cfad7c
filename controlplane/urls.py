"""Which door leads where. Composition only."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path, re_path

from controlplane.dashboard.api_docs import ApiDocs
from controlplane.dashboard.session.views import AdminSignIn
from controlplane.dashboard.settings_page.api import SettingsView
from controlplane.identity.openstack.dispatcher import serve as identity_door
from controlplane.infra.api.no_such_route import no_such_route
from controlplane.infra.api.schema import CachedSchema
from placement.openstack.dispatcher import serve as placement_door
from servers.agent_door.views import serve as agent_door
from servers.openstack.compute.dispatcher import serve as compute_door
from servers.openstack.image.dispatcher import serve as image_door
from servers.openstack.network.dispatcher import serve as network_door
from servers.openstack.volume.dispatcher import serve as volume_door

api: list[URLPattern | URLResolver] = [
    path("", include("servers.api.urls")),
    path("", include("controlplane.identity.api.urls")),
    path("", include("placement.api.urls")),
    path("", include("scheduling.api.urls")),
    path("", include("controlplane.notifications.api.urls")),
    path("settings/", SettingsView.as_view(), name="settings-api"),
    path("schema/", CachedSchema.as_view(), name="api-schema"),
    path("docs/", ApiDocs.as_view(url_name="api-schema"), name="api-docs"),
    # Last. Paths without the slash at their end come here with it (infra.api.closing_slash).
    re_path(r"^(?:[\s\S]*/)?$", no_such_route, name="api-no-such-route"),
]

# Whatever characters stand in it: a door answers in its own shape also where there is no such thing.
BELOW = r"(?:/[\s\S]*)?$"

# The doors before the pages: none shares its first word with a page, and each has far fewer routes to try.
urlpatterns = [
    path("api/", include(api)),
    # Before the admin's own, which would know nothing of a second factor.
    path("admin/login/", AdminSignIn.as_view(), name="admin-login"),
    path("admin/", admin.site.urls),
    path("agent/v1/<path:verb>", agent_door, name="agent-door"),
    re_path(rf"^compute{BELOW}", compute_door, name="compute"),
    re_path(rf"^identity{BELOW}", identity_door, name="identity"),
    re_path(rf"^image{BELOW}", image_door, name="image"),
    re_path(rf"^placement{BELOW}", placement_door, name="placement"),
    re_path(rf"^network{BELOW}", network_door, name="network"),
    re_path(rf"^volume{BELOW}", volume_door, name="volume"),
    path("", include("controlplane.dashboard.urls")),
]
