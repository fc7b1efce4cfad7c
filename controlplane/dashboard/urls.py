"""The pages."""

from django.urls import path

from controlplane.dashboard.views import decisions, health, hosts, instances, overview, providers, session

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("login/", session.SignIn.as_view(), name="login"),
    path("logout/", session.sign_out, name="logout"),
    path("project/", session.project_switch, name="project-switch"),
    path("theme/", session.theme_switch, name="theme-switch"),
    path("", overview.overview, name="overview"),
    path("instances/", instances.instance_list, name="instances"),
    path("instances/create/", instances.instance_create, name="instance-create"),
    path("instances/<uuid:instance_id>/", instances.instance_detail, name="instance"),
    path("instances/<uuid:instance_id>/act/", instances.instance_act_view, name="instance-act"),
    path("instances/<uuid:instance_id>/delete/", instances.instance_delete_view, name="instance-delete"),
    path("instances/<uuid:instance_id>/console/", instances.instance_console, name="instance-console"),
    path("hosts/", hosts.host_list, name="hosts"),
    path("hosts/<str:host>/", hosts.host_detail, name="host"),
    path("hosts/<str:host>/act/", hosts.host_act, name="host-act"),
    path("providers/", providers.provider_list, name="providers"),
    path("providers/<uuid:provider_uuid>/", providers.provider_detail, name="provider"),
    path("decisions/", decisions.decision_list_view, name="decisions"),
    path("decisions/<uuid:decision_id>/", decisions.decision_detail, name="decision"),
]
