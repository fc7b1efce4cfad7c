"""Names instead of ids: columns and fields that hold an id without a foreign key show what it belongs to.

The names of a page of rows are read with one query for each kind of thing, however many rows there are.
"""

import functools
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Model, UUIDField
from django.forms.models import BaseInlineFormSet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from controlplane.infra.admin.site import ControlPlaneSite, Reference, site_of

NAMES = "_admin_names"
SHORT = 8
NONE = "-"


class Named(NamedTuple):
    """A name, and the admin's page of what has it."""

    name: str
    path: str


def id_fields(site: ControlPlaneSite, model: type[Model]) -> dict[str, Reference]:
    """The columns of a model that hold ids of other things, with what these are."""
    found = {
        field.name: site.reference(model, field.name)
        for field in model._meta.concrete_fields
        if isinstance(field, UUIDField) and not field.is_relation
    }
    return {name: reference for name, reference in found.items() if reference is not None}


def names_attach(rows: Iterable[Any], references: Mapping[str, Reference], user: Any = None) -> None:
    """Read what the ids in these columns belong to, and leave it at the rows.

    With a user, only what that user may open is linked; rows below another one are shown with links.
    """
    rows = list(rows)
    wanted: dict[Reference, set[Any]] = {}
    for field, reference in references.items():
        wanted.setdefault(reference, set()).update(value for row in rows if (value := row.__dict__.get(field)))
    found = {reference: _named(reference, ids, user) for reference, ids in wanted.items() if ids}
    for row in rows:
        row.__dict__[NAMES] = {
            field: found.get(reference, {}).get(row.__dict__.get(field)) for field, reference in references.items()
        }


def _named(reference: Reference, ids: set[Any], user: Any) -> dict[Any, Named]:
    model = apps.get_model(reference.model)
    meta = model._meta
    may_open = user is None or user.has_perm(f"{meta.app_label}.view_{meta.model_name}")
    rows = model._default_manager.filter(**{f"{reference.key}__in": ids})
    columns = rows.values_list(reference.key, "pk", reference.name)
    route = f"admin:{meta.app_label}_{meta.model_name}_change"
    return {key: Named(str(name), reverse(route, args=[pk]) if may_open else "") for key, pk, name in columns}


@functools.cache
def name_column(field: str, *, is_linked: bool = True) -> Callable[[Any], SafeString | str]:
    """A column or read-only field of the admin that shows the name behind the id in `field`."""

    @admin.display(description=gettext_lazy(_title(field)), ordering=field)
    def shown(row: Any) -> SafeString | str:
        value = row.__dict__.get(field)
        if not value:
            return NONE
        named: Named | None = row.__dict__.get(NAMES, {}).get(field)
        if named is None:
            return short_id(value)
        if is_linked and named.path:
            return format_html('<a href="{}" title="{}">{}</a>', named.path, value, named.name or short_id(value))
        return named.name or short_id(value)

    shown.__name__ = field
    return shown


def title_column(title: str = "name") -> Callable[[Any], SafeString | str]:
    """The first column of things whose name may be empty: the beginning of their id stands for it."""

    @admin.display(description=gettext_lazy(title), ordering="name")
    def called(row: Any) -> SafeString | str:
        return row.name or short_id(row.pk)

    return called


def short_id(value: uuid.UUID) -> SafeString:
    """The beginning of an id that nothing is known of (any more), with all of it for whoever points at it."""
    return format_html('<span class="mono" title="{}">{}…</span>', value, str(value)[:SHORT])


def _title(field: str) -> str:
    for ending in ("_uuid", "_id"):
        field = field.removesuffix(ending)
    return field.replace("_", " ")


class NamingChangeList(ChangeList):
    """A page of rows with the names behind their ids."""

    def get_results(self, request: HttpRequest) -> None:
        """The page's rows; only columns that are shown are looked up."""
        super().get_results(request)
        references = id_fields(site_of(self.model_admin), self.model)
        shown = {getattr(one, "__name__", one) for one in self.list_display}
        rows = list(self.result_list)
        names_attach(rows, {name: one for name, one in references.items() if name in shown}, request.user)
        self.result_list = rows


class NamingFormSet(BaseInlineFormSet):  # type: ignore[type-arg]  # not generic at run time
    """Rows below another one, with the names behind their ids."""

    references: Mapping[str, Reference] = {}

    def get_queryset(self) -> Any:
        """The rows, read once."""
        rows = super().get_queryset()
        if self.references and not getattr(self, "_is_named", False):
            self._is_named = True
            names_attach(rows, self.references)
        return rows
