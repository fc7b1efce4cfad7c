"""The quick search of lists: one filter, for API and pages, over every attribute that a list names."""

import json
import re
from typing import Any, ClassVar, TypeVar

import django_filters
from django.db.models import Model, Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.db.models.lookups import IContains

from controlplane.infra.list_filters import ListFilterSet

MAX_WORDS = 6
QUICK_SEARCH = "q"
REQUEST_START = "req-"
ROW = TypeVar("ROW", bound=Model)
_PART_OF_AN_ID = re.compile("[0-9a-fA-F]{4}[0-9a-fA-F-]{0,32}")


class QuickSearch(ListFilterSet):
    """?q=: every word must be in one of `search_fields`, whatever the case. The beginning of an id, or of the id of a
    request, finds its rows; what stands in the middle of one does not, since every short word of a to f does.
    """

    search_fields: ClassVar[tuple[str, ...]] = ()
    search_ids: ClassVar[tuple[str, ...]] = ("pk",)
    search_requests: ClassVar[tuple[str, ...]] = ()
    search_json: ClassVar[tuple[str, ...]] = ()

    q = django_filters.CharFilter(method="by_words", label="Words that any attribute contains.")

    def by_words(self, rows: QuerySet[Any], _name: str, value: str) -> QuerySet[Any]:
        """Each word narrows the rows."""
        for word in value.split()[:MAX_WORDS]:
            rows = rows.filter(self.condition_of(word))
        return rows

    @classmethod
    def condition_of(cls, word: str) -> Q:
        """Where one word may stand."""
        found = Q()
        for name in cls.search_fields:
            found |= Q(**{f"{name}__icontains": word})
        for name in cls.search_json:
            found |= in_json(name, word)
        if is_part_of_an_id(word):
            for name in cls.search_ids:
                found |= Q(**{f"{name}__istartswith": word})
        if word.lower().startswith(REQUEST_START):
            for name in cls.search_requests:
                found |= Q(**{f"{name}__istartswith": word})
        return found


def in_json(name: str, word: str) -> Q:
    """Whether a word is anywhere in a JSON column, in a key or in a value. SQLite has what is no ASCII as escapes."""
    text = Cast(name, TextField())
    found = Q(IContains(text, word))
    escaped = json.dumps(word)[1:-1]
    return found if escaped == word else found | Q(IContains(text, escaped))


def is_part_of_an_id(word: str) -> bool:
    """Whether it may be how a UUID begins."""
    return _PART_OF_AN_ID.fullmatch(word) is not None
