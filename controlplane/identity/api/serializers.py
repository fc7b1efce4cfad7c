"""Identity on the wire."""

from typing import Any, ClassVar

from rest_framework import serializers

from controlplane.identity.domain import Role
from controlplane.identity.models import Project, RoleAssignment, SavedView, Token, User
from controlplane.infra.api.strict import ClosedFields, StrictInput


class TokenInput(StrictInput):
    """What a log-in sends: name, password, and the project that the token is for."""

    username = serializers.CharField(max_length=150)
    password = serializers.CharField(max_length=4096, trim_whitespace=False)
    project = serializers.CharField(required=False, allow_null=True, max_length=64, help_text="Name or id.")
    code = serializers.CharField(
        required=False, allow_null=True, max_length=40, help_text="Of the second factor, for a user who has one."
    )


class PasswordInput(StrictInput):
    """A new password of one's own, and the one in force."""

    current = serializers.CharField(max_length=4096, trim_whitespace=False)
    new = serializers.CharField(max_length=4096, trim_whitespace=False)


class SecondFactorOutput(serializers.Serializer[Any]):
    """How one's second factor stands."""

    is_set_up = serializers.BooleanField()
    is_required = serializers.BooleanField()
    confirmed_at = serializers.DateTimeField(allow_null=True)
    recovery_codes_left = serializers.IntegerField()


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
    """A token as its owner sees it later: never the token itself. `is_system`: it is for the system, and no project."""

    project = ProjectName(read_only=True)

    class Meta:
        model = Token
        fields = ["id", "project", "is_system", "created_at", "expires_at", "last_used_at"]


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
            "quota_networks",
            "quota_subnets",
            "quota_ports",
            "quota_routers",
            "quota_floating_ips",
            "quota_security_groups",
            "quota_security_group_rules",
            "quota_volumes",
            "quota_volume_gib",
            "quota_volume_snapshots",
            "quota_volume_backups",
            "quota_volume_backup_gib",
            "quota_metadata_items",
            "quota_injected_files",
            "quota_injected_file_content_bytes",
            "quota_injected_file_path_bytes",
            "quota_key_pairs",
            "quota_server_groups",
            "quota_server_group_members",
            "created_at",
        ]


class UserBody(ClosedFields, serializers.ModelSerializer[User]):
    """A user. The password is never shown. `external_source`: `ldap` or `oidc` for who logs in by those, else null."""

    password = serializers.CharField(write_only=True, required=False, max_length=4096)
    external_source = serializers.SerializerMethodField()
    has_second_factor = serializers.SerializerMethodField()

    class Meta:
        model = User
        fields = [
            "id",
            "username",
            "email",
            "is_active",
            "is_superuser",
            "default_project",
            "password",
            "external_source",
            "has_second_factor",
            "created_at",
        ]
        extra_kwargs: ClassVar[dict[str, Any]] = {"username": {"validators": []}}

    def get_external_source(self, user: User) -> str | None:
        """Who answers for the user; null: a password kept here."""
        return user.external_identity.source if hasattr(user, "external_identity") else None

    def get_has_second_factor(self, user: User) -> bool:
        """Whether a code is asked for beside the password."""
        return hasattr(user, "second_factor") and user.second_factor.confirmed_at is not None


class RoleAssignmentBody(ClosedFields, serializers.ModelSerializer[RoleAssignment]):
    """Who has which role where."""

    role = serializers.ChoiceField(choices=[role.value for role in Role])

    class Meta:
        model = RoleAssignment
        fields = ["id", "user", "project", "role"]

    def validate_role(self, value: str) -> Role:
        """As the services take it."""
        return Role(value)


class SavedViewBody(ClosedFields, serializers.ModelSerializer[SavedView]):
    """A view of a list: `query` is what stands in the list's address, such as `status=ERROR&sort=-name`."""

    user = serializers.CharField(source="user.username", read_only=True)

    class Meta:
        model = SavedView
        fields = ["id", "list", "name", "query", "sharing", "is_default", "user", "project", "created_at", "updated_at"]
        read_only_fields: ClassVar[list[str]] = ["project"]
        validators: ClassVar[list[Any]] = []
        extra_kwargs: ClassVar[dict[str, Any]] = {"query": {"required": False, "trim_whitespace": False}}
