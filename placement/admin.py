"""Placement in Django's admin: to look at and search. What may be changed goes through services."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import Count, Model, QuerySet
from django.http import HttpRequest

from controlplane.kernel.errors import KilonovaError
from placement.domain import InventorySpec, is_custom
from placement.models import (
    Allocation,
    Consumer,
    Inventory,
    PlacementAggregate,
    ProviderAggregate,
    ProviderRemoval,
    ProviderTrait,
    ResourceClass,
    ResourceProvider,
    Trait,
)
from placement.services import inventory_put, provider_delete, provider_status_disabled

SPEC_FIELDS = ["total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio"]
USAGE_FIELDS = ["capacity", "used", "free"]


class LookOnly(admin.ModelAdmin):  # type: ignore[type-arg]
    """Rows that only services write. Actions need the right to change, which the row's page does not offer."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never by hand."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never by hand."""
        return False

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """Who may use the actions."""
        return bool(request.user.has_perm(f"{self.opts.app_label}.change_{self.opts.model_name}"))


class LookInline(admin.TabularInline):  # type: ignore[type-arg]
    """Rows below a provider or consumer, to look at."""

    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never by hand."""
        return False


class InventoryInline(LookInline):
    """What the provider has; the link leads to the page where it is changed."""

    model = Inventory
    fields = ["resource_class", *SPEC_FIELDS, "capacity", "used"]
    readonly_fields = ["capacity", "used"]
    show_change_link = True


class ProviderTraitInline(LookInline):
    """Which traits, and who put them there."""

    model = ProviderTrait
    fields = ["trait", "owner"]


class ProviderAggregateInline(LookInline):
    """Which aggregates."""

    model = ProviderAggregate
    fields = ["aggregate"]


class AllocationInline(LookInline):
    """Who holds what."""

    model = Allocation
    fields = ["consumer", "provider", "resource_class", "used"]


@admin.register(ResourceProvider)
class ProviderAdmin(LookOnly):
    """Providers with all that hangs on them."""

    list_display = ["name", "uuid", "kind", "parent", "generation", "updated_at"]
    list_filter = ["kind", "trait_rows__owner"]
    list_select_related = ["parent"]
    search_fields = ["name", "uuid", "trait_rows__trait__name"]
    exclude = ["changed"]
    inlines = [InventoryInline, ProviderTraitInline, ProviderAggregateInline, AllocationInline]
    actions = ["disable", "enable", "delete_unused"]

    @admin.action(description="Disable: no new instances (COMPUTE_STATUS_DISABLED)", permissions=["operate"])
    def disable(self, request: HttpRequest, queryset: QuerySet[ResourceProvider]) -> None:
        """Through the service."""
        self._each(request, queryset, lambda row: provider_status_disabled(row.uuid, True))

    @admin.action(description="Enable: new instances may come", permissions=["operate"])
    def enable(self, request: HttpRequest, queryset: QuerySet[ResourceProvider]) -> None:
        """Through the service."""
        self._each(request, queryset, lambda row: provider_status_disabled(row.uuid, False))

    @admin.action(description="Delete providers that nobody uses", permissions=["operate"])
    def delete_unused(self, request: HttpRequest, queryset: QuerySet[ResourceProvider]) -> None:
        """Through the service, which refuses what is in use."""
        self._each(request, queryset, lambda row: provider_delete(row.uuid))

    def _each(
        self,
        request: HttpRequest,
        rows: QuerySet[ResourceProvider],
        service: Callable[[ResourceProvider], object],
    ) -> None:
        """A refusal is shown and does not keep the others from being done."""
        done = 0
        for row in rows:
            try:
                service(row)
            except KilonovaError as error:
                self.message_user(request, f"{row.name}: {error.message}", messages.ERROR)
            else:
                done += 1
        if done:
            self.message_user(request, f"Done for {done}.")


class InventoryForm(forms.ModelForm):  # type: ignore[type-arg]
    """The stated numbers, held to the rules that the service applies."""

    class Meta:
        model = Inventory
        fields = SPEC_FIELDS

    def clean(self) -> dict[str, Any]:
        """Say what is wrong before the service would."""
        cleaned: dict[str, Any] = super().clean() or {}
        if not self.errors:
            try:
                self.spec.check(self.instance.resource_class.name)
            except KilonovaError as error:
                raise ValidationError(error.message) from error
        return cleaned

    @property
    def spec(self) -> InventorySpec:
        """The numbers of a valid form."""
        return InventorySpec(**{name: self.cleaned_data[name] for name in SPEC_FIELDS})

    def _post_clean(self) -> None:
        """The row is written by the service, so the form leaves it alone; its numbers are checked in `clean`."""


@admin.register(Inventory)
class InventoryAdmin(LookOnly):
    """Inventories. Their numbers can be stated anew; usage is only shown."""

    form = InventoryForm
    list_display = ["provider", "resource_class", "total", "reserved", "allocation_ratio", *USAGE_FIELDS]
    list_filter = ["resource_class"]
    list_select_related = ["provider", "resource_class"]
    search_fields = ["provider__name", "provider__uuid", "resource_class__name"]
    fields = ["provider", "resource_class", *SPEC_FIELDS, *USAGE_FIELDS]
    readonly_fields = ["provider", "resource_class", *USAGE_FIELDS]

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """As Django's permissions say; saving goes through the service."""
        return self.has_operate_permission(request)

    @admin.display(description="free")
    def free(self, row: Inventory) -> int:
        """What a claim can still get."""
        return max(0, row.capacity - row.used)

    def save_model(self, request: HttpRequest, obj: Inventory, form: Any, change: bool) -> None:
        """State the class anew: capacity, generation and change stamp follow from it."""
        inventory_put(obj.provider.uuid, obj.resource_class.name, form.spec)
        obj.refresh_from_db()


