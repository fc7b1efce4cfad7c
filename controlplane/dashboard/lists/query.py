"""What one asks of a list by its address: words, filters, an order, columns, how many rows and how tight."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.db.models import F, OrderBy, QuerySet
from django.http import QueryDict
from django.utils.translation import gettext, gettext_lazy
from django_filters import IsoDateTimeFilter

from controlplane.dashboard.lists.declaration import Choices, Column, ListDeclaration, ListFilter, SortTerms
from controlplane.dashboard.lists.times import time_asked, with_offset
from controlplane.dashboard.pages import LONGEST_FILTER
from controlplane.dashboard.texts import Shown, translated
from controlplane.identity.domain import Caller
from controlplane.infra.reader_texts import refusal_text
from controlplane.infra.reader_time import time_text
from controlplane.kernel.errors import InvalidFields, KilonovaError
from controlplane.kernel.texts import gettext_noop

PAGE_SIZES = (50, 100, 200)
DENSITIES = (("", gettext_noop("Comfortable")), ("compact", gettext_noop("Compact")))
SEARCH = "q"
FORMATS = ("csv", "json")
YES_NO: Choices = (("true", gettext_lazy("Yes")), ("false", gettext_lazy("No")))
LAYOUT = ("columns", "per_page", "density")
"""Parameters that say how rows look, not which."""


@dataclass(frozen=True, slots=True)
class Chip:
    """One filter that is on: what it says, and the address without it. `title` is English, `text` the reader's."""

    name: str
    value: str
    title: str
    text: Shown
    without: str


@dataclass(frozen=True, slots=True)
class SwitchShown:
    """A switch of the list, and whether it is on."""

    name: str
    title: str
    is_on: bool


