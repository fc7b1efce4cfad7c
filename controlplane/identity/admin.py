"""Identity in the admin."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.db.models import Field, QuerySet
from django.forms import TypedChoiceField
from django.http import HttpRequest

from controlplane.identity.domain import Role
from controlplane.identity.forms import AdminLoginForm, UserForm
from controlplane.identity.models import KnownAddress, LoginFailure, Project, RoleAssignment, Token, User
from controlplane.identity.selectors import may_operate
from controlplane.identity.services import is_last_superuser, token_revoke, users_delete
from controlplane.infra.admin import destructive
from controlplane.infra.admin.bases import ReadOnlyAdmin

admin.site.login_form = AdminLoginForm
# What gives power. Permission to edit users is no permission to become a superuser.
POWERS = ["is_staff", "is_superuser", "groups", "user_permissions"]


def _is_superuser(request: HttpRequest) -> bool:
    return bool(request.user.is_active and getattr(request.user, "is_superuser", False))


class OrdinaryRoles(admin.options.BaseModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Who is no superuser gives, sees in forms and takes every role but admin, which rules the whole installation."""

    def formfield_for_choice_field(
        self, db_field: "Field[Any, Any]", request: HttpRequest, **kwargs: Any
    ) -> TypedChoiceField | None:
        """The roles that may be given."""
        if db_field.name == "role" and not _is_superuser(request):
            kwargs["choices"] = [(role.value, role.value) for role in Role if role is not Role.ADMIN]
        return super().formfield_for_choice_field(db_field, request, **kwargs)


class RoleInline(OrdinaryRoles, admin.TabularInline):  # type: ignore[type-arg]  # not generic at run time
    """Roles of a user or in a project."""

    model = RoleAssignment
    extra = 0
    autocomplete_fields = ["user", "project"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[RoleAssignment]:
        """Roles that the person may change."""
        rows = super().get_queryset(request)
        return rows if _is_superuser(request) else rows.exclude(role=Role.ADMIN.value)


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

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> list[str]:
        """Superusers alone hand out power."""
        return [*self.readonly_fields, *([] if _is_superuser(request) else POWERS)]

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Who has power, its password included, is changed by superusers alone."""
        return super().has_change_permission(request, obj) and _may_touch(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """As above; and the last active superuser cannot be deleted."""
        return (
            super().has_delete_permission(request, obj)
            and _may_touch(request, obj)
            and (obj is None or not is_last_superuser(user=obj))
        )

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        users_delete(user_ids=[obj.pk])

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Through the service, which judges all of them together: each alone may not be the last superuser."""
        users_delete(user_ids=list(queryset.values_list("pk", flat=True)))


def _may_touch(request: HttpRequest, user: User | None) -> bool:
    return user is None or _is_superuser(request) or not may_operate(user=user)


admin.site.unregister(Group)


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin):
    """Groups hand out permissions, so superusers alone make and change them."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return _is_superuser(request)

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return _is_superuser(request)

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return _is_superuser(request)


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
class RoleAssignmentAdmin(OrdinaryRoles, admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Who has which role where."""

    list_display = ["user", "project", "role"]
    list_filter = ["role", "project"]
    search_fields = ["user__username", "project__name"]
    autocomplete_fields = ["user", "project"]

    def has_change_permission(self, request: HttpRequest, obj: RoleAssignment | None = None) -> bool:
        """The role admin is the superusers' business."""
        return super().has_change_permission(request, obj) and self._may_touch(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: RoleAssignment | None = None) -> bool:
        return super().has_delete_permission(request, obj) and self._may_touch(request, obj)

    def _may_touch(self, request: HttpRequest, obj: RoleAssignment | None) -> bool:
        return obj is None or obj.role != Role.ADMIN.value or _is_superuser(request)


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

    @destructive(
        description="Revoke the chosen tokens",
        permissions=["operate"],
        question="Whoever uses these tokens is refused from the next call on.",
    )
    def revoke(self, request: HttpRequest, queryset: QuerySet[Token]) -> None:
        ended = sum(token_revoke(token_id=token.pk) for token in queryset)
        self.message_user(request, f"{ended} revoked.")


@admin.register(LoginFailure)
class LoginFailureAdmin(PrunableAdmin):
    """Failed log-ins of the last minutes."""

    list_display = ["bucket", "username", "address", "failures", "last_failed_at"]
    list_filter = ["bucket"]
    search_fields = ["username", "address"]


@admin.register(KnownAddress)
class KnownAddressAdmin(PrunableAdmin):
    """Where users log in from."""

    list_display = ["user", "address", "last_login_at"]
    list_select_related = ["user"]
    search_fields = ["user__username", "address"]
