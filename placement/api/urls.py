"""Routes below /api/."""

from rest_framework.routers import SimpleRouter

from placement.api.views.allocations import AllocationViewSet
from placement.api.views.names import ResourceClassViewSet, TraitViewSet
from placement.api.views.providers import ProviderViewSet

router = SimpleRouter()
router.register("resource-providers", ProviderViewSet, basename="resource-provider")
router.register("allocations", AllocationViewSet, basename="allocation")
router.register("resource-classes", ResourceClassViewSet, basename="resource-class")
router.register("traits", TraitViewSet, basename="trait")

urlpatterns = router.urls
