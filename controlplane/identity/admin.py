"""Identity in the admin."""

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.db.models import QuerySet
from django.http import HttpRequest

from controlplane.identity.models import LoginFailure, Project, RoleAssignment, Token, User
from controlplane.identity.services import token_revoke


class RoleInline(admin.TabularInline):  # type: ignore[type-arg]  # not generic at run time
    """Roles of a user or in a project."""

    model = RoleAssignment
    extra = 0
    autocomplete_fields = ["user", "project"]


@admin.register(User)
class UserAdmin(DjangoUserAdmin):  # type: ignore[type-arg]  # its parameter must be an AbstractUser
    """Users, with Django's password forms."""

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


class ProjectForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """Limits below -1 make no sense."""

    class Meta:
        model = Project
        fields = ["name", "description", "enabled", "quota_instances", "quota_cores", "quota_ram_mib"]


@admin.register(Project)
class ProjectAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Projects with quota and roles."""

    form = ProjectForm
    list_display = ["name", "enabled", "quota_instances", "quota_cores", "quota_ram_mib", "created_at"]
    list_filter = ["enabled"]
    search_fields = ["name", "id", "description"]
    inlines = [RoleInline]


@admin.register(RoleAssignment)
class RoleAssignmentAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Who has which role where."""

    list_display = ["user", "project", "role"]
    list_filter = ["role", "project"]
    search_fields = ["user__username", "project__name"]
    autocomplete_fields = ["user", "project"]


class LookOnly(admin.ModelAdmin):  # type: ignore[type-arg]
    """Rows that only services write."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Never by hand."""
        return False


@admin.register(Token)
class TokenAdmin(LookOnly):
    """Tokens, without their digests; they can be revoked."""

    list_display = ["id", "user", "project", "created_at", "expires_at", "revoked"]
    list_filter = ["project"]
    search_fields = ["id", "user__username"]
    fields = ["id", "user", "project", "created_at", "expires_at", "revoked"]
    actions = ["revoke"]

    @admin.action(description="Revoke the chosen tokens")
    def revoke(self, request: HttpRequest, queryset: QuerySet[Token]) -> None:
        """Through the service."""
        ended = sum(token_revoke(token_id=token.pk) for token in queryset)
        self.message_user(request, f"{ended} revoked.")


@admin.register(LoginFailure)
class LoginFailureAdmin(LookOnly):
    """Failed log-ins of the last minutes."""

    list_display = ["username", "address", "failures", "last_failed_at"]
    search_fields = ["username", "address"]
