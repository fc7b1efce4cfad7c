"""What watches over instances and hosts, under /api/: drift, the record of heals, agents, OVN."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from servers.api.views.agents import AgentViewSet, EnrolmentViewSet
from servers.api.views.audit_log import AuditLogViewSet
from servers.api.views.consoles import ConsoleSessionViewSet, InstanceConsolesView
from servers.api.views.drift import DriftViewSet, HealViewSet
from servers.api.views.ovn import OvnChangeViewSet, OvnCheckView, OvnView

router = SimpleRouter()
router.register("audit-log", AuditLogViewSet, basename="audit-log")
router.register("drift", DriftViewSet, basename="drift")
router.register("heals", HealViewSet, basename="heal")
router.register("agents", AgentViewSet, basename="agent")
router.register("consoles", ConsoleSessionViewSet, basename="console-session")
router.register("ovn/changes", OvnChangeViewSet, basename="ovn-change")
router.register("hosts/enrolments", EnrolmentViewSet, basename="enrolment")

urlpatterns = [
    *router.urls,
    path("ovn/", OvnView.as_view(), name="ovn"),
    path("ovn/check/", OvnCheckView.as_view(), name="ovn-check"),
    path("instances/<str:pk>/consoles/", InstanceConsolesView.as_view(), name="instance-consoles"),
]
