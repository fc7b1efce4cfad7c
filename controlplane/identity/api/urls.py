"""Everything of identity under /api/."""

from django.urls import path
from rest_framework.routers import SimpleRouter

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
router.register("role-assignments", RoleAssignmentViewSet, basename="role-assignment")

urlpatterns = [
    path("tokens/", TokenView.as_view(), name="tokens"),
    path("tokens/current/", CurrentTokenView.as_view(), name="token-current"),
    path("tokens/<uuid:token_id>/", TokenDetailView.as_view(), name="token-detail"),
    path("me/", MeView.as_view(), name="me"),
    *router.urls,
]
