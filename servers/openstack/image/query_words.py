"""Values of query parameters, as Glance's clients write them."""

import csv
from datetime import datetime

from controlplane.kernel.moments import in_utc
from controlplane.openstack.faults import bad_request

COMPARISONS = ("eq", "neq", "gt", "gte", "lt", "lte")
_IN, _EQUAL = "in:", "eq:"
_DIGITS_MAX = 30


def words_of(name: str, value: str) -> list[str]:
    """`in:a,"b,c"` is several values; `eq:a`, and anything else, is one. Raises Fault 400."""
    if not value.startswith(_IN):
        return [value.removeprefix(_EQUAL)]
    try:
        rows = list(csv.reader([value.removeprefix(_IN)], strict=True))
    except csv.Error as error:
        raise bad_request(f"Invalid filter value of {name}: {error}.") from error
    return [word for row in rows for word in row]


def whole_number(name: str, value: str) -> int:
    """Raises Fault 400."""
    if not (value.isascii() and value.isdecimal() and len(value) <= _DIGITS_MAX):
        raise bad_request(f"{name} must be a whole number that is not negative, not {value:.80}.")
    return int(value)


def moments_of(name: str, value: str) -> tuple[str, datetime]:
    """`gt:2026-01-31T10:00:00Z`: the comparison, `eq` where none stands there, and the moment. Raises Fault 400."""
    comparison, _, rest = value.partition(":")
    if comparison not in COMPARISONS:
        comparison, rest = "eq", value
    try:
        moment = datetime.fromisoformat(rest)
        return comparison, in_utc(moment)
    except ValueError as error:
        raise bad_request(
            f"Invalid value {value:.80} of {name}: write one of {', '.join(COMPARISONS)}, a colon, and a moment "
            "such as 2026-01-31T10:00:00Z."
        ) from error
