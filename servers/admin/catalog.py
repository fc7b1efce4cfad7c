"""Flavors, key pairs and server groups."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from controlplane.infra.admin.bases import ReadOnlyAdmin, ReadOnlyInline, ThroughServicesAdmin, run_on_each
from controlplane.infra.admin.filters import named
from controlplane.infra.admin.pair_groups import PairGroupsField
from controlplane.infra.admin.pairs import KeyedTextField
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import gettext_noop
from servers.admin.known_keys import DEVICE_GROUP_KEYS, EXTRA_SPECS
from servers.admin.through_services import problems_of, problems_on_form
from servers.catalog.domain.device_profiles import device_profile_problems
from servers.catalog.domain.flavor_rules import flavor_problems
from servers.catalog.domain.public_keys import key_name_reasons, public_key_parse
from servers.catalog.services.device_profile import (
    device_profile_create,
    device_profile_delete,
    device_profile_update,
)
from servers.catalog.services.flavor import (
    CHANGEABLE,
    flavor_access_add,
    flavor_access_remove,
    flavor_create,
    flavor_delete,
    flavor_fields,
    flavor_update,
)
from servers.catalog.services.keypair import keypair_create, keypair_delete
from servers.fields import problems_found
from servers.models import (
    DeviceProfile,
    Flavor,
    FlavorAccess,
    ImageCertificate,
    KeyPair,
    ServerGroup,
    ServerGroupMember,
)


class FlavorForm(ModelForm[Flavor]):
    """The rules of the service, whose problems are shown at the fields."""

    extra_specs = KeyedTextField(EXTRA_SPECS, help_text=_("To remove a key, empty its row."))

    class Meta:
        model = Flavor
        fields = [
            "name",
            "description",
            "vcpus",
            "memory_mib",
            "root_gib",
            "ephemeral_gib",
            "swap_mib",
            "is_public",
            "disabled",
            "extra_specs",
        ]

    def clean(self) -> dict[str, Any]:
        """As the service will judge it."""
        cleaned = super().clean() or self.cleaned_data
        stored = None if self.instance._state.adding else flavor_fields(self.instance)
        problems_on_form(self, flavor_problems(cleaned, stored=stored))
        return cleaned


@admin.register(Flavor)
class FlavorAdmin(ThroughServicesAdmin):
    form = FlavorForm
    list_display = ["name", "vcpus", "memory_mib", "root_gib", "ephemeral_gib", "swap_mib", "is_public", "disabled"]
    list_filter = ["is_public", "disabled"]
    search_fields = ["id", "name", "description"]
    actions = ["disable", "enable"]

    def save_model(self, request: HttpRequest, obj: Flavor, form: Any, change: bool) -> None:
        fields = {name: form.cleaned_data[name] for name in CHANGEABLE}
        if change:
            flavor_update(flavor_id=obj.pk, changes=fields)
        else:
            flavor_create(flavor_id=obj.pk, **fields)

    def service_delete(self, obj: Flavor) -> None:
        flavor_delete(flavor_id=obj.pk)

    @admin.action(description=gettext_noop("Take no new instances"), permissions=["operate"])
    def disable(self, request: HttpRequest, queryset: QuerySet[Flavor]) -> None:
        """Disable the chosen ones."""
        run_on_each(self, request, queryset, lambda one: flavor_update(flavor_id=one.pk, changes={"disabled": True}))

    @admin.action(description=gettext_noop("Take new instances again"), permissions=["operate"])
    def enable(self, request: HttpRequest, queryset: QuerySet[Flavor]) -> None:
        """Enable the chosen ones."""
        run_on_each(self, request, queryset, lambda one: flavor_update(flavor_id=one.pk, changes={"disabled": False}))


@admin.register(FlavorAccess)
class FlavorAccessAdmin(ThroughServicesAdmin):
    """Which project may use which flavor that is not public."""

    fields = ["flavor", "project"]
    list_display = ["id", "flavor", "project"]
    list_select_related = ["flavor", "project"]
    search_fields = ["flavor__name", "project__name"]
    autocomplete_fields = ["flavor", "project"]

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """It is given and taken."""
        return False

    def save_model(self, request: HttpRequest, obj: FlavorAccess, form: Any, change: bool) -> None:
        flavor_access_add(flavor_id=obj.flavor_id, project_id=obj.project_id)
        obj.pk = FlavorAccess.objects.get(flavor=obj.flavor_id, project=obj.project_id).pk

    def service_delete(self, obj: FlavorAccess) -> None:
        flavor_access_remove(flavor_id=obj.flavor_id, project_id=obj.project_id)


class DeviceProfileForm(ModelForm[DeviceProfile]):
    """The rules of the service, whose problems are shown at the fields."""

    groups = PairGroupsField(
        DEVICE_GROUP_KEYS,
        help_text=_(
            "Each group is PCI devices by their alias, or virtual GPUs with traits, which one card gives whole. "
            "To remove a group, empty its rows."
        ),
    )

    class Meta:
        model = DeviceProfile
        fields = ["name", "description", "groups"]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        said = {key: cleaned.get(key) for key in self.Meta.fields}
        problems_on_form(self, device_profile_problems(**said))
        return cleaned


@admin.register(DeviceProfile)
class DeviceProfileAdmin(ThroughServicesAdmin):
    """What a flavor's `accel:device_profile` means."""

    form = DeviceProfileForm
    list_display = ["name", "description", "created_at"]
    search_fields = ["id", "name", "description"]

    def save_model(self, request: HttpRequest, obj: DeviceProfile, form: Any, change: bool) -> None:
        said = {name: form.cleaned_data[name] for name in form.changed_data}
        if change:
            device_profile_update(profile_id=obj.pk, changes=said)
        else:
            obj.pk = device_profile_create(**said).pk

    def service_delete(self, obj: DeviceProfile) -> None:
        device_profile_delete(profile_id=obj.pk)


