"""What a bulk job needs to know of a kind of things."""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import QueryDict

from controlplane.identity.domain import Caller
from controlplane.kernel.errors import InvalidFields
from controlplane.kernel.texts import phrase as _
from servers.bulk.domain import BulkItemState
from servers.models import BulkJob, BulkJobItem

ItemEnd = tuple[BulkItemState, str]
"""The state of an item, and why where it failed."""
ItemEnds = Mapping[int, ItemEnd]
"""By the item's key."""
DONE: ItemEnd = (BulkItemState.DONE, "")
RUNNING: ItemEnd = (BulkItemState.RUNNING, "")


def done_at_once(items: Sequence[BulkJobItem]) -> ItemEnds:
    """Of what is over when it was asked for."""
    return {item.pk: DONE for item in items}


@dataclass(frozen=True, slots=True)
class BulkThing:
    """One kind.

    `names`: {id: name} of those that the caller sees. `matching`: the first so many ids that the API's list shows with
    these filters; the flag asks for every project. `ask`: do the job's action to one, as the caller; what it gives is
    the key of the row by which its end is followed, if it has one. `ends`: how far items are that were asked for.
    """

    names: Callable[[Caller, Sequence[uuid.UUID]], Mapping[uuid.UUID, str]]
    matching: Callable[[Caller, QueryDict, bool, int], list[uuid.UUID]]
    ask: Callable[[BulkJob, BulkJobItem, Caller], int | None]
    ends: Callable[[Sequence[BulkJobItem]], ItemEnds] = done_at_once


def matching_rows(filter_class: Any, rows: "QuerySet[Any]", filters: QueryDict, limit: int) -> list[uuid.UUID]:
    """Keys of the first rows that a filterset lets through. Raises InvalidFields for a filter that is none."""
    filters_require(filter_class, filters)
    found = filter_class(filters, queryset=rows)
    if not found.is_valid():
        raise InvalidFields({name: [str(text) for text in texts] for name, texts in found.errors.items()})
    return list(dict.fromkeys(found.qs.prefetch_related(None).values_list("pk", flat=True)[:limit]))


def filters_require(filter_class: Any, names: Iterable[str]) -> None:
    """What is no filter would silently choose more than was meant. Raises InvalidFields."""
    if unknown := {name: [_("There is no such filter.")] for name in names if name not in filter_class.base_filters}:
        raise InvalidFields(unknown)
