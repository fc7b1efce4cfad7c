"""The fields of a list's filter form, made of the filterset that the API uses too."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django_filters import BooleanFilter, IsoDateTimeFilter, MultipleChoiceFilter

from controlplane.dashboard.lists.declaration import Choices, ListFilter
from controlplane.dashboard.lists.query import YES_NO, ListQuery
from controlplane.dashboard.lists.times import field_text
from controlplane.dashboard.texts import translated


@dataclass(frozen=True, slots=True)
class FilterField:
    """One field: `kind` is text, select, checks or time. `title` and `placeholder` are translated where they stand."""

    name: str
    title: str
    kind: str
    values: Sequence[str]
    choices: Choices
    suggestions: Sequence[str]
    placeholder: str
    is_first: bool

    @property
    def others(self) -> Sequence[str]:
        """Where several were asked for, those that the field does not show; their chips take them away."""
        return () if self.kind == "checks" else self.values[:-1]

    @property
    def value(self) -> str:
        """The last one."""
        return self.values[-1] if self.values else ""


def filter_fields(query: ListQuery) -> list[FilterField]:
    """Those that the caller may use, in the order of the list."""
    return [_field(query, one) for one in query.declaration.filters_of(query.caller)]


def _field(query: ListQuery, one: ListFilter) -> FilterField:
    declared = query.filterset.filters[one.name]
    choices = _choices(query, one, declared)
    kind = "select" if choices else "text"
    if isinstance(declared, MultipleChoiceFilter) and one.choices is None:
        kind = "checks"
    elif isinstance(declared, IsoDateTimeFilter):
        kind = "time"
    values = query.field_value(one)
    return FilterField(
        name=one.name,
        title=one.title,
        kind=kind,
        values=[field_text(text) for text in values] if kind == "time" else values,
        choices=choices,
        suggestions=one.suggestions(query.caller) if one.suggestions else (),
        placeholder=one.placeholder,
        is_first=one.is_first,
    )


def _choices(query: ListQuery, one: ListFilter, declared: Any) -> Choices:
    if one.choices is not None:
        return one.choices(query.caller)
    if isinstance(declared, BooleanFilter):
        return YES_NO
    field: forms.Field = query.filterset.form.fields[one.name]
    pairs = getattr(field, "choices", ())
    return [(str(value), translated(label)) for value, label in pairs if value not in {"", None}]
