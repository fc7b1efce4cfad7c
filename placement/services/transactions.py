"""One transaction, repeated when the database itself ended it in favour of another."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import OperationalError, connection, transaction

T = TypeVar("T")

ATTEMPTS = 5
SERIALIZATION_FAILURE, DEADLOCK_DETECTED = "40001", "40P01"


def in_transaction(work: Callable[[], T]) -> T:
    """Run `work` in one transaction and return its result.

    A serialization failure or a deadlock (PostgreSQL), or a busy file (SQLite), is tried again, ATTEMPTS times in
    all. Inside a transaction of the caller there is no second try: that whole transaction is lost, and its owner
    must repeat it.
    """
    attempts = 1 if connection.in_atomic_block else ATTEMPTS
    for attempt in range(1, attempts):
        try:
            with transaction.atomic():
                return work()
        except OperationalError as error:
            if not _is_passing(error):
                raise
            time.sleep(random.uniform(0.5, 1.5) * 0.01 * 2**attempt)  # noqa: S311 - only spreads the tries
    with transaction.atomic():
        return work()


def _is_passing(error: OperationalError) -> bool:
    code = getattr(error.__cause__, "pgcode", None)
    return code in {SERIALIZATION_FAILURE, DEADLOCK_DETECTED} or "database is locked" in str(error)
