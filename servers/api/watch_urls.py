"""What watches over instances and hosts, under /api/: drift, and the record of heals."""

from rest_framework.routers import SimpleRouter

from servers.api.views.drift import DriftViewSet, HealViewSet

router = SimpleRouter()
router.register("drift", DriftViewSet, basename="drift")
router.register("heals", HealViewSet, basename="heal")

urlpatterns = router.urls
