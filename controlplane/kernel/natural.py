"""Names in the order in which people count: hv-1, hv-2, hv-10."""

import re

_NUMBER = re.compile("([0-9]+)")


def natural_key(name: str) -> tuple[list[str | tuple[int, str]], str]:
    """The key to sort by: text and numbers in turn, whatever the case of letters; equal ones by their very text.

    A number is compared by its length and then its digits, so that a name of many digits costs no large integer.
    """
    parts: list[str | tuple[int, str]] = list(_NUMBER.split(name.lower()))
    for at in range(1, len(parts), 2):
        digits = str(parts[at]).lstrip("0")
        parts[at] = (len(digits), digits)
    return parts, name
