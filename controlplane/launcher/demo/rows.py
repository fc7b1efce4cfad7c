"""How very many rows are written: by the thousand, from iterators, so that no more than that is in memory."""

from collections.abc import Iterable
from itertools import islice
from typing import TypeVar

from django.db.models import Model

M = TypeVar("M", bound=Model)
TOGETHER = 2000


def rows_write(model: type[M], rows: Iterable[M]) -> int:
    """Insert them all. Returns how many there were."""
    written, walk = 0, iter(rows)
    while part := list(islice(walk, TOGETHER)):
        written += len(model._default_manager.bulk_create(part, batch_size=TOGETHER))
    return written
