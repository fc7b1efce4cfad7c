"""Tokens, the caller, projects, users, role assignments."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView
from rest_framework.viewsets import ModelViewSet

from controlplane.identity.api.callers import caller_of
from controlplane.identity.api.serializers import (
    ProjectBody,
    RoleAssignmentBody,
    TokenInput,
    TokenOutput,
    UserBody,
)
from controlplane.identity.domain import LoginRefused, LoginThrottled
from controlplane.identity.models import Project, RoleAssignment, User
from controlplane.identity.services import token_issue, token_revoke, user_create, user_password_set
from controlplane.infra.api.errors import kernel_body


def _crud(resource: str) -> dict[str, str]:
    read, write = f"{resource}:read", f"{resource}:write"
    return dict.fromkeys(("list", "retrieve"), read) | dict.fromkeys(
        ("create", "update", "partial_update", "destroy"), write
    )


class TokenView(APIView):
    """Name and password in, token out."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    @extend_schema(request=TokenInput, responses={201: TokenOutput})
    def post(self, request: Request) -> Response:
        """Issue a token."""
        body = TokenInput(data=request.data)
        body.is_valid(raise_exception=True)
        try:
            issued = token_issue(**body.validated_data, address=request.META.get("REMOTE_ADDR", ""))
        except LoginRefused as error:
            headers = {"WWW-Authenticate": "Token"}
            return Response(kernel_body(error), status=status.HTTP_401_UNAUTHORIZED, headers=headers)
        except LoginThrottled as error:
            headers = {"Retry-After": str(error.wait_s)}
            return Response(kernel_body(error), status=status.HTTP_429_TOO_MANY_REQUESTS, headers=headers)
        return Response(TokenOutput(issued).data, status=status.HTTP_201_CREATED)


class CurrentTokenView(APIView):
    """The token of this very call."""

    policy = {"delete": "tokens:revoke"}

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request) -> Response:
        """Revoke it."""
        token_id = getattr(request, "token_id", None)
        if token_id is not None:
            token_revoke(token_id=token_id)
        return Response(status=status.HTTP_204_NO_CONTENT)


class MeView(APIView):
    """Who am I here?"""

    policy = {"get": "me:read"}

    @extend_schema(responses={200: dict})
    def get(self, request: Request) -> Response:
        """User, project and roles of the caller."""
        caller = caller_of(request)
        return Response(
            {
                "user": {"id": str(caller.user_id), "username": caller.username},
                "project": {"id": str(caller.project_id), "name": caller.project_name},
                "roles": sorted(caller.roles),
            }
        )


class ProjectViewSet(ModelViewSet[Project]):
    """Projects. Admins only."""

    policy = _crud("projects")
    queryset = Project.objects.all()
    serializer_class = ProjectBody
    filterset_fields = ["name", "enabled"]
    ordering_fields = ["name", "created_at"]
    http_method_names = ["get", "post", "patch", "head", "options"]


class UserViewSet(ModelViewSet[User]):
    """Users. Admins only."""

    policy = _crud("users")
    queryset = User.objects.all()
    serializer_class = UserBody
    filterset_fields = ["username", "is_active"]
    ordering_fields = ["username", "created_at"]
    http_method_names = ["get", "post", "patch", "head", "options"]

    def perform_create(self, serializer: BaseSerializer[User]) -> None:
        """Through the service: name and password are checked there."""
        data: dict[str, Any] = dict(serializer.validated_data)
        serializer.instance = user_create(
            username=data["username"],
            password=data.get("password", ""),
            email=data.get("email", ""),
            is_superuser=data.get("is_superuser", False),
        )

    def perform_update(self, serializer: BaseSerializer[User]) -> None:
        """A new password goes through its service."""
        password = serializer.validated_data.pop("password", None)
        user = serializer.save()
        if password:
            user_password_set(user=user, password=password)


class RoleAssignmentViewSet(ModelViewSet[RoleAssignment]):
    """Role assignments. Admins only."""

    policy = _crud("projects")
    queryset = RoleAssignment.objects.all()
    serializer_class = RoleAssignmentBody
    filterset_fields = ["user", "project", "role"]
    ordering_fields = ["id"]
    http_method_names = ["get", "post", "delete", "head", "options"]