class KeyPairForm(ModelForm[KeyPair]):
    """The rules of the service, whose problems are shown at the fields."""

    class Meta:
        model = KeyPair
        fields = ["user", "name", "public_key"]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if "name" in cleaned:
            problems_on_form(self, problems_found({"name": key_name_reasons(cleaned["name"])}))
        try:
            public_key_parse(cleaned.get("public_key", ""))
        except Invalid as error:
            problems_on_form(self, problems_of(error))
        return cleaned


@admin.register(KeyPair)
class KeyPairAdmin(ThroughServicesAdmin):
    """Public keys of users. A key is replaced by deleting it and adding another."""

    form = KeyPairForm
    list_display = ["name", "user", "fingerprint", "created_at"]
    search_fields = ["name", "fingerprint", "user__username"]
    list_filter = ["type", named("user")]
    list_select_related = ["user"]

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Instances hold copies, so a changed key would only mislead."""
        return False

    def save_model(self, request: HttpRequest, obj: KeyPair, form: Any, change: bool) -> None:
        made = keypair_create(user_id=obj.user_id, name=obj.name, public_key=obj.public_key)
        obj.pk, obj.fingerprint = made.pk, made.fingerprint

    def service_delete(self, obj: KeyPair) -> None:
        keypair_delete(user_id=obj.user_id, name=obj.name)


@admin.register(ImageCertificate)
class ImageCertificateAdmin(ReadOnlyAdmin):
    """Certificates of signed images: whose they are, and until when they are good. They come and go by the API."""

    list_display = ["name", "project", "subject", "not_after", "created_at"]
    list_filter = [named("project")]
    list_select_related = ["project"]
    search_fields = ["name", "subject", "fingerprint_sha256", "id"]


class MemberInline(ReadOnlyInline):
    """Who is in the group. Instances join when they are created."""

    model = ServerGroupMember
    fields = ["instance_uuid"]


@admin.register(ServerGroup)
class ServerGroupAdmin(ReadOnlyAdmin):
    """Groups and their members."""

    list_display = ["name", "policy", "project", "created_at"]
    list_filter = ["policy", named("project")]
    search_fields = ["id", "name", "members__instance_uuid"]
    list_select_related = ["project"]
    inlines = [MemberInline]
