"""The catalog under /api/: flavors, images, key pairs, server groups, networks, quota."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from servers.api.views.flavors import FlavorViewSet
from servers.api.views.images import FILE_RENDERERS, ImageViewSet
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

# `curl -T disk.qcow2 .../file/` would add the file's name to an address that ends in a slash: without it, it works.
image_file = ImageViewSet.as_view({"put": "file", "get": "download"}, renderer_classes=FILE_RENDERERS, schema=None)

urlpatterns = [
    *router.urls,
    path("images/<str:pk>/file", image_file, name="image-file-for-curl"),
    path("quota/", QuotaView.as_view(), name="quota"),
]
