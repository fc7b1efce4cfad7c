"""Flavors, images, key pairs, server groups and networks."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.forms import BooleanField, ModelForm
from django.http import HttpRequest

from controlplane.infra.admin.bases import ReadOnlyAdmin, ReadOnlyInline, ThroughServicesAdmin, run_on_each
from controlplane.kernel.errors import Invalid
from servers.admin.through_services import problems_of, problems_on_form
from servers.catalog.domain.flavor_rules import flavor_problems
from servers.catalog.domain.public_keys import key_name_reasons, public_key_parse
from servers.catalog.services.flavor import CHANGEABLE, flavor_create, flavor_delete, flavor_fields, flavor_update
from servers.catalog.services.keypair import keypair_create, keypair_delete
from servers.catalog.services.network import network_create, network_delete
from servers.fields import name_reasons, problems_found
from servers.images.services.image import image_deactivate, image_reactivate
from servers.images.services.image_store import image_delete
from servers.models import Flavor, Image, KeyPair, Network, ServerGroup, ServerGroupMember


class FlavorForm(ModelForm[Flavor]):
    """The rules of the service, whose problems are shown at the fields."""

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
        """Extra specs may be left empty."""
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("extra_specs") is None and "extra_specs" not in self.errors:
            cleaned["extra_specs"] = {}
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

    @admin.action(description="Take no new instances", permissions=["operate"])
    def disable(self, request: HttpRequest, queryset: QuerySet[Flavor]) -> None:
        """Disable the chosen ones."""
        run_on_each(self, request, queryset, lambda one: flavor_update(flavor_id=one.pk, changes={"disabled": True}))

    @admin.action(description="Take new instances again", permissions=["operate"])
    def enable(self, request: HttpRequest, queryset: QuerySet[Flavor]) -> None:
        """Enable the chosen ones."""
        run_on_each(self, request, queryset, lambda one: flavor_update(flavor_id=one.pk, changes={"disabled": False}))


@admin.register(Image)
class ImageAdmin(ThroughServicesAdmin):
    """Records of images; their data comes by the API."""

    list_display = ["name", "status", "visibility", "project", "disk_format", "size_bytes", "protected", "created_at"]
    list_filter = ["status", "visibility", "disk_format", "protected"]
    search_fields = ["id", "name", "checksum_sha256"]
    list_select_related = ["project"]
    actions = ["deactivate", "reactivate"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Images are made by the API, which takes their data too."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """By the API; actions change the status."""
        return False

    def service_delete(self, obj: Image) -> None:
        """Through the service, with its file; a protected one is refused."""
        image_delete(caller=None, image_id=obj.pk)

    @admin.action(description="Deactivate", permissions=["operate"])
    def deactivate(self, request: HttpRequest, queryset: QuerySet[Image]) -> None:
        """No new instances of them."""
        run_on_each(self, request, queryset, lambda one: image_deactivate(image_id=one.pk))

    @admin.action(description="Reactivate", permissions=["operate"])
    def reactivate(self, request: HttpRequest, queryset: QuerySet[Image]) -> None:
        run_on_each(self, request, queryset, lambda one: image_reactivate(image_id=one.pk))


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
    list_filter = ["type"]
    list_select_related = ["user"]

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Instances hold copies, so a changed key would only mislead."""
        return False

    def save_model(self, request: HttpRequest, obj: KeyPair, form: Any, change: bool) -> None:
        made = keypair_create(user_id=obj.user_id, name=obj.name, public_key=obj.public_key)
        obj.pk, obj.fingerprint = made.pk, made.fingerprint

    def service_delete(self, obj: KeyPair) -> None:
        keypair_delete(user_id=obj.user_id, name=obj.name)


class MemberInline(ReadOnlyInline):
    """Who is in the group. Instances join when they are created."""

    model = ServerGroupMember
    fields = ["instance_uuid"]


@admin.register(ServerGroup)
class ServerGroupAdmin(ReadOnlyAdmin):
    """Groups and their members."""

    list_display = ["name", "policy", "project", "created_at"]
    list_filter = ["policy"]
    search_fields = ["id", "name", "members__instance_uuid"]
    list_select_related = ["project"]
    inlines = [MemberInline]


class NetworkForm(ModelForm[Network]):
    """The rules of the service, whose problems are shown at the fields."""

    # Not the model's field: that only one is the default is what the service sees to, by moving it.
    make_default = BooleanField(required=False, help_text="Instances that ask for no network get this one.")

    class Meta:
        model = Network
        fields = ["name", "hypervisor_network"]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        names = [field for field in ("name", "hypervisor_network") if field in cleaned]
        problems_on_form(self, problems_found({field: name_reasons(cleaned[field]) for field in names}))
        return cleaned


@admin.register(Network)
class NetworkAdmin(ThroughServicesAdmin):
    """Names for the networks of the hypervisors."""

    form = NetworkForm
    list_display = ["name", "hypervisor_network", "is_default", "created_at"]
    list_filter = ["is_default"]
    search_fields = ["id", "name", "hypervisor_network"]

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Ports hold copies, so a changed network would only mislead."""
        return False

    def save_model(self, request: HttpRequest, obj: Network, form: Any, change: bool) -> None:
        is_default = form.cleaned_data["make_default"]
        made = network_create(name=obj.name, hypervisor_network=obj.hypervisor_network, is_default=is_default)
        obj.pk = made.pk

    def service_delete(self, obj: Network) -> None:
        network_delete(network_id=obj.pk)
