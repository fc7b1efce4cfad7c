"""Filters of the admin's lists that cost the same for any number of values: the value is typed, not chosen of all."""

from typing import Any

from django.apps import apps
from django.contrib.admin.filters import ListFilter
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest

from controlplane.infra.admin.site import Reference, site_of
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import gettext_noop

LONGEST = 255
MAX_MATCHES = 200
"""Of things whose name contains what was typed; whoever means another one types more of its name."""


class TypedFilter(ListFilter):
    """A field into which a value is typed. The others of the list stay as they are."""

    template = "admin/typed_filter.html"
    parameter = ""
    hint = gettext_noop("exact")

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: type[Model], model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        given = params.pop(self.parameter, [""])
        text = str(given[-1] if isinstance(given, list) else given)
        self.value = text.replace("\x00", "").strip()[:LONGEST]
        self.model, self.site = model, site_of(model_admin)
        if self.value:
            self.used_parameters[self.parameter] = self.value

    def has_output(self) -> bool:
        """Always."""
        return True

    def expected_parameters(self) -> list[str | None]:
        """Its own one."""
        return [self.parameter]

    def choices(self, changelist: Any) -> Any:
        """One: what the form needs."""
        others = [
            (name, value)
            for name, values in changelist.filter_params.items()
            if name != self.parameter
            for value in (values if isinstance(values, list) else [values])
        ]
        others += [(name, changelist.params[name]) for name in ("q", "o") if name in changelist.params]
        clear = changelist.get_query_string(remove=[self.parameter])
        yield {
            "value": self.value,
            "parameter": self.parameter,
            "hint": self.hint,
            "others": dict(others).items(),
            "clear": clear,
            "selected": bool(self.value),
        }

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Rows that have exactly this."""
        return queryset.filter(**{self.parameter: self.value}) if self.value else queryset


class TypedNumberFilter(TypedFilter):
    """A number; what is none matches nothing."""

    hint = gettext_noop("number")

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Rows that have it."""
        if not self.value:
            return queryset
        is_number = (
            self.value.isascii() and self.value.isdecimal() and len(self.value) <= len("9223372036854775807") - 1
        )
        return queryset.filter(**{self.parameter: int(self.value)}) if is_number else queryset.none()


class NamedFilter(TypedFilter):
    """Part of the name of the thing that a foreign key, or an id without one, belongs to; or its whole id."""

    hint = gettext_noop("part of name, id")
    field = ""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Rows of the things that match, of which there are few."""
        if not self.value:
            return queryset
        reference = self._reference()
        things = apps.get_model(reference.model)._default_manager
        matches = Q(**{f"{reference.name}__icontains": self.value})
        if (wanted := parse_uuid(self.value)) is not None:
            matches |= Q(pk=wanted)
        keys = things.filter(matches).order_by(reference.name).values_list(reference.key, flat=True)[:MAX_MATCHES]
        return queryset.filter(**{f"{self.field}__in": list(keys)})

    def _reference(self) -> Reference:
        field = self.model._meta.get_field(self.field)
        if field.is_relation:
            other = field.related_model._meta  # type: ignore[union-attr]  # of a foreign key it is a model
            return Reference(other.label, "username" if other.model_name == "user" else "name")
        found = self.site.reference(self.model, self.field)
        if found is None:
            raise LookupError(f"{self.model._meta.label}.{self.field} holds no ids that are known.")
        return found


def typed(parameter: str, title: str = "") -> type[TypedFilter]:
    """A filter by the exact value of a text."""
    return _made(TypedFilter, parameter, title)


def typed_number(parameter: str, title: str = "") -> type[TypedFilter]:
    """A filter by a number."""
    return _made(TypedNumberFilter, parameter, title)


def named(field: str, title: str = "") -> type[TypedFilter]:
    """A filter by the name of what `field` belongs to."""
    shown = field.removesuffix("_uuid").removesuffix("_id")
    return type(f"{field.title()}Filter", (NamedFilter,), {"parameter": shown, "field": field, "title": title or shown})


def _made(base: type[TypedFilter], parameter: str, title: str) -> type[TypedFilter]:
    attributes = {"parameter": parameter, "title": title or parameter.replace("_", " ")}
    return type(f"{parameter.title()}Filter", (base,), attributes)
