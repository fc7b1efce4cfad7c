"""Identity on the wire."""

from typing import Any, ClassVar

from rest_framework import serializers

from controlplane.identity.domain import Role
from controlplane.identity.models import Project, RoleAssignment, Token, User
from controlplane.infra.api.strict import ClosedFields, StrictInput


class TokenInput(StrictInput):
    """What a log-in sends: name, password, and the project that the token is for."""

    username = serializers.CharField(max_length=150)
    password = serializers.CharField(max_length=4096, trim_whitespace=False)
    project = serializers.CharField(required=False, allow_null=True, max_length=64, help_text="Name or id.")


class TokenOutput(serializers.Serializer[Any]):
    """The token, shown once."""

    token = serializers.CharField()
    expires_at = serializers.DateTimeField()
    user = serializers.CharField(source="caller.username")
    project = serializers.SerializerMethodField()
    roles = serializers.SerializerMethodField()

    def get_project(self, issued: Any) -> dict[str, str]:
        return {"id": str(issued.caller.project_id), "name": issued.caller.project_name}

    def get_roles(self, issued: Any) -> list[str]:
        return sorted(issued.caller.roles)


class ProjectName(serializers.ModelSerializer[Project]):
    """Which project: id and name."""

    class Meta:
        model = Project
        fields = ["id", "name"]


class TokenBody(serializers.ModelSerializer[Token]):
    """A token as its owner sees it later: never the token itself."""

    project = ProjectName(read_only=True)

    class Meta:
        model = Token
        fields = ["id", "project", "created_at", "expires_at", "last_used_at"]


class ProjectBody(ClosedFields, serializers.ModelSerializer[Project]):
    """A project as admins read and write it, with its quota limits."""

    class Meta:
        model = Project
        fields = [
            "id",
            "name",
            "description",
            "enabled",
            "quota_instances",
            "quota_cores",
            "quota_ram_mib",
            "quota_images",
            "quota_image_bytes",
            "quota_image_uploads",
            "created_at",
        ]


class UserBody(ClosedFields, serializers.ModelSerializer[User]):
    """A user. The password is never shown."""

    password = serializers.CharField(write_only=True, required=False, max_length=4096)

    class Meta:
        model = User
        fields = ["id", "username", "email", "is_active", "is_superuser", "password", "created_at"]
        extra_kwargs: ClassVar[dict[str, Any]] = {"username": {"validators": []}}


class RoleAssignmentBody(ClosedFields, serializers.ModelSerializer[RoleAssignment]):
    """Who has which role where."""

    role = serializers.ChoiceField(choices=[role.value for role in Role])

    class Meta:
        model = RoleAssignment
        fields = ["id", "user", "project", "role"]

    def validate_role(self, value: str) -> Role:
        """As the services take it."""
        return Role(value)
