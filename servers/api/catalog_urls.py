"""The catalog under /api/: flavors, images, key pairs, server groups, networks, quota."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from servers.api.views.flavors import FlavorViewSet
from servers.api.views.images import ImageViewSet
from servers.api.views.keypairs import KeyPairViewSet
from servers.api.views.networks import NetworkViewSet
from servers.api.views.quota import QuotaView
from servers.api.views.server_groups import ServerGroupViewSet

router = SimpleRouter()
router.register("flavors", FlavorViewSet, basename="flavor")
router.register("images", ImageViewSet, basename="image")
router.register("keypairs", KeyPairViewSet, basename="keypair")
router.register("server-groups", ServerGroupViewSet, basename="server-group")
router.register("networks", NetworkViewSet, basename="network")

urlpatterns = [*router.urls, path("quota/", QuotaView.as_view(), name="quota")]
