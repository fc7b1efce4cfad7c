"""The catalog under /api/: flavors, images, key pairs, server groups, networks, subnets, ports, quota."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from servers.api.views.device_profiles import DeviceProfileViewSet
from servers.api.views.flavors import FlavorProjectsView, FlavorProjectView, FlavorViewSet
from servers.api.views.image_catalogue import ImageCatalogueView, ImageCopyView
from servers.api.views.image_certificates import ImageCertificateViewSet
from servers.api.views.image_members import ImageMembersView, ImageMemberView
from servers.api.views.images import ImageViewSet
from servers.api.views.keypairs import KeyPairViewSet
from servers.api.views.networks import NetworkViewSet, SubnetViewSet
from servers.api.views.ports import PortViewSet
from servers.api.views.quota import QuotaClassView, QuotaView, UserQuotaView
from servers.api.views.server_groups import ServerGroupViewSet

router = SimpleRouter()
router.register("flavors", FlavorViewSet, basename="flavor")
router.register("device-profiles", DeviceProfileViewSet, basename="device-profile")
router.register("images", ImageViewSet, basename="image")
router.register("image-certificates", ImageCertificateViewSet, basename="image-certificate")
router.register("keypairs", KeyPairViewSet, basename="keypair")
router.register("server-groups", ServerGroupViewSet, basename="server-group")
router.register("networks", NetworkViewSet, basename="network")
router.register("subnets", SubnetViewSet, basename="subnet")
router.register("ports", PortViewSet, basename="port")

urlpatterns = [
    *router.urls,
    path("flavors/<str:pk>/projects/", FlavorProjectsView.as_view(), name="flavor-projects-api"),
    path("flavors/<str:pk>/projects/<str:project>/", FlavorProjectView.as_view(), name="flavor-project-api"),
    path("images/<str:pk>/members/", ImageMembersView.as_view(), name="image-members"),
    path("images/<str:pk>/members/<str:project>/", ImageMemberView.as_view(), name="image-member"),
    path("image-catalogue/", ImageCatalogueView.as_view(), name="image-catalogue"),
    path("image-catalogue/<str:key>/copy/", ImageCopyView.as_view(), name="image-copy"),
    path("quota/", QuotaView.as_view(), name="quota"),
    path("quota-classes/<str:name>/", QuotaClassView.as_view(), name="quota-class"),
    path("projects/<uuid:project_id>/users/<uuid:user_id>/quota/", UserQuotaView.as_view(), name="user-quota"),
]
