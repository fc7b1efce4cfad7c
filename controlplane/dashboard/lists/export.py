"""A list as CSV or JSON: the rows that were asked for, with the columns that are shown, row after row."""

import csv
import json
import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.http import StreamingHttpResponse
from django.utils import timezone
from django.utils.translation import gettext

from controlplane.dashboard.lists.query import FORMATS, ListQuery
from controlplane.dashboard.lists.window import MAX_EXPORTED, ListWindow
from controlplane.dashboard.texts import translated
from controlplane.kernel.errors import Invalid

# A spreadsheet takes a text that begins so for a formula, and names come from tenants.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


class _Echo:
    """What the csv module writes to: it hands each line back."""

    def write(self, line: str) -> str:
        return line


def export_response(query: ListQuery, wanted: str) -> StreamingHttpResponse:
    """The rows as a file. Raises Invalid for another format, for a wrong filter and for more than MAX_EXPORTED rows."""
    if wanted not in FORMATS:
        text = gettext("There is no export as “%(format)s”; there are csv and json.")
        raise Invalid(text % {"format": wanted}, field="export")
    if query.errors:
        raise Invalid(" ".join(f"{translated(title)}: {text}" for title, text in query.errors.items()), field="export")
    window = ListWindow(query)
    if window.is_too_large():
        text = gettext("There are more than %(number)s %(things)s; narrow the list first.")
        things = {"number": f"{MAX_EXPORTED:,}", "things": translated(query.declaration.plural)}
        raise Invalid(text % things, field="export")
    lines = _csv(query, window) if wanted == "csv" else _json(query, window)
    kind = "text/csv; charset=utf-8" if wanted == "csv" else "application/json"
    name = f"{query.declaration.name}-{timezone.now():%Y%m%d-%H%M%S}.{wanted}"
    response = StreamingHttpResponse(lines, content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _rows(window: ListWindow) -> Iterator[Any]:
    for batch in window.batches():
        yield from batch


def _csv(query: ListQuery, window: ListWindow) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield str(writer.writerow([one.key for one in query.exported]))
    for row in _rows(window):
        yield str(writer.writerow([_cell(one.value(row)) for one in query.exported]))


def _json(query: ListQuery, window: ListWindow) -> Iterator[str]:
    between = "[\n"
    for row in _rows(window):
        yield between + json.dumps({one.key: _plain(one.value(row)) for one in query.exported}, ensure_ascii=False)
        between = ",\n"
    yield "\n]\n" if between.startswith(",") else "[]\n"


def _cell(value: object) -> object:
    plain = _plain(value)
    if isinstance(plain, list | dict):
        plain = "; ".join(map(str, plain)) if isinstance(plain, list) else json.dumps(plain, ensure_ascii=False)
    return "'" + plain if isinstance(plain, str) and plain.startswith(FORMULA_STARTS) else plain


def _plain(value: object) -> Any:
    """As JSON has it."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, uuid.UUID | Decimal):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_plain(each) for each in value]
    return value
