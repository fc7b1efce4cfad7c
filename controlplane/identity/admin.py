"""Identity in the admin."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.db.models import Field, QuerySet
from django.forms import TypedChoiceField
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from controlplane.identity.domain import Role
from controlplane.identity.domain.quota import NETWORK_LIMITS, OWNER_LIMITS, VOLUME_LIMITS
from controlplane.identity.domain.role import BEYOND_PROJECTS
from controlplane.identity.forms import AdminLoginForm, UserForm, UserPasswordForm, UserQuotaForm
from controlplane.identity.models import (
    ApplicationCredential,
    ExternalIdentity,
    GroupMember,
    GroupRole,
    KnownAddress,
    LoginFailure,
    Project,
    QuotaClass,
    RoleAssignment,
    SavedView,
    SecondFactor,
    SystemRole,
    Token,
    User,
    UserGroup,
    UserQuota,
)
from controlplane.identity.selectors import reaches_beyond_projects
from controlplane.identity.services import (
    application_credentials_remove,
    groups_delete,
    is_last_superuser,
    project_delete,
    second_factor_remove,
    token_revoke,
    users_delete,
)
from controlplane.infra.admin import destructive
from controlplane.infra.admin.bases import LabelledFormSet, ReadOnlyAdmin, ThroughServicesAdmin
from controlplane.infra.admin.filters import named
from controlplane.infra.admin.large_tables import LargeTableAdmin
from controlplane.kernel.texts import gettext_noop

admin.site.login_form = AdminLoginForm
# What gives power. Permission to edit users is no permission to become a superuser.
POWERS = ["is_staff", "is_superuser", "groups", "user_permissions"]


def _is_superuser(request: HttpRequest) -> bool:
    return bool(request.user.is_active and getattr(request.user, "is_superuser", False))


class OrdinaryRoles(admin.options.BaseModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Who is no superuser gives, sees in forms and takes every role but those that reach beyond a project."""

    def formfield_for_choice_field(
        self, db_field: "Field[Any, Any]", request: HttpRequest, **kwargs: Any
    ) -> TypedChoiceField | None:
        """The roles that may be given."""
        if db_field.name == "role" and not _is_superuser(request):
            kwargs["choices"] = [(role.value, role.value) for role in Role if role not in BEYOND_PROJECTS]
        return super().formfield_for_choice_field(db_field, request, **kwargs)


