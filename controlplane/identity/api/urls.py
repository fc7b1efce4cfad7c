"""Everything of identity under /api/."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from controlplane.identity.api import openapi  # noqa: F401 - registers how the schema names our ways to log in
from controlplane.identity.api.access_rules import AccessRulesView
from controlplane.identity.api.application_credentials import ApplicationCredentialViewSet
from controlplane.identity.api.groups import (
    GroupMembersView,
    GroupMemberView,
    GroupRolesView,
    GroupRoleView,
    GroupViewSet,
    SystemRolesView,
    SystemRoleView,
)
from controlplane.identity.api.own_account import OwnPasswordView, OwnSecondFactorView, UserSecondFactorView
from controlplane.identity.api.saved_views import SavedViewViewSet
from controlplane.identity.api.views import (
    CurrentTokenView,
    MeView,
    ProjectViewSet,
    RoleAssignmentViewSet,
    TokenDetailView,
    TokenView,
    UserViewSet,
)

router = SimpleRouter()
router.register("projects", ProjectViewSet, basename="project")
router.register("users", UserViewSet, basename="user")
router.register("groups", GroupViewSet, basename="user-group")
router.register("role-assignments", RoleAssignmentViewSet, basename="role-assignment")
router.register("application-credentials", ApplicationCredentialViewSet, basename="application-credential")
router.register("saved-views", SavedViewViewSet, basename="saved-view")

urlpatterns = [
    path("tokens/", TokenView.as_view(), name="tokens"),
    path("tokens/current/", CurrentTokenView.as_view(), name="token-current"),
    path("tokens/<uuid:token_id>/", TokenDetailView.as_view(), name="token-detail"),
    path("me/password/", OwnPasswordView.as_view(), name="me-password"),
    path("me/second-factor/", OwnSecondFactorView.as_view(), name="me-second-factor"),
    path("users/<uuid:user_id>/second-factor/", UserSecondFactorView.as_view(), name="user-api-second-factor"),
    path("users/<uuid:user_id>/system-roles/", SystemRolesView.as_view(), name="system-roles-api"),
    path("users/<uuid:user_id>/system-roles/<str:role>/", SystemRoleView.as_view(), name="system-role-api"),
    path("groups/<uuid:group_id>/members/", GroupMembersView.as_view(), name="group-members-api"),
    path("groups/<uuid:group_id>/members/<uuid:user_id>/", GroupMemberView.as_view(), name="group-member-api"),
    path("groups/<uuid:group_id>/roles/", GroupRolesView.as_view(), name="group-roles-api"),
    path("groups/<uuid:group_id>/roles/<uuid:role_id>/", GroupRoleView.as_view(), name="group-role-api"),
    path("access-rules/", AccessRulesView.as_view(), name="access-rules-api"),
    path("me/", MeView.as_view(), name="me"),
    *router.urls,
]
