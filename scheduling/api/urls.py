"""Routes below /api/."""

from rest_framework.routers import DefaultRouter

from scheduling.api.views.aggregates import AggregateViewSet
from scheduling.api.views.decisions import DecisionViewSet
from scheduling.api.views.fleet import (
    CellViewSet,
    ComputeNodeViewSet,
    HostMappingViewSet,
    HostVersionsViewSet,
    ServiceViewSet,
    ZoneViewSet,
)
from scheduling.api.views.policies import PolicyViewSet

router = DefaultRouter()
router.include_root_view = False
router.include_format_suffixes = False
router.register("cells", CellViewSet, basename="cell")
router.register("host-mappings", HostMappingViewSet, basename="host-mapping")
router.register("services", ServiceViewSet, basename="service")
router.register("compute-nodes", ComputeNodeViewSet, basename="compute-node")
router.register("host-versions", HostVersionsViewSet, basename="host-version")
router.register("aggregates", AggregateViewSet, basename="aggregate")
router.register("availability-zones", ZoneViewSet, basename="availability-zone")
router.register("decisions", DecisionViewSet, basename="decision")
router.register("policies", PolicyViewSet, basename="policy")

urlpatterns = router.urls