@dataclass(frozen=True)
class ListQuery:
    """The address, read. What is wrong with it stands in `errors` by title, and then there are no rows."""

    declaration: ListDeclaration
    caller: Caller
    sent: QueryDict
    layout: Mapping[str, str] = field(default_factory=dict)
    has_default_view: bool = False

    @cached_property
    def given(self) -> QueryDict:
        """What was sent, cut to what is known, with the list's own defaults for what was not."""
        known = QueryDict(mutable=True)
        for name in self.filter_names:
            texts = [_clean(text) for text in self.sent.getlist(name)]
            if self._is_time(name):
                texts = [with_offset(text) for text in texts]
            if name in self.sent and (any(texts) or name in self.declaration.defaults):
                known.setlist(name, [text for text in texts if text] or [""])
            elif name in self.declaration.defaults:
                known[name] = self.declaration.defaults[name]
        return known

    @cached_property
    def asked(self) -> dict[str, str]:
        """The last value of each."""
        return {name: self.given.get(name, "") for name in self.given}

    @cached_property
    def filter_names(self) -> list[str]:
        """Every parameter that narrows the rows; also those that the page offers no field for."""
        own = [one.name for one in self.declaration.switches_of(self.caller)]
        return [*own, *self._filterset_class.base_filters]

    def _is_time(self, name: str) -> bool:
        return isinstance(self._filterset_class.base_filters.get(name), IsoDateTimeFilter)

    @cached_property
    def _filterset_class(self) -> Any:
        return self.declaration.filterset(self.caller)

    @cached_property
    def base_rows(self) -> QuerySet[Any]:
        """All that the caller may see."""
        return self.declaration.rows(self.caller, self.asked)

    @cached_property
    def filterset(self) -> Any:
        """The filters over the rows, as the API has them."""
        return self._filterset_class(data=self.given, queryset=self.base_rows)

    @cached_property
    def _found(self) -> tuple[QuerySet[Any], dict[str, str]]:
        none = self.base_rows.none()
        if not self.filterset.is_valid():
            wrong = self.filterset.errors
            return none, {self.title_of(name): " ".join(map(str, texts)) for name, texts in wrong.items()}
        try:
            return self.filterset.qs, {}
        except InvalidFields as error:
            return none, {self.title_of(name): " ".join(texts) for name, texts in error.errors.items()}
        except KilonovaError as error:
            return none, {self.title_of(error.field or ""): refusal_text(error)}

    @cached_property
    def errors(self) -> dict[str, str]:
        """What is wrong, by the English titles of the fields."""
        wrong = dict(self._found[1])
        if self._sort_asked.lstrip("-") not in self._sortable:
            text = gettext("There is no column “%(column)s” to sort by.")
            wrong[gettext_noop("Sort")] = text % {"column": self._sort_asked.lstrip("-")}
        return wrong

    @cached_property
    def rows(self) -> QuerySet[Any]:
        """What was asked for, in order."""
        found = self.base_rows.none() if self.errors else self._found[0]
        return found.order_by(*self._terms)

    @cached_property
    def _sortable(self) -> dict[str, Column]:
        return {one.key: one for one in self.declaration.columns_of(self.caller) if one.sort}

    @cached_property
    def _sort_asked(self) -> str:
        return _clean(self.sent.get("sort", "")) or self.declaration.sort

    @cached_property
    def sort(self) -> str:
        """The column, with a minus where the order is turned round; empty for an order of the list's own."""
        own = self.declaration.order is not None and not self.sent.get("sort")
        return "" if own or self._sort_asked.lstrip("-") not in self._sortable else self._sort_asked

    @cached_property
    def _terms(self) -> SortTerms:
        if not self.sort and self.declaration.order is not None:
            return (*self.declaration.order(self.asked), "pk")
        column = self._sortable.get(self._sort_asked.lstrip("-"))
        if column is None:
            return ("pk",)
        is_down = self._sort_asked.startswith("-")
        return (*(_term(one, is_down=is_down) for one in column.sort), "-pk" if is_down else "pk")

    @cached_property
    def columns(self) -> list[Column]:
        """Those that are shown, in the order of the list."""
        there = self.declaration.columns_of(self.caller)
        asked = self._layout_text("columns")
        chosen = {word for text in asked for word in text.split(",") if word}
        if not chosen & {one.key for one in there}:
            return [one for one in there if one.is_fixed or one.is_tool or self._is_default(one)]
        return [one for one in there if one.key in chosen or one.is_fixed or one.is_tool]

    def _is_default(self, one: Column) -> bool:
        return bool(self.given.get(one.shows_with)) if one.shows_with else one.is_default

    @property
    def exported(self) -> list[Column]:
        """The columns of an export."""
        return [one for one in self.columns if not one.is_tool]

    @cached_property
    def has_own_columns(self) -> bool:
        """Whether one chose them: then none is left out on a small screen."""
        return any(self._layout_text("columns"))

    @cached_property
    def page_size(self) -> int:
        """How many rows a page has."""
        text = (self._layout_text("per_page") or [""])[-1]
        return int(text) if text in {str(one) for one in PAGE_SIZES} else self.declaration.first_page_size

    @cached_property
    def density(self) -> str:
        """Empty, or `compact`."""
        text = (self._layout_text("density") or [""])[-1]
        return text if text in dict(DENSITIES) else ""

    @cached_property
    def page_number(self) -> int:
        """From 1; what is no number is the first."""
        text = self.sent.get("page", "1")
        return max(1, int(text)) if text.isdecimal() and len(text) < 9 else 1

    def _layout_text(self, name: str) -> list[str]:
        if name in self.sent:
            return [_clean(text, 1000) for text in self.sent.getlist(name)]
        return [self.layout[name]] if name in self.layout else []

    @cached_property
    def is_filtered(self) -> bool:
        """Whether rows may be missing that the list shows by itself."""
        return any(self.given.getlist(name) != [self.declaration.defaults.get(name, "")] for name in self.given)

    @cached_property
    def search(self) -> str:
        """The words of the quick search."""
        return self.given.get(SEARCH, "")

    def title_of(self, name: str) -> str:
        """A filter in words, in English."""
        titles = {one.name: one.title for one in self.declaration.filters}
        titles |= {one.name: one.title for one in self.declaration.switches}
        return titles.get(name) or (name.replace("_", " ").capitalize() if name != SEARCH else gettext_noop("Search"))

    @cached_property
    def chips(self) -> list[Chip]:
        """Each filter that is on."""
        on = [(name, text) for name in self.given for text in self.given.getlist(name) if text]
        return [Chip(*pair, self.title_of(pair[0]), self._words_for(*pair), self._without(*pair)) for pair in on]

    def _words_for(self, name: str, text: str) -> Shown:
        if name in {one.name for one in self.declaration.switches}:
            return ""
        if self._is_time(name) and (at := time_asked(text)) is not None:
            return time_text(at, "minute")
        offered = next((one for one in self.declaration.filters if one.name == name and one.choices), None)
        if offered is not None and offered.choices is not None:
            return dict(offered.choices(self.caller)).get(text, text)
        words = {str(value): translated(label) for value, label in _choices(self.filterset.form.fields.get(name))}
        return {"true": gettext("yes"), "false": gettext("no")}.get(text, "") or words.get(text, text)

    def _without(self, name: str, text: str) -> str:
        parts = self._address_parts()
        rest = [one for one in parts.getlist(name) if one != text]
        if rest or name in self.declaration.defaults:
            parts.setlist(name, rest or [""])
        else:
            parts.pop(name, None)
        return self._address(parts)

    def _address_parts(self) -> QueryDict:
        """What was asked for, without the page: what a link to another view of the same rows starts from."""
        parts = QueryDict(mutable=True)
        for name in (*self.given, "sort", *LAYOUT):
            texts = self.given.getlist(name) or [_clean(text, 1000) for text in self.sent.getlist(name)]
            if texts and (any(texts) or name in self.declaration.defaults):
                parts.setlist(name, texts)
        return parts

    def _address(self, parts: QueryDict) -> str:
        return "?" + parts.urlencode() if parts else self.bare

    @cached_property
    def bare(self) -> str:
        """The list as it is by itself. An empty `view` keeps it from opening with the default view."""
        return f"{self.declaration.path}?view=" if self.has_default_view else self.declaration.path

    @cached_property
    def text(self) -> str:
        """The query as a saved view holds it, with the layout that is in effect now."""
        parts = self._address_parts()
        if self.has_own_columns:
            parts["columns"] = ",".join(one.key for one in self.columns if not one.is_tool)
        if self.page_size != self.declaration.first_page_size:
            parts["per_page"] = str(self.page_size)
        if self.density:
            parts["density"] = self.density
        return parts.urlencode()

    @property
    def address(self) -> str:
        """What was asked for, without the page."""
        parts = self._address_parts()
        return f"{self.declaration.path}?{parts.urlencode()}" if parts else self.bare

    def sort_link(self, column: Column) -> str:
        """Sort by it; the other way round where it is sorted by already."""
        parts = self._address_parts()
        parts["sort"] = f"-{column.key}" if self.sort == column.key else column.key
        return self._address(parts)

    def page_link(self, number: int) -> str:
        """Another page of the same."""
        parts = self._address_parts()
        parts["page"] = str(number)
        return self._address(parts)

    @cached_property
    def export_links(self) -> dict[str, str]:
        """By format."""
        return {one: "?" + "&".join(part for part in (self.text, f"export={one}") if part) for one in FORMATS}

    @cached_property
    def column_choices(self) -> list[tuple[Column, bool]]:
        """Every column that exists for the caller, and whether it is shown."""
        shown = {one.key for one in self.columns}
        return [(one, one.key in shown) for one in self.declaration.columns_of(self.caller) if not one.is_tool]

    @cached_property
    def without_columns(self) -> str:
        """The same rows with the columns of the list's own choice."""
        parts = self._address_parts()
        parts.pop("columns", None)
        return self._address(parts)

    @cached_property
    def switches(self) -> list[SwitchShown]:
        """What may be switched on, and whether it is."""
        own = self.declaration.switches_of(self.caller)
        return [SwitchShown(one.name, one.title, is_on=bool(self.given.get(one.name))) for one in own]

    @cached_property
    def watch(self) -> str:
        """What the page wants to be told of; nothing where its reader may not be."""
        watch = self.declaration.watch_of(self.caller)
        return f"{watch}:all" if watch and any(one.is_on for one in self.switches) else watch

    @cached_property
    def hidden(self) -> list[tuple[str, str]]:
        """What a form that filters sends along."""
        names = ("sort", *LAYOUT)
        return [(name, text) for name in names for text in self.sent.getlist(name) if _clean(text, 1000)]

    @cached_property
    def hidden_filters(self) -> list[tuple[str, str]]:
        """What a form that changes the layout sends along."""
        parts = self._address_parts()
        return [(name, text) for name in parts for text in parts.getlist(name) if name not in LAYOUT]

    def field_value(self, one: ListFilter) -> list[str]:
        """What stands in the field of a filter."""
        return self.given.getlist(one.name)


def _clean(text: str, longest: int = LONGEST_FILTER) -> str:
    return text.strip()[:longest]


def _term(one: Any, *, is_down: bool) -> Any:
    """One term of an order. Rows without a value come last, whichever way one sorts."""
    if isinstance(one, OrderBy):
        return one.copy().reverse_ordering() if is_down else one
    if isinstance(one, str):
        is_turned = one.startswith("-")
        expression: Any = F(one.removeprefix("-"))
        is_down = is_down != is_turned
    else:
        expression = one
    return OrderBy(expression, descending=is_down)


def _choices(form_field: Any) -> Sequence[tuple[Any, Any]]:
    choices = getattr(form_field, "choices", None)
    return (
        []
        if choices is None
        else [pair for pair in choices if len(pair) == 2 and not isinstance(pair[1], list | tuple)]
    )


def view_query(text: str) -> dict[str, str]:
    """The layout that a saved view asks for."""
    found = QueryDict(text)
    return {name: ",".join(found.getlist(name)) for name in LAYOUT if found.get(name)}


def address_with(path: str, text: str, **more: str) -> str:
    """A list's address with a saved query."""
    query = "&".join(part for part in (text, urlencode(more)) if part)
    return f"{path}?{query}" if query else path
