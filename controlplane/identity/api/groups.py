"""Groups of users with members and roles, and the roles of users in the system. Admins only."""

import uuid
from typing import Any, ClassVar, cast

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.identity.api.serializers import ProjectName
from controlplane.identity.api.views import IdentityViewSet
from controlplane.identity.domain import Role
from controlplane.identity.filtersets import GroupFilterSet
from controlplane.identity.models import GroupRole, Project, User, UserGroup
from controlplane.identity.selectors.groups import (
    group_get,
    groups_listed,
    members_of,
    roles_of_group,
    system_roles_of,
)
from controlplane.identity.selectors.people import user_get
from controlplane.identity.services import (
    group_create,
    group_member_add,
    group_member_remove,
    group_role_grant,
    group_role_revoke,
    group_update,
    groups_delete,
    system_role_grant,
    system_role_revoke,
)
from controlplane.infra.api.strict import ClosedFields
from controlplane.kernel.errors import NotFound

ROLES = [role.value for role in Role]
READ, WRITE = "groups:read", "groups:write"
ROLES_READ, ROLES_WRITE = "roles:read", "roles:write"


class GroupBody(ClosedFields, serializers.ModelSerializer[UserGroup]):
    """A group. What its members may is below `roles/`, and who they are below `members/`."""

    class Meta:
        model = UserGroup
        fields = ["id", "name", "description", "created_at"]
        extra_kwargs: ClassVar[dict[str, Any]] = {"name": {"validators": []}}


class MemberBody(serializers.ModelSerializer[User]):
    """Who is in a group."""

    class Meta:
        model = User
        fields = ["id", "username"]


class GroupRoleBody(serializers.ModelSerializer[GroupRole]):
    """A role of all members. `project` is null for one in the system."""

    project = ProjectName(read_only=True, allow_null=True)

    class Meta:
        model = GroupRole
        fields = ["id", "project", "role"]


class GroupRoleInput(ClosedFields, serializers.ModelSerializer[GroupRole]):
    """A role to give: in the project of this id, in the system for null."""

    project = serializers.PrimaryKeyRelatedField(queryset=Project.objects.all(), allow_null=True)
    role = serializers.ChoiceField(choices=ROLES)

    class Meta:
        model = GroupRole
        fields = ["project", "role"]
        validators: ClassVar[list[Any]] = []


class SystemRolesOutput(serializers.Serializer[Any]):
    """The roles of a user in the system that come by no group."""

    roles = serializers.ListField(child=serializers.ChoiceField(choices=ROLES))


class GroupViewSet(IdentityViewSet[UserGroup]):
    """Groups: list, show, make, change, delete."""

    policy = dict.fromkeys(("list", "retrieve"), READ) | dict.fromkeys(
        ("create", "update", "partial_update", "destroy"), WRITE
    )
    queryset = groups_listed()
    serializer_class = GroupBody
    filterset_class = GroupFilterSet
    ordering_fields = ["name", "created_at"]
    http_method_names = ["get", "post", "patch", "delete", "head", "options"]
    row_name = "group"
    service_create = staticmethod(group_create)
    service_update = staticmethod(group_update)

    def perform_destroy(self, instance: UserGroup) -> None:
        """The members lose the roles that they had by it."""
        groups_delete(group_ids=[instance.pk])


class GroupMembersView(APIView):
    """Who is in a group."""

    policy = {"get": READ}

    @extend_schema(operation_id="group_members", responses=MemberBody(many=True))
    def get(self, _request: Request, group_id: uuid.UUID) -> Response:
        """All members, by name."""
        return Response(MemberBody(members_of(group=group_get(group_id=group_id)), many=True).data)


class GroupMemberView(APIView):
    """One user in a group."""

    policy = {"put": WRITE, "delete": WRITE}

    @extend_schema(request=None, responses={204: None})
    def put(self, _request: Request, group_id: uuid.UUID, user_id: uuid.UUID) -> Response:
        """Put the user in; who is in it stays in it."""
        group_member_add(group=group_get(group_id=group_id), user=user_get(user_id=user_id))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(responses={204: None})
    def delete(self, _request: Request, group_id: uuid.UUID, user_id: uuid.UUID) -> Response:
        """Take the user out."""
        if not group_member_remove(group=group_get(group_id=group_id), user=user_get(user_id=user_id)):
            raise NotFound("The user is not in this group.")
        return Response(status=status.HTTP_204_NO_CONTENT)


class GroupRolesView(APIView):
    """The roles that a group gives."""

    policy = {"get": ROLES_READ, "post": ROLES_WRITE}

    @extend_schema(operation_id="group_roles", responses=GroupRoleBody(many=True))
    def get(self, _request: Request, group_id: uuid.UUID) -> Response:
        """All of them, in projects and in the system."""
        return Response(GroupRoleBody(roles_of_group(group=group_get(group_id=group_id)), many=True).data)

    @extend_schema(request=GroupRoleInput, responses={201: GroupRoleBody})
    def post(self, request: Request, group_id: uuid.UUID) -> Response:
        """Give one; giving it again changes nothing."""
        body = GroupRoleInput(data=request.data)
        body.is_valid(raise_exception=True)
        given = cast("dict[str, Any]", body.validated_data)
        row = group_role_grant(group=group_get(group_id=group_id), project=given["project"], role=Role(given["role"]))
        return Response(GroupRoleBody(row).data, status=status.HTTP_201_CREATED)


class GroupRoleView(APIView):
    """One role that a group gives."""

    policy = {"delete": ROLES_WRITE}

    @extend_schema(responses={204: None})
    def delete(self, _request: Request, group_id: uuid.UUID, role_id: uuid.UUID) -> Response:
        """Take it away from all members."""
        group = group_get(group_id=group_id)
        row = roles_of_group(group=group).filter(pk=role_id).first()
        if row is None:
            raise NotFound("The group has no such role.")
        group_role_revoke(group=group, project=row.project, role=Role(row.role))
        return Response(status=status.HTTP_204_NO_CONTENT)


class SystemRolesView(APIView):
    """The roles of a user in the system."""

    policy = {"get": ROLES_READ}

    @extend_schema(responses=SystemRolesOutput)
    def get(self, _request: Request, user_id: uuid.UUID) -> Response:
        """Those that come by no group."""
        held = system_roles_of(user=user_get(user_id=user_id))
        return Response({"roles": [one.role for one in held]})


class SystemRoleView(APIView):
    """One role of a user in the system."""

    policy = {"put": ROLES_WRITE, "delete": ROLES_WRITE}

    @extend_schema(request=None, responses={204: None})
    def put(self, _request: Request, user_id: uuid.UUID, role: str) -> Response:
        """Give it; giving it again changes nothing."""
        system_role_grant(user=user_get(user_id=user_id), role=_role(role))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(responses={204: None})
    def delete(self, _request: Request, user_id: uuid.UUID, role: str) -> Response:
        """Take it away."""
        if not system_role_revoke(user=user_get(user_id=user_id), role=_role(role)):
            raise NotFound(f"The user has no role {role:.20} in the system.")
        return Response(status=status.HTTP_204_NO_CONTENT)


def _role(name: str) -> Role:
    if name not in ROLES:
        raise NotFound(f"The role is none of {', '.join(ROLES)}.")
    return Role(name)
