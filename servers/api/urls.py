"""Everything of this app under /api/."""

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from servers.api.views.bulk_jobs import BulkJobViewSet
from servers.api.views.instances import InstanceViewSet
from servers.api.views.records import (
    ActionViewSet,
    BuildRequestViewSet,
    FaultViewSet,
    InstanceMappingViewSet,
    RequestSpecViewSet,
)
from servers.api.views.search import SearchView
from servers.api.views.work import WorkViewSet

router = SimpleRouter()
router.register("instances", InstanceViewSet, basename="instance")
router.register("instance-actions", ActionViewSet, basename="instance-action")
router.register("instance-faults", FaultViewSet, basename="instance-fault")
router.register("instance-mappings", InstanceMappingViewSet, basename="instance-mapping")
router.register("build-requests", BuildRequestViewSet, basename="build-request")
router.register("request-specs", RequestSpecViewSet, basename="request-spec")
router.register("bulk-jobs", BulkJobViewSet, basename="bulk-job")
router.register("work", WorkViewSet, basename="work")

urlpatterns = [
    *router.urls,
    path("search/", SearchView.as_view(), name="search-api"),
    path("", include("servers.api.catalog_urls")),
    path("", include("servers.api.schedule_urls")),
    path("", include("servers.api.watch_urls")),
    path("", include("servers.api.host_urls")),
    path("", include("servers.api.routing_urls")),
    path("", include("servers.api.volume_urls")),
]
