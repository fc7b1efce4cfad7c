"""What a list is: its columns, its filters, where its rows come from. Every list page is one of these."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import QuerySet
from django_filters import FilterSet

from controlplane.dashboard.texts import Shown
from controlplane.identity.domain import Caller
from controlplane.identity.domain.saved_view import LISTS
from controlplane.identity.policy import allows

Asked = Mapping[str, str]
"""The last value of each parameter that was sent."""
Choices = Sequence[tuple[str, Shown]]
"""Values of a filter and what each is called, in the reader's language."""
SortTerms = tuple[Any, ...]
"""Names of fields, or expressions, to order by in turn; each ascending."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column. Its cell stands in the list's template under its `key`. Its `title` is English, marked with
    `gettext_noop`; pages translate it.

    `value` is what an export writes; `sort` is empty where rows cannot be sorted by it. A column that
    `is_for_admins` exists for nobody else: neither shown, nor sorted by, nor exported. One that `shows_with` a switch
    is a default column only while that is on. One that `is_tool` holds buttons: always shown, never exported; with
    `is_for_writers` only to who may change something.
    """

    key: str
    title: str
    value: Callable[[Any], object]
    sort: SortTerms = ()
    is_default: bool = True
    is_fixed: bool = False
    is_number: bool = False
    is_for_admins: bool = False
    hides_small: bool = False
    css: str = ""
    shows_with: str = ""
    is_tool: bool = False
    is_for_writers: bool = False

    def exists_for(self, caller: Caller) -> bool:
        """Whether the caller may know of it."""
        return (caller.is_admin or not self.is_for_admins) and (caller.can_write or not self.is_for_writers)

    @property
    def css_class(self) -> str:
        """The classes of its head and of its cells."""
        words = [self.css, "num" if self.is_number else "", "hide-small" if self.hides_small else ""]
        return " ".join(word for word in words if word)

    @classmethod
    def tools(cls) -> "Column":
        """The column of the buttons of each row, for who may press them."""
        return cls("tools", "", lambda _row: None, css="tools", is_tool=True, is_for_writers=True)


@dataclass(frozen=True, slots=True)
class ListFilter:
    """A filter of the filterset, as the page offers it. Those that are not `is_first` stand under "More filters".

    `title` and `placeholder` are English, marked with `gettext_noop`; pages translate them. `choices` are names, or
    texts that it has translated, since it is asked anew for each page; without it the filterset's own labels are
    translated.
    """

    name: str
    title: str
    is_first: bool = False
    is_for_admins: bool = False
    placeholder: str = ""
    choices: Callable[[Caller], Choices] | None = None
    suggestions: Callable[[Caller], Sequence[str]] | None = None


@dataclass(frozen=True, slots=True)
class RowsAhead:
    """Rows that come before all others, whatever the order: how many, and some of them from one place to another."""

    count: int
    between: Callable[[int, int], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class ListSwitch:
    """Whose rows are listed, where an admin may ask for more than those of one project. Pages translate its title."""

    name: str
    title: str


def _as_it_is(_caller: Caller, rows: Sequence[Any], _asked: Asked) -> Sequence[Any]:
    return rows


def _never(_rows: Sequence[Any]) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class ListDeclaration:
    """A list. `name` is what saved views call it. `thing` and `ending` make words that lists/things.py has, and
    `search_hint` is marked with `gettext_noop`: pages translate them.

    `rows` are all that the caller may see; `prepare` reads what the cells of one page need besides, in a number of
    queries that does not grow with the page. `ahead` are rows without a place in the order, which come first.
    `head`, `before`, `top`, `empty`, `notes` and `bulk` are templates: beside the title, above the filters, above the
    rows, in place of no rows, below the rows, and the bar for ticked rows. What `watch` names is told to those
    alone whom the access rule `watch_rule` allows it, if there is one.
    """

    name: str
    thing: str
    section: str
    cells: str
    columns: tuple[Column, ...]
    rows: Callable[[Caller, Asked], QuerySet[Any]]
    filterset: Callable[[Caller], type[FilterSet]]
    filters: tuple[ListFilter, ...]
    sort: str
    search_hint: str
    ending: str = "s"
    prepare: Callable[[Caller, Sequence[Any], Asked], Sequence[Any]] = _as_it_is
    ahead: Callable[[Caller, Asked], RowsAhead] | None = None
    order: Callable[[Asked], SortTerms] | None = None
    switches: tuple[ListSwitch, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)
    is_live: Callable[[Sequence[Any]], bool] = _never
    watch: str = ""
    watch_rule: str = ""
    live_s: int = 2
    first_page_size: int = 50
    head: str = ""
    empty: str = ""
    before: str = ""
    top: str = ""
    bulk: str = ""
    table_css: str = ""
    notes: str = ""
    row_class: Callable[[Any], str] | None = None

    @property
    def title(self) -> str:
        """As the heading and the views have it, in English."""
        return LISTS[self.name].title

    @property
    def path(self) -> str:
        """Where it is."""
        return LISTS[self.name].path

    @property
    def plural(self) -> str:
        """Its things in words, in English."""
        return f"{self.thing}{self.ending}"

    def columns_of(self, caller: Caller) -> tuple[Column, ...]:
        """Those that exist for the caller."""
        return tuple(one for one in self.columns if one.exists_for(caller))

    def filters_of(self, caller: Caller) -> tuple[ListFilter, ...]:
        """Those that the caller may use."""
        return tuple(one for one in self.filters if caller.is_admin or not one.is_for_admins)

    def watch_of(self, caller: Caller) -> str:
        """What a page of its rows asks to be told of; empty where the caller may not be."""
        return self.watch if not self.watch_rule or allows(caller, self.watch_rule) else ""

    def switches_of(self, caller: Caller) -> tuple[ListSwitch, ...]:
        """Only admins see more than one project."""
        return self.switches if caller.is_admin else ()
