"""Hosts under /api/: after `hosts/enrolments`, which is no host's name."""

from rest_framework.routers import SimpleRouter

from servers.api.views.hosts import HostLifeViewSet

router = SimpleRouter()
router.register("hosts", HostLifeViewSet, basename="host")

urlpatterns = router.urls
