"""Resource classes and traits in the admin."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from controlplane.infra.admin.large_tables import LargeTableAdmin
from placement.domain import is_custom
from placement.models import ResourceClass, Trait


class NameForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """The form of a custom resource class or trait."""

    def clean_name(self) -> str:
        """Standard names come from the catalogues, never by hand."""
        name = str(self.cleaned_data["name"])
        if not is_custom(name):
            raise ValidationError(_("Custom names start with CUSTOM_, then capital letters, digits and underscores."))
        return name


class NameAdmin(LargeTableAdmin):
    """Names: custom ones can be added, and deleted while nobody uses them; none is ever renamed."""

    form = NameForm
    list_display = ["name", "uses", "is_custom"]
    search_fields = ["name"]
    users = ""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """With the number of uses."""
        rows: QuerySet[Any] = super().get_queryset(request).annotate(uses=Count(self.users))
        return rows

    @admin.display(description=_("providers"), ordering="uses")
    def uses(self, row: Any) -> int:
        """How many providers have it."""
        return int(row.uses)

    @admin.display(description=_("custom"), boolean=True)
    def is_custom(self, row: ResourceClass | Trait) -> bool:
        """Not of the standard catalogue."""
        return row.is_custom

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Rows elsewhere mean it by its name."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any | None = None) -> bool:
        """Custom names only; the database refuses those in use."""
        if isinstance(obj, ResourceClass | Trait) and not obj.is_custom:
            return False
        return super().has_delete_permission(request, obj) and obj is not None


@admin.register(ResourceClass)
class ResourceClassAdmin(NameAdmin):
    users = "inventories"


@admin.register(Trait)
class TraitAdmin(NameAdmin):
    users = "provider_rows"