class NameForm(forms.ModelForm):  # type: ignore[type-arg]
    """A custom name."""

    def clean_name(self) -> str:
        """Standard names come from the catalogues, never by hand."""
        name = str(self.cleaned_data["name"])
        if not is_custom(name):
            raise ValidationError("Custom names start with CUSTOM_, then capital letters, digits and underscores.")
        return name


class NameAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Names: custom ones can be added, and deleted while nobody uses them; none is ever renamed."""

    form = NameForm
    list_display = ["name", "uses", "is_custom"]
    search_fields = ["name"]
    users = ""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """With the number of uses."""
        rows: QuerySet[Any] = super().get_queryset(request).annotate(uses=Count(self.users))
        return rows

    @admin.display(description="providers", ordering="uses")
    def uses(self, row: Any) -> int:
        """How many providers have it."""
        return int(row.uses)

    @admin.display(description="custom", boolean=True)
    def is_custom(self, row: ResourceClass | Trait) -> bool:
        """Not of the standard catalogue."""
        return row.is_custom

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Rows elsewhere mean it by its name."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Custom names only; the database refuses those in use."""
        if isinstance(obj, ResourceClass | Trait) and not obj.is_custom:
            return False
        return super().has_delete_permission(request, obj) and obj is not None


@admin.register(ResourceClass)
class ResourceClassAdmin(NameAdmin):
    """Resource classes."""

    users = "inventories"


@admin.register(Trait)
class TraitAdmin(NameAdmin):
    """Traits."""

    users = "provider_rows"


@admin.register(ProviderTrait)
class ProviderTraitAdmin(LookOnly):
    """Which provider has which trait."""

    list_display = ["provider", "trait", "owner"]
    list_filter = ["owner"]
    list_select_related = ["provider", "trait"]
    search_fields = ["provider__name", "trait__name"]


@admin.register(PlacementAggregate)
class PlacementAggregateAdmin(LookOnly):
    """Aggregates by uuid."""

    list_display = ["uuid"]
    search_fields = ["uuid"]


@admin.register(ProviderAggregate)
class ProviderAggregateAdmin(LookOnly):
    """Which provider is in which aggregate."""

    list_display = ["provider", "aggregate"]
    list_select_related = ["provider", "aggregate"]
    search_fields = ["provider__name", "aggregate__uuid"]


@admin.register(Consumer)
class ConsumerAdmin(LookOnly):
    """Who holds allocations."""

    list_display = ["uuid", "consumer_type", "project_id", "user_id", "generation", "created_at"]
    list_filter = ["consumer_type"]
    search_fields = ["uuid", "project_id", "user_id"]
    inlines = [AllocationInline]


@admin.register(Allocation)
class AllocationAdmin(LookOnly):
    """Who holds how much of what."""

    list_display = ["consumer", "provider", "resource_class", "used"]
    list_filter = ["resource_class"]
    list_select_related = ["consumer", "provider", "resource_class"]
    search_fields = ["consumer__uuid", "provider__name", "provider__uuid"]


@admin.register(ProviderRemoval)
class ProviderRemovalAdmin(LookOnly):
    """Which providers were deleted."""

    list_display = ["provider_uuid", "changed"]
    search_fields = ["provider_uuid"]
