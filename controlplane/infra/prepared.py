"""Queries that are built and compiled once, and then run by their text alone.

Building a query for the widest table of all takes longer than running it, and an agent runs the same few of them for
every piece of work.
"""

import uuid
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Generic, TypeVar

from django.db import connection
from django.db.models import Model, QuerySet

from controlplane.infra.db import uuid_value

Row = TypeVar("Row", bound=Model)

_MARK = uuid.UUID(int=0x6B696C6F6E6F7661)
"""The uuid that a query is compiled with; the wanted one takes its place among the parameters."""


class ByUuid(Generic[Row]):
    """Whole rows for one uuid. `build` makes the query for any uuid, and must do nothing with it but compare it."""

    def __init__(self, model: type[Row], build: Callable[[uuid.UUID], "QuerySet[Row]"]) -> None:
        self._model = model
        self._build = build
        # Text and parameters differ between kinds of databases.
        self._compiled = lru_cache(maxsize=4)(self._compile)

    def rows(self, key: uuid.UUID) -> list[Row]:
        """The rows for `key`, in the query's order."""
        text, parameters = self._compiled(connection.vendor)
        mark, wanted = uuid_value(_MARK), uuid_value(key)
        return list(self._model._default_manager.raw(text, [wanted if one == mark else one for one in parameters]))

    def _compile(self, _vendor: str) -> tuple[str, tuple[Any, ...]]:
        text, parameters = self._build(_MARK).query.sql_with_params()
        return text, tuple(parameters)
