"""The pages."""

from django.urls import path

from controlplane.dashboard import favicon
from controlplane.dashboard.capacity import views as capacity
from controlplane.dashboard.decisions import views as decisions
from controlplane.dashboard.drift import views as drift
from controlplane.dashboard.events import views as events
from controlplane.dashboard.hosts import enrolment, removal
from controlplane.dashboard.hosts import versions as host_versions
from controlplane.dashboard.hosts import views as hosts
from controlplane.dashboard.instances import edit
from controlplane.dashboard.instances import views as instances
from controlplane.dashboard.overview import views as overview
from controlplane.dashboard.policies import edit_views as policy_edit
from controlplane.dashboard.policies import views as policies
from controlplane.dashboard.providers import views as providers
from controlplane.dashboard.session import views as session
from controlplane.dashboard.simulate import views as simulate
from controlplane.dashboard.watching import health, metrics
from controlplane.dashboard.work import views as work

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("favicon.ico", favicon.favicon, name="favicon"),
    path("metrics", metrics.metrics, name="metrics"),
    path("login/", session.SignIn.as_view(), name="login"),
    path("logout/", session.sign_out, name="logout"),
    path("project/", session.project_switch, name="project-switch"),
    path("theme/", session.theme_switch, name="theme-switch"),
    path("events/", events.events, name="events"),
    path("", overview.overview, name="overview"),
    path("instances/", instances.instance_list, name="instances"),
    path("instances/create/", instances.instance_create, name="instance-create"),
    path("instances/<uuid:instance_id>/", instances.instance_detail, name="instance"),
    path("instances/<uuid:instance_id>/act/", instances.instance_act_view, name="instance-act"),
    path("instances/<uuid:instance_id>/edit/", edit.instance_edit, name="instance-edit"),
    path("instances/<uuid:instance_id>/again/", instances.instance_again_view, name="instance-again"),
    path("instances/<uuid:instance_id>/reset/", instances.instance_reset_view, name="instance-reset"),
    path("instances/<uuid:instance_id>/delete/", instances.instance_delete_view, name="instance-delete"),
    path("instances/<uuid:instance_id>/console/", instances.instance_console, name="instance-console"),
    path("instances/<uuid:instance_id>/counters/", instances.instance_usage, name="instance-usage"),
    path("hosts/", hosts.host_list, name="hosts"),
    path("hosts/versions/", host_versions.host_versions, name="host-versions"),
    path("hosts/add/", enrolment.host_add, name="host-add"),
    path("hosts/<str:host>/", hosts.host_detail, name="host"),
    path("hosts/<str:host>/remove/", removal.host_remove_view, name="host-remove"),
    path("hosts/<str:host>/revoke/", enrolment.host_revoke, name="host-revoke"),
    path("hosts/<str:host>/act/", hosts.host_act, name="host-act"),
    path("providers/", providers.provider_list, name="providers"),
    path("providers/<uuid:provider_uuid>/", providers.provider_detail, name="provider"),
    path("work/", work.work_list, name="work"),
    path("work/<uuid:work_id>/act/", work.work_act, name="work-act"),
    path("drift/", drift.drift_page, name="drift"),
    path("drift/check/", drift.drift_check_view, name="drift-check"),
    path("drift/heal/", drift.drift_heal_view, name="drift-heal"),
    path("heals/", drift.heal_list, name="heals"),
    path("decisions/", decisions.decision_list_view, name="decisions"),
    path("decisions/<uuid:decision_id>/", decisions.decision_detail, name="decision"),
    path("decisions/<uuid:decision_id>/replay/", decisions.decision_replay_view, name="decision-replay"),
    path("decisions/<uuid:decision_id>/help/", decisions.decision_help_view, name="decision-help"),
    path("capacity/", capacity.capacity, name="capacity-matrix"),
    path("simulate/", simulate.simulate, name="simulate"),
    path("policies/", policies.policy_list_view, name="policies"),
    path("policies/new/", policy_edit.policy_new, name="policy-new"),
    path("policies/defaults/", policy_edit.policy_defaults, name="policy-defaults"),
    path("policies/compare/", policies.policy_compare, name="policy-compare"),
    path("policies/<uuid:policy_id>/", policies.policy_detail, name="policy"),
    path("policies/<uuid:policy_id>/edit/", policy_edit.policy_edit, name="policy-edit"),
    path("policies/<uuid:policy_id>/act/", policy_edit.policy_act, name="policy-act"),
    path("policies/<uuid:policy_id>/preview/", policies.policy_preview_view, name="policy-preview"),
]
