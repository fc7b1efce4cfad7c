"""Resource providers in the admin, with the traits and aggregates that operators give them."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from controlplane.infra.admin import destructive
from controlplane.infra.admin.bases import ReadOnlyAdmin, ReadOnlyInline, ThroughServicesAdmin, run_on_each
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import gettext_noop
from placement.admin.consumers import AllocationInline
from placement.admin.inventories import SPEC_FIELDS
from placement.domain import TraitOwner, is_custom
from placement.models import (
    Inventory,
    PlacementAggregate,
    ProviderAggregate,
    ProviderRemoval,
    ProviderTrait,
    ResourceProvider,
    Trait,
)
from placement.selectors.providers import aggregate_uuids_of, trait_owners
from placement.services import provider_aggregates_set, provider_delete, provider_status_disabled, provider_traits_set


class InventoryInline(ReadOnlyInline):
    """What the provider has; the link leads to the page where it is changed."""

    model = Inventory
    fields = ["resource_class", *SPEC_FIELDS, "capacity", "used"]
    readonly_fields = ["capacity", "used"]
    show_change_link = True


class ProviderTraitInline(ReadOnlyInline):
    """Which traits, and who put them there."""

    model = ProviderTrait
    fields = ["trait", "owner"]


class ProviderForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """An operator's traits and the aggregates, one a line; drivers' traits and the status are not for this form."""

    operator_traits = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 6, "cols": 60}),
        help_text=_("One a line. Standard names, or CUSTOM_ and your own. What drivers report stays as it is."),
    )
    aggregates = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "cols": 60}),
        help_text=_("Their uuids, one a line. Those of a host follow its host aggregates; set them there."),
    )
    # What the operator saw. Compared instead of the generation, which every claim changes too.
    seen = forms.CharField(required=False, widget=forms.HiddenInput, strip=False, label="")

    class Meta:
        model = ResourceProvider
        fields: list[str] = []

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.traits_now, self.aggregates_now = _traits(self.instance), _aggregates(self.instance)
        self.fields["operator_traits"].initial = "\n".join(self.traits_now)
        self.fields["aggregates"].initial = "\n".join(self.aggregates_now)
        self.fields["seen"].initial = self._seen_now

    @property
    def _seen_now(self) -> str:
        return " ".join([*self.traits_now, *self.aggregates_now])

    def clean_operator_traits(self) -> frozenset[str]:
        """Names that exist, or that may be made."""
        names = frozenset(str(self.cleaned_data["operator_traits"]).split())
        known = set(Trait.objects.filter(name__in=names).values_list("name", flat=True))
        if unknown := sorted(name for name in names - known if not is_custom(name)):
            raise ValidationError(
                gettext("No such trait: %(names)s. Your own names start with CUSTOM_.") % {"names": ", ".join(unknown)}
            )
        return names

    def clean_aggregates(self) -> frozenset[UUID]:
        """Well-formed uuids; what they mean is known elsewhere."""
        words = str(self.cleaned_data["aggregates"]).split()
        found = {word: parse_uuid(word) for word in words}
        if wrong := [word for word, uuid in found.items() if uuid is None]:
            raise ValidationError(gettext("Not a uuid: %(words)s.") % {"words": ", ".join(wrong)})
        return frozenset(uuid for uuid in found.values() if uuid is not None)

    def clean(self) -> dict[str, Any]:
        """Refuse to overwrite what somebody else set since the form was opened; saving again then does it."""
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("seen", "") != self._seen_now:
            self.data = {**self.data.dict(), "seen": self._seen_now}  # type: ignore[attr-defined]  # a QueryDict
            raise ValidationError(
                "Somebody changed this provider while you did. Now its operators' traits are:"
                f" {', '.join(self.traits_now) or 'none'}; its aggregates: {', '.join(self.aggregates_now) or 'none'}."
                " Your text is kept: compare, and save again."
            )
        return cleaned


def _traits(provider: ResourceProvider) -> list[str]:
    return sorted(name for name, owner in trait_owners(provider.uuid).items() if owner is TraitOwner.OPERATOR)


def _aggregates(provider: ResourceProvider) -> list[str]:
    return sorted(str(uuid) for uuid in aggregate_uuids_of(provider.uuid))


@admin.register(ResourceProvider)
class ProviderAdmin(ThroughServicesAdmin, ReadOnlyAdmin):
    """Providers with all that hangs on them."""

    form = ProviderForm
    list_display = ["name", "kind", "parent", "generation", "updated_at"]
    list_filter = ["kind", "trait_rows__owner"]
    list_select_related = ["parent"]
    search_fields = ["name", "uuid", "trait_rows__trait__name"]
    readonly_fields = ["name", "uuid", "kind", "parent", "root", "generation", "created_at", "updated_at"]
    fields = [*readonly_fields, "operator_traits", "aggregates", "seen"]
    inlines = [InventoryInline, ProviderTraitInline, AllocationInline]
    actions = ["disable", "enable", "delete_unused"]

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """As Django's permissions say; saving goes through services."""
        return self.has_operate_permission(request)

    def get_fields(self, request: HttpRequest, obj: Any | None = None) -> Any:
        """Whoever may only read gets no fields of the form: the traits are shown below, with their owners."""
        return self.fields if self.has_change_permission(request, obj) else self.readonly_fields

    def view_on_site(self, obj: ResourceProvider) -> str:
        return f"/providers/{obj.uuid}/"

    def save_model(self, request: HttpRequest, obj: ResourceProvider, form: Any, change: bool) -> None:
        """Traits and aggregates, both or none: the page's transaction is around them."""
        provider_traits_set(obj.uuid, form.cleaned_data["operator_traits"], owner=TraitOwner.OPERATOR)
        provider_aggregates_set(obj.uuid, form.cleaned_data["aggregates"])

    @admin.action(
        description=gettext_noop("Disable: no new instances (COMPUTE_STATUS_DISABLED)"), permissions=["operate"]
    )
    def disable(self, request: HttpRequest, queryset: QuerySet[ResourceProvider]) -> None:
        run_on_each(self, request, queryset, lambda row: provider_status_disabled(row.uuid, True))

    @admin.action(description=gettext_noop("Enable: new instances may come"), permissions=["operate"])
    def enable(self, request: HttpRequest, queryset: QuerySet[ResourceProvider]) -> None:
        run_on_each(self, request, queryset, lambda row: provider_status_disabled(row.uuid, False))

    @destructive(
        description=gettext_noop("Delete providers that nobody uses"),
        permissions=["operate"],
        question=gettext_noop(
            "These providers are deleted, with their inventories and traits, where nobody uses them."
        ),
    )
    def delete_unused(self, request: HttpRequest, queryset: QuerySet[ResourceProvider]) -> None:
        """Through the service, which refuses what is in use."""
        run_on_each(self, request, queryset, lambda row: provider_delete(row.uuid))


@admin.register(ProviderTrait)
class ProviderTraitAdmin(ReadOnlyAdmin):
    """Which provider has which trait."""

    list_display = ["provider", "trait", "owner"]
    list_filter = ["owner"]
    list_select_related = ["provider", "trait"]
    search_fields = ["provider__name", "trait__name"]


@admin.register(PlacementAggregate)
class PlacementAggregateAdmin(ReadOnlyAdmin):
    list_display = ["uuid"]
    search_fields = ["uuid"]


@admin.register(ProviderAggregate)
class ProviderAggregateAdmin(ReadOnlyAdmin):
    """Which provider is in which aggregate."""

    list_display = ["provider", "aggregate"]
    list_select_related = ["provider", "aggregate"]
    search_fields = ["provider__name", "aggregate__uuid"]


@admin.register(ProviderRemoval)
class ProviderRemovalAdmin(ReadOnlyAdmin):
    """Which providers were deleted."""

    list_display = ["provider_uuid", "changed"]
    search_fields = ["provider_uuid"]
