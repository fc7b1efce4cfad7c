"""Lists of the admin over tables of any size: pages are bounded, and counting stops where nobody turns pages."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from controlplane.infra.admin.names import NamingChangeList, id_fields, name_column, names_attach
from controlplane.infra.admin.site import site_of

MAX_COUNTED = 10_000


class BoundedPaginator(Paginator[Any]):
    """Pages of the first MAX_COUNTED rows; whoever looks for another one searches, filters or sorts."""

    @cached_property
    def count(self) -> int:
        """At most MAX_COUNTED, so that the database stops there."""
        return len(self.object_list) if isinstance(self.object_list, list) else self._counted()

    def _counted(self) -> int:
        rows: QuerySet[Any] = self.object_list  # type: ignore[assignment]  # a list was ruled out
        return rows.order_by()[:MAX_COUNTED].count()


class LargeTableAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """A list costs its page: no second count of the whole table, no page of thousands of rows.

    Ids of other things are shown by name, and rows that have a page in the panel lead to it.
    """

    show_full_result_count = False
    list_per_page = 50
    list_max_show_all = 200
    # A count for each choice of each filter would read the whole table as often.
    show_facets = admin.ShowFacets.NEVER
    paginator = BoundedPaginator

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[NamingChangeList]:
        """With names."""
        return NamingChangeList

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        """The columns; ids as names, and the link to the panel last."""
        names = self._name_columns
        columns: list[Any] = []
        for position, one in enumerate(super().get_list_display(request)):
            # The first column is itself the link to the row.
            columns.append(names[one](position > 0) if isinstance(one, str) and one in names else one)
        return [*columns, panel_column(self)] if site_of(self).has_panel_page(self.model) else columns

    def get_fields(self, request: HttpRequest, obj: Any | None = None) -> Any:
        """Ids are shown by name where they cannot be edited."""
        names, shown = self._name_columns, super().get_fields(request, obj)
        if not names or self.has_change_permission(request, obj):
            return shown
        return [names[one](True) if isinstance(one, str) and one in names else one for one in shown]

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """The row of a page, with the names behind its ids."""
        found = super().get_object(request, object_id, from_field)
        if found is not None:
            names_attach([found], id_fields(site_of(self), self.model), request.user)
        return found

    def get_autocomplete_fields(self, request: HttpRequest) -> list[str]:
        """Nothing is chosen out of a list of all rows of another table."""
        return [*super().get_autocomplete_fields(request), *self._searchable]

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """With their descriptions in the reader's language; where they are declared they are English, and marked."""
        actions = super().get_actions(request)
        return {name: (*found[:2], gettext(str(found[2]))) for name, found in actions.items() if found}

    def get_view_on_site_url(self, obj: Any | None = None) -> str | None:
        """Its page in the panel."""
        return site_of(self).panel_path(obj) or None if obj is not None else None

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """With the way to the panel's list of the same."""
        extra = {"panel_list": site_of(self).panel_list_path(self.model), **(extra_context or {})}
        return super().changelist_view(request, extra)

    def response_action(self, request: HttpRequest, queryset: "QuerySet[Any]") -> HttpResponse | None:
        """The action; refused for "all" where that is more than was counted and shown."""
        is_across = request.POST.get("select_across") == "1"
        if is_across and queryset.order_by()[MAX_COUNTED - 1 : MAX_COUNTED].exists():
            notice = gettext("There are %(most)s or more rows; narrow the list before you choose all of them.")
            self.message_user(request, notice % {"most": f"{MAX_COUNTED:,}"}, messages.ERROR)
            return None
        return super().response_action(request, queryset)

    @property
    def _name_columns(self) -> dict[str, Callable[[bool], Any]]:
        return {
            field: lambda is_linked, field=field: name_column(field, is_linked=is_linked)  # type: ignore[misc]
            for field in id_fields(site_of(self), self.model)
        }

    @property
    def _searchable(self) -> list[str]:
        declared = {*self.autocomplete_fields, *self.raw_id_fields, *self.radio_fields}
        others = self.admin_site._registry
        return [
            field.name
            for field in self.model._meta.fields
            if field.is_relation and field.name not in declared and _is_searchable(others.get(field.related_model))
        ]


def _is_searchable(other: Any) -> bool:
    return other is not None and bool(other.search_fields)


def panel_column(model_admin: Any) -> Callable[[Any], str]:
    """A column with the way to the row's page in the panel."""
    site = site_of(model_admin)

    @admin.display(description=_("Panel"))
    def panel(row: Any) -> str:
        path = site.panel_path(row)
        return format_html('<a class="panel-link" href="{}">{}</a>', path, gettext("Open")) if path else ""

    return panel
