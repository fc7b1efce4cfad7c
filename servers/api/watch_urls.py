"""What watches over instances and hosts, under /api/: drift, the record of heals, agents."""

from rest_framework.routers import SimpleRouter

from servers.api.views.agents import AgentViewSet, EnrolmentViewSet
from servers.api.views.drift import DriftViewSet, HealViewSet

router = SimpleRouter()
router.register("drift", DriftViewSet, basename="drift")
router.register("heals", HealViewSet, basename="heal")
router.register("agents", AgentViewSet, basename="agent")
router.register("hosts/enrolments", EnrolmentViewSet, basename="enrolment")

urlpatterns = router.urls