class OfSuperusers(admin.options.BaseModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Rows that give power to whoever they name: superusers alone make, change and delete them."""

    def has_add_permission(self, request: HttpRequest, obj: Any | None = None) -> bool:
        return _is_superuser(request)

    def has_change_permission(self, request: HttpRequest, obj: Any | None = None) -> bool:
        return _is_superuser(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any | None = None) -> bool:
        return _is_superuser(request)


class GroupMemberInline(OfSuperusers, admin.TabularInline):  # type: ignore[type-arg]  # not generic at run time
    """Who is in a group of users."""

    model = GroupMember
    formset = LabelledFormSet
    extra = 0
    autocomplete_fields = ["user"]


class GroupRoleInline(OfSuperusers, admin.TabularInline):  # type: ignore[type-arg]  # not generic at run time
    """Which roles its members have by it."""

    model = GroupRole
    formset = LabelledFormSet
    extra = 0
    autocomplete_fields = ["project"]


@admin.register(UserGroup)
class UserGroupAdmin(OfSuperusers, LargeTableAdmin):
    """Groups of users with members and roles."""

    list_display = ["name", "description", "created_at"]
    search_fields = ["name", "id", "description"]
    inlines = [GroupMemberInline, GroupRoleInline]

    def delete_model(self, request: HttpRequest, obj: UserGroup) -> None:
        groups_delete(group_ids=[obj.pk])

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[UserGroup]) -> None:
        groups_delete(group_ids=list(queryset.values_list("pk", flat=True)))


@admin.register(SystemRole)
class SystemRoleAdmin(OfSuperusers, LargeTableAdmin):
    """Who has which role in the system."""

    list_display = ["user", "role"]
    list_filter = ["role", named("user")]
    list_select_related = ["user"]
    search_fields = ["user__username"]
    autocomplete_fields = ["user"]


class RoleInline(OrdinaryRoles, admin.TabularInline):  # type: ignore[type-arg]  # not generic at run time
    """Roles of a user or in a project."""

    model = RoleAssignment
    formset = LabelledFormSet
    extra = 0
    autocomplete_fields = ["user", "project"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[RoleAssignment]:
        """Roles that the person may change."""
        rows = super().get_queryset(request)
        return rows if _is_superuser(request) else rows.exclude(role__in=BEYOND_PROJECTS)


@admin.register(User)
class UserAdmin(LargeTableAdmin, DjangoUserAdmin):  # type: ignore[type-arg]  # its parameter must be an AbstractUser
    """Users, with Django's password forms."""

    form = UserForm
    change_password_form = UserPasswordForm
    list_display = ["username", "email", "is_active", "is_staff", "is_superuser", "last_login"]
    list_filter = ["is_active", "is_staff", "is_superuser"]
    search_fields = ["username", "email", "id"]
    ordering = ["username"]
    readonly_fields = ["id", "last_login", "created_at"]
    fieldsets = [
        (None, {"fields": ["id", "username", "password", "email", "time_zone"]}),
        (_("Rights"), {"fields": ["is_active", "is_staff", "is_superuser", "groups", "user_permissions"]}),
        (_("Dates"), {"fields": ["last_login", "created_at"]}),
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
    return user is None or _is_superuser(request) or not reaches_beyond_projects(user=user)


admin.site.unregister(Group)


@admin.register(Group)
class GroupAdmin(LargeTableAdmin, DjangoGroupAdmin):
    """Groups hand out permissions, so superusers alone make and change them."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return _is_superuser(request)

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return _is_superuser(request)

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return _is_superuser(request)


@admin.register(Project)
class ProjectAdmin(ThroughServicesAdmin):
    """Projects with quota and roles."""

    list_display = ["name", "enabled", "quota_instances", "quota_cores", "quota_ram_mib", "created_at"]
    list_filter = ["enabled"]
    search_fields = ["name", "id", "description"]
    fieldsets = [
        (None, {"fields": ["name", "description", "enabled"]}),
        (_("Quota of instances"), {"fields": ["quota_instances", "quota_cores", "quota_ram_mib"]}),
        (_("Quota of images"), {"fields": ["quota_images", "quota_image_bytes", "quota_image_uploads"]}),
        (_("Quota of networks"), {"fields": [f"quota_{name}" for name in NETWORK_LIMITS]}),
        (_("Quota of volumes"), {"fields": [f"quota_{name}" for name in VOLUME_LIMITS]}),
        (_("Quota of requests, key pairs and groups"), {"fields": [f"quota_{name}" for name in OWNER_LIMITS]}),
    ]
    inlines = [RoleInline]

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """What goes with them. What is in the way is said by the service, with numbers."""
        objects, counts, lacking, _ = super().get_deleted_objects(objs, request)
        return objects, counts, lacking, []

    def service_delete(self, obj: Project) -> None:
        project_delete(project_id=obj.pk)


@admin.register(QuotaClass)
class QuotaClassAdmin(LargeTableAdmin):
    """What projects may have that have no limits of their own. There is one class, `default`."""

    list_display = ["name", "instances", "cores", "ram_mib", "images", "image_bytes", "networks", "ports", "updated_at"]
    search_fields = ["name"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Once."""
        return super().has_add_permission(request) and not QuotaClass.objects.exists()


@admin.register(UserQuota)
class UserQuotaAdmin(LargeTableAdmin):
    """What single users may have of what their projects may have."""

    form = UserQuotaForm
    list_display = ["project", "user", "instances", "cores", "ram_mib", "updated_at"]
    list_filter = [named("project"), named("user")]
    list_select_related = ["project", "user"]
    search_fields = ["user__username", "project__name"]
    autocomplete_fields = ["project", "user"]


@admin.register(RoleAssignment)
class RoleAssignmentAdmin(OrdinaryRoles, LargeTableAdmin):
    """Who has which role where."""

    list_display = ["user", "project", "role"]
    list_filter = ["role", named("project"), named("user")]
    list_select_related = ["user", "project"]
    search_fields = ["user__username", "project__name"]
    autocomplete_fields = ["user", "project"]

    def has_change_permission(self, request: HttpRequest, obj: RoleAssignment | None = None) -> bool:
        """Roles that reach beyond a project are the superusers' business."""
        return super().has_change_permission(request, obj) and self._may_touch(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: RoleAssignment | None = None) -> bool:
        return super().has_delete_permission(request, obj) and self._may_touch(request, obj)

    def _may_touch(self, request: HttpRequest, obj: RoleAssignment | None) -> bool:
        return obj is None or obj.role not in BEYOND_PROJECTS or _is_superuser(request)


class PrunableAdmin(ReadOnlyAdmin):
    """Rows that only services write, and that may be deleted, which takes nothing away but a permission or a brake."""

    def has_delete_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """As Django's permissions say."""
        return bool(request.user.has_perm(f"{self.opts.app_label}.delete_{self.opts.model_name}"))


@admin.register(Token)
class TokenAdmin(PrunableAdmin):
    """Tokens, without their digests; they can be revoked."""

    list_display = ["user", "project", "is_system", "created_at", "expires_at", "last_used_at", "revoked"]
    list_filter = ["revoked", named("project"), named("user")]
    list_select_related = ["user", "project"]
    search_fields = ["id", "user__username"]
    fields = ["id", "user", "project", "is_system", "created_at", "expires_at", "last_used_at", "revoked"]
    actions = ["revoke"]

    @destructive(
        description=gettext_noop("Revoke the chosen tokens"),
        permissions=["operate"],
        question=gettext_noop("Whoever uses these tokens is refused from the next call on."),
    )
    def revoke(self, request: HttpRequest, queryset: QuerySet[Token]) -> None:
        ended = sum(token_revoke(token_id=token.pk) for token in queryset)
        self.message_user(request, gettext("%(count)s revoked.") % {"count": ended})


@admin.register(ApplicationCredential)
class ApplicationCredentialAdmin(PrunableAdmin):
    """What programs log in with, without the digests of secrets. To delete one ends its tokens."""

    list_display = ["name", "user", "project", "roles", "expires_at", "unrestricted", "created_at"]
    list_filter = ["unrestricted", named("project"), named("user")]
    list_select_related = ["user", "project"]
    search_fields = ["id", "name", "user__username"]
    fields = ["id", "name", "description", "user", "project", "roles", "expires_at", "unrestricted", "created_at"]

    def delete_model(self, request: HttpRequest, obj: ApplicationCredential) -> None:
        """Through the service, which is recorded."""
        application_credentials_remove(credential_ids=[obj.pk])

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[ApplicationCredential]) -> None:
        application_credentials_remove(credential_ids=list(queryset.values_list("pk", flat=True)))


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


class OfAUserAdmin(PrunableAdmin):
    """Rows that say how a user logs in: of who has power, superusers alone take them away."""

    def has_delete_permission(self, request: HttpRequest, obj: Any | None = None) -> bool:
        """As Django's permissions say, and as for the user."""
        return super().has_delete_permission(request, obj) and (obj is None or _may_touch(request, obj.user))

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """One by one: the choice of many would not ask whose they are."""
        return {}


@admin.register(SecondFactor)
class SecondFactorAdmin(OfAUserAdmin):
    """Who has a second factor. To delete one is how somebody gets in who lost the device."""

    list_display = ["user", "confirmed_at", "created_at"]
    list_select_related = ["user"]
    search_fields = ["user__username"]
    fields = ["user", "confirmed_at", "created_at"]

    def delete_model(self, request: HttpRequest, obj: SecondFactor) -> None:
        """Through the service, which is recorded."""
        second_factor_remove(user=obj.user)


@admin.register(ExternalIdentity)
class ExternalIdentityAdmin(OfAUserAdmin):
    """Who logs in by the directory or the provider. Without this row a user is kept here, and has no password yet."""

    list_display = ["user", "source", "subject", "last_seen_at", "ended_at"]
    list_filter = ["source"]
    list_select_related = ["user"]
    search_fields = ["user__username", "subject"]


@admin.register(SavedView)
class SavedViewAdmin(PrunableAdmin):
    """Lists that people saved. Their owners change them in the panel."""

    list_display = ["name", "list", "user", "project", "sharing", "is_default", "updated_at"]
    list_filter = ["list", "sharing", "is_default"]
    list_select_related = ["user", "project"]
    search_fields = ["name", "user__username"]
