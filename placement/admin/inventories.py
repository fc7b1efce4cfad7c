"""Inventories in the admin: their numbers are stated anew in two steps, the effect shown between them."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from controlplane.infra.admin import RefusalsAtFields, destructive
from controlplane.infra.admin.bases import ReadOnlyAdmin, run_on_each
from controlplane.infra.admin.filters import named
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import Conflict, KilonovaError
from controlplane.kernel.texts import gettext_noop
from placement.domain import InventorySpec
from placement.models import Inventory
from placement.selectors.inventory_effect import inventory_effect
from placement.services import inventory_put, inventory_remove

SPEC_FIELDS = ["total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio"]
USAGE_FIELDS = ["capacity", "used", "free"]
MAX_PROPOSED = 1_000_000.0
# Posted by the page with the effect, and by nothing else: the generation at which the effect was read.
CONFIRMED = "confirmed_generation"


class InventoryForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
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
                raise ValidationError(refusal_text(error)) from error
        return cleaned

    # What an address proposes in place of the numbers that are stored; the class is made anew for each request.
    proposed: ClassVar[dict[str, float]] = {}

    @property
    def spec(self) -> InventorySpec:
        """The numbers of a valid form."""
        return InventorySpec(**{name: self.cleaned_data[name] for name in SPEC_FIELDS})

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.initial = {**self.initial, **self.proposed}

    def _post_clean(self) -> None:
        """The row is written by the service, so the form leaves it alone; its numbers are checked in `clean`."""


@admin.register(Inventory)
class InventoryAdmin(RefusalsAtFields, ReadOnlyAdmin):
    """Inventories. Their numbers can be stated anew; usage is only shown."""

    form = InventoryForm
    list_display = ["provider", "resource_class", "total", "reserved", "allocation_ratio", *USAGE_FIELDS]
    list_filter = [named("resource_class"), named("provider")]
    list_select_related = ["provider", "resource_class"]
    search_fields = ["provider__name", "provider__uuid", "resource_class__name"]
    fields = ["provider", "resource_class", *SPEC_FIELDS, *USAGE_FIELDS]
    readonly_fields = ["provider", "resource_class", *USAGE_FIELDS]
    actions = ["remove_unused"]

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """As Django's permissions say; saving goes through the service."""
        return self.has_operate_permission(request)

    def get_form(self, request: HttpRequest, obj: Any | None = None, change: bool = False, **kwargs: Any) -> Any:
        """With another overcommit where the address proposes one, as advice about failed instances does."""
        form: Any = super().get_form(request, obj, change, **kwargs)
        try:
            ratio = float(request.GET.get("allocation_ratio", ""))
        except ValueError:
            return form
        if request.method != "GET" or not 0 < ratio < MAX_PROPOSED:
            return form

        class ProposedInventoryForm(form):  # type: ignore[misc]  # made at run time
            proposed: ClassVar[dict[str, float]] = {"allocation_ratio": ratio}

        return ProposedInventoryForm

    @admin.display(description=_("free"))
    def free(self, row: Inventory) -> int:
        """What a claim can still get."""
        return max(0, row.capacity - row.used)

    @destructive(
        description=gettext_noop("Remove inventories that nobody uses"),
        permissions=["operate"],
        question=gettext_noop(
            "These inventories are removed where nobody uses them; an agent reports its host's own ones anew."
        ),
    )
    def remove_unused(self, request: HttpRequest, queryset: QuerySet[Inventory]) -> None:
        """Through the service, which refuses what is in use."""
        rows = queryset.select_related("provider", "resource_class")
        run_on_each(self, request, rows, lambda row: inventory_remove(row.provider.uuid, row.resource_class.name))

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Valid numbers lead to their effect, and only from there to the service."""
        if request.method != "POST" or object_id is None:
            return super().changeform_view(request, object_id, form_url, extra_context)
        if CONFIRMED not in request.POST:
            asked = self._ask(request, object_id)
            return asked or super().changeform_view(request, object_id, form_url, extra_context)
        return super().changeform_view(request, object_id, form_url, extra_context)

    def refused(self, request: HttpRequest, object_id: str | None, error: KilonovaError) -> HttpResponse | None:
        """A conflict is asked about again, with the effect of now."""
        if object_id is None or not isinstance(error, Conflict):
            return None
        warning = gettext(
            "Something changed on this provider while you looked, so nothing was saved. This is the effect now."
        )
        return self._ask(request, object_id, warning)

    def _ask(self, request: HttpRequest, object_id: str, warning: str = "") -> HttpResponse | None:
        """The page with the effect; None where the ordinary form must answer (no right, no row, wrong numbers)."""
        row = self.get_object(request, object_id)
        if row is None or not self.has_change_permission(request, row):
            return None
        form = InventoryForm(request.POST, instance=row)
        if not form.is_valid():
            return None
        effect = inventory_effect(row.provider.uuid, row.resource_class.name, form.spec, gettext)
        if not effect.changes:
            return None
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": row,
            "title": gettext("%(resource)s of %(provider)s")
            % {"resource": effect.resource_class, "provider": effect.provider_name},
            "effect": effect,
            "sentences": effect.sentences(gettext),
            "warning": warning,
            "confirmed": CONFIRMED,
            "posted": [(name, request.POST[name]) for name in SPEC_FIELDS],
        }
        return TemplateResponse(request, "admin/placement/inventory/effect.html", context)

    def save_model(self, request: HttpRequest, obj: Inventory, form: Any, change: bool) -> None:
        """State the class anew: capacity, generation and change stamp follow from it.

        Without a confirmed effect the numbers are those that are there, and nothing is to be done.
        """
        generation = request.POST.get(CONFIRMED, "")
        if generation.isascii() and generation.isdecimal():
            spec, name = form.spec, obj.resource_class.name
            inventory_put(obj.provider.uuid, name, spec, expected_generation=int(generation))
            obj.refresh_from_db()
