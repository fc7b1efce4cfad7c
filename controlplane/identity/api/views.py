"""Tokens, the caller, projects, users, role assignments."""

import uuid
from collections.abc import Callable
from typing import TypeVar, cast

from django.db.models import Model, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.authentication import BaseAuthentication
from rest_framework.generics import ListAPIView
from rest_framework.permissions import AllowAny, BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView
from rest_framework.viewsets import ModelViewSet

from controlplane.identity.addresses import address_of
from controlplane.identity.api.callers import caller_of
from controlplane.identity.api.serializers import (
    ProjectBody,
    RoleAssignmentBody,
    TokenBody,
    TokenInput,
    TokenOutput,
    UserBody,
)
from controlplane.identity.domain import LoginRefused, LoginThrottled, Role
from controlplane.identity.filtersets import ProjectFilterSet, RoleAssignmentFilterSet, UserFilterSet
from controlplane.identity.models import Project, RoleAssignment, Token, User
from controlplane.identity.selectors import tokens_of_user
from controlplane.identity.services import (
    project_create,
    project_delete,
    project_update,
    role_grant,
    role_revoke,
    token_issue,
    token_revoke,
    user_create,
    user_update,
)
from controlplane.infra.api.errors import kernel_body
from controlplane.infra.api.filtering import KnownInput
from controlplane.kernel.errors import NotFound

Row = TypeVar("Row", bound=Model)


def _crud(resource: str) -> dict[str, str]:
    read, write = f"{resource}:read", f"{resource}:write"
    return dict.fromkeys(("list", "retrieve"), read) | dict.fromkeys(
        ("create", "update", "partial_update", "destroy"), write
    )


class TokenView(ListAPIView[Token]):
    """POST: name and password in, token out. GET: the caller's own tokens that still work."""

    policy = {"get": "tokens:read"}
    serializer_class = TokenBody
    queryset = Token.objects.none()
    ordering_fields = ["created_at", "expires_at", "last_used_at"]

    def get_queryset(self) -> QuerySet[Token]:
        """The tokens of the caller; those of other users are never listed."""
        return tokens_of_user(user_id=caller_of(self.request).user_id)

    def get_authenticators(self) -> list[BaseAuthentication]:
        """None for a login: whoever sends an expired token along may still log in."""
        return [] if self._is_login() else super().get_authenticators()

    def get_permissions(self) -> list[BasePermission]:
        """Anybody may try to log in."""
        return (
            [AllowAny(), KnownInput()] if self._is_login() else cast("list[BasePermission]", super().get_permissions())
        )

    def _is_login(self) -> bool:
        # The schema's generator makes views without a request.
        return getattr(getattr(self, "request", None), "method", "") == "POST"

    @extend_schema(request=TokenInput, responses={201: TokenOutput})
    def post(self, request: Request) -> Response:
        """Issue a token."""
        body = TokenInput(data=request.data)
        body.is_valid(raise_exception=True)
        try:
            issued = token_issue(**body.validated_data, address=address_of(request.META))
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
        """Revoke the token that the request was made with."""
        token_id = getattr(request, "token_id", None)
        if token_id is not None:
            token_revoke(token_id=token_id)
        return Response(status=status.HTTP_204_NO_CONTENT)


class TokenDetailView(APIView):
    """One of the caller's own tokens."""

    policy = {"delete": "tokens:revoke"}

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request, token_id: uuid.UUID) -> Response:
        """Revoke one of the caller's own tokens."""
        if not token_revoke(
            token_id=token_id,
            user_id=caller_of(request).user_id,
            by_token_id=getattr(request, "token_id", None),
        ):
            raise NotFound("You have no such token.")
        return Response(status=status.HTTP_204_NO_CONTENT)


class MeView(APIView):
    """Who am I here?"""

    policy = {"get": "me:read"}

    @extend_schema(responses={200: dict})
    def get(self, request: Request) -> Response:
        """User, project (null in the system) and roles of the caller."""
        caller = caller_of(request)
        own = caller.own_project_id
        return Response(
            {
                "user": {"id": str(caller.user_id), "username": caller.username},
                "project": None if own is None else {"id": str(own), "name": caller.project_name},
                "roles": sorted(caller.roles),
            }
        )


class IdentityViewSet(ModelViewSet[Row]):
    """Rows that come and change through the app's services, which know the rules; serializers only read the body.

    `service_update` takes the row under `row_name`. A door that is closed by `http_method_names` needs no service.
    """

    row_name: str
    service_create: Callable[..., Row]
    service_update: Callable[..., Row]

    def perform_create(self, serializer: BaseSerializer[Row]) -> None:
        """Every field of the body is a keyword of the service."""
        serializer.instance = self.service_create(**serializer.validated_data)

    def perform_update(self, serializer: BaseSerializer[Row]) -> None:
        """The row of the address, and of the body what is given."""
        serializer.instance = self.service_update(**{self.row_name: self.get_object()}, **serializer.validated_data)


class ProjectViewSet(IdentityViewSet[Project]):
    """Projects: only admins list, make, change and delete them."""

    policy = _crud("projects")
    queryset = Project.objects.all()
    serializer_class = ProjectBody
    filterset_class = ProjectFilterSet
    ordering_fields = ["name", "created_at"]
    http_method_names = ["get", "post", "patch", "delete", "head", "options"]
    row_name = "project"
    service_create = staticmethod(project_create)
    service_update = staticmethod(project_update)

    def perform_destroy(self, instance: Project) -> None:
        """409 with what is in the way, while something is in it."""
        project_delete(project_id=instance.pk)


class UserViewSet(IdentityViewSet[User]):
    """Users: only admins list, make, change and delete them."""

    policy = _crud("users")
    queryset = User.objects.select_related("external_identity", "second_factor")
    serializer_class = UserBody
    filterset_class = UserFilterSet
    ordering_fields = ["username", "created_at"]
    http_method_names = ["get", "post", "patch", "head", "options"]
    row_name = "user"
    service_create = staticmethod(user_create)
    service_update = staticmethod(user_update)


class RoleAssignmentViewSet(IdentityViewSet[RoleAssignment]):
    """Role assignments. Admins only."""

    policy = _crud("roles")
    queryset = RoleAssignment.objects.all()
    serializer_class = RoleAssignmentBody
    filterset_class = RoleAssignmentFilterSet
    ordering_fields = ["id", "created_at"]
    http_method_names = ["get", "post", "delete", "head", "options"]

    service_create = staticmethod(role_grant)

    def perform_destroy(self, instance: RoleAssignment) -> None:
        role_revoke(user=instance.user, project=instance.project, role=Role(instance.role))
