"""What ports are reached by, under /api/: security groups, routers, floating addresses; what hangs on what, and who
reaches whom.
"""

from django.urls import path
from rest_framework.routers import SimpleRouter

from servers.api.views.floating_ips import FloatingIPViewSet
from servers.api.views.instance_groups import InstanceGroupsView, InstanceGroupView
from servers.api.views.reachability import PortReachabilityView
from servers.api.views.routers import RouterViewSet
from servers.api.views.security_groups import SecurityGroupRuleViewSet, SecurityGroupViewSet
from servers.api.views.topology import NetworkTopologyView, RouterTopologyView

router = SimpleRouter()
router.register("security-groups", SecurityGroupViewSet, basename="security-group")
router.register("security-group-rules", SecurityGroupRuleViewSet, basename="security-group-rule")
router.register("routers", RouterViewSet, basename="router")
router.register("floating-ips", FloatingIPViewSet, basename="floating-ip")

urlpatterns = [
    *router.urls,
    path("instances/<str:pk>/security-groups/", InstanceGroupsView.as_view(), name="instance-groups"),
    path("instances/<str:pk>/security-groups/<str:group>/", InstanceGroupView.as_view(), name="instance-group"),
    path("networks/<str:pk>/topology/", NetworkTopologyView.as_view(), name="network-topology"),
    path("routers/<str:pk>/topology/", RouterTopologyView.as_view(), name="router-topology"),
    path("ports/<str:pk>/reachability/", PortReachabilityView.as_view(), name="port-reachability"),
]
