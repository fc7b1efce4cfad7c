"""Hosts under /api/: after `hosts/enrolments`, which is no host's name; their map, and image caches of aggregates."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from servers.api.views.aggregate_images import AggregateImagesViewSet
from servers.api.views.aggregate_trial import AggregateChangeEffectView, AggregateEffectView, AggregateSaveView
from servers.api.views.host_map import FleetMapView
from servers.api.views.hosts import HostLifeViewSet

router = SimpleRouter()
router.register("hosts", HostLifeViewSet, basename="host")

urlpatterns = [
    *router.urls,
    path("fleet-map/", FleetMapView.as_view(), name="fleet-map"),
    path(
        "aggregates/<str:pk>/images/",
        AggregateImagesViewSet.as_view({"get": "list", "post": "create"}),
        name="aggregate-images",
    ),
    path("aggregates/effect/", AggregateEffectView.as_view(), name="new-aggregate-effect"),
    path("aggregates/<str:pk>/effect/", AggregateChangeEffectView.as_view(), name="aggregate-effect"),
    path("aggregates/<str:pk>/save/", AggregateSaveView.as_view(), name="aggregate-save"),
]
