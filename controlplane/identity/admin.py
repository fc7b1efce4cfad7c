"""Identity in the admin."""

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.db.models import QuerySet
from django.http import HttpRequest

from controlplane.identity.forms import AdminLoginForm, UserForm
from controlplane.identity.models import LoginFailure, Project, RoleAssignment, Token, User
from controlplane.identity.services import is_last_superuser, token_revoke
from controlplane.infra.admin import ReadOnlyAdmin

admin.site.login_form = AdminLoginForm


class RoleInline(admin.TabularInline):  # type: ignore[type-arg]  # not generic at run time
    """Roles of a user or in a project."""

    model = RoleAssignment
    extra = 0
    autocomplete_fields = ["user", "project"]


@admin.register(User)
class UserAdmin(DjangoUserAdmin):  # type: ignore[type-arg]  # its parameter must be an AbstractUser
    """Users, with Django's password forms."""

    form = UserForm
    list_display = ["username", "email", "is_active", "is_staff", "is_superuser", "last_login"]
    list_filter = ["is_active", "is_staff", "is_superuser"]
    search_fields = ["username", "email", "id"]
    ordering = ["username"]
    readonly_fields = ["id", "last_login", "created_at"]
    fieldsets = [
        (None, {"fields": ["id", "username", "password", "email"]}),
        ("Rights", {"fields": ["is_active", "is_staff", "is_superuser", "groups", "user_permissions"]}),
        ("Dates", {"fields": ["last_login", "created_at"]}),
    ]
    inlines = [RoleInline]

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """The last active superuser cannot be deleted."""
        return super().has_delete_permission(request, obj) and (obj is None or not is_last_superuser(user=obj))


@admin.register(Project)
class ProjectAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Projects with quota and roles."""

    list_display = ["name", "enabled", "quota_instances", "quota_cores", "quota_ram_mib", "created_at"]
    list_filter = ["enabled"]
    search_fields = ["name", "id", "description"]
    fieldsets = [
        (None, {"fields": ["name", "description", "enabled"]}),
        ("Quota of instances", {"fields": ["quota_instances", "quota_cores", "quota_ram_mib"]}),
        ("Quota of images", {"fields": ["quota_images", "quota_image_bytes", "quota_image_uploads"]}),
    ]
    inlines = [RoleInline]


@admin.register(RoleAssignment)
class RoleAssignmentAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Who has which role where."""

    list_display = ["user", "project", "role"]
    list_filter = ["role", "project"]
    search_fields = ["user__username", "project__name"]
    autocomplete_fields = ["user", "project"]


class PrunableAdmin(ReadOnlyAdmin):
    """Rows that only services write, and that may be deleted, which takes nothing away but a permission or a brake."""

    def has_delete_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """As Django's permissions say."""
        return bool(request.user.has_perm(f"{self.opts.app_label}.delete_{self.opts.model_name}"))


@admin.register(Token)
class TokenAdmin(PrunableAdmin):
    """Tokens, without their digests; they can be revoked."""

    list_display = ["id", "user", "project", "created_at", "expires_at", "last_used_at", "revoked"]
    list_filter = ["project", "revoked"]
    list_select_related = ["user", "project"]
    search_fields = ["id", "user__username"]
    fields = ["id", "user", "project", "created_at", "expires_at", "last_used_at", "revoked"]
    actions = ["revoke"]

    @admin.action(description="Revoke the chosen tokens")
    def revoke(self, request: HttpRequest, queryset: QuerySet[Token]) -> None:
        """Through the service."""
        ended = sum(token_revoke(token_id=token.pk) for token in queryset)
        self.message_user(request, f"{ended} revoked.")


@admin.register(LoginFailure)
class LoginFailureAdmin(PrunableAdmin):
    """Failed log-ins of the last minutes."""

    list_display = ["username", "address", "failures", "last_failed_at"]
    search_fields = ["username", "address"]
