"""Tags in the admin of what networks are made of: a field of the form, and a filter of the list."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.forms import CharField, ModelForm
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from controlplane.infra.admin.bases import ThroughServicesAdmin
from controlplane.infra.admin.filters import TypedFilter
from servers.networks.domain.tags import tags_of_text, tags_text
from servers.networks.selectors.tags import TaggedKind
from servers.networks.services.tags import tags_replace


class TagFilter(TypedFilter):
    """What has this tag."""

    parameter, title = "tag", "tag"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Rows that have it."""
        return queryset.filter(tags__holds=self.value) if self.value else queryset


class TaggedForm(ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """The tags in one line."""

    tags = CharField(required=False, max_length=20_000, help_text=_("Words separated by commas."))

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.initial["tags"] = tags_text(self.instance.tags)


class TaggedAdmin(ThroughServicesAdmin):
    """Rows of one kind with tags, which their service changes after what else the form says, or neither is changed."""

    tagged_kind: ClassVar[TaggedKind]
    exclude = ("tags",)  # of the model's fields; the form has one of its own

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        if "tags" in form.changed_data:
            tags = tags_of_text(form.cleaned_data["tags"])
            tags_replace(caller=None, kind=self.tagged_kind, resource_id=form.instance.pk, tags=tags)
