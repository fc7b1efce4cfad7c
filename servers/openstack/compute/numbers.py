"""Whole numbers for what old microversions name by one: aggregates always, services and hypervisors below 2.53.

Such a number is the first 53 bits of the row's uuid, as many as every JSON reader holds exactly: it stays the same as
long as the row does, and finding the row by it is a search in the index of uuids.
"""

import re
import uuid

from django.db.models import Q

from controlplane.openstack.faults import bad_request

_BITS_LEFT = 128 - 53
_WHOLE = re.compile(r"-?[0-9]{1,40}")


def number_of(row_id: uuid.UUID) -> int:
    """The number of a row."""
    return row_id.int >> _BITS_LEFT


def numbered(number: int, *, column: str = "pk") -> Q:
    """The row that has this number; none for a number that none can have."""
    if number >> (128 - _BITS_LEFT):
        return Q(pk__in=[])
    lowest = uuid.UUID(int=number << _BITS_LEFT)
    highest = uuid.UUID(int=((number + 1) << _BITS_LEFT) - 1)
    return Q(**{f"{column}__gte": lowest, f"{column}__lte": highest})


def number_in(text: str, *, what: str) -> int:
    """The number that a path or a query says, of either sign as in Nova. Raises Fault 400."""
    if not _WHOLE.fullmatch(text):
        raise bad_request(f"Invalid {what}: {text:.80}. It must be a whole number.")
    return int(text)
