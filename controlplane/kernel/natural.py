"""Names in the order in which people count: hv-1, hv-2, hv-10."""

import re

WIDTH = 20
"""Digits up to which numbers are filled with zeros; longer ones are compared by length and then by their digits."""
_NUMBER = re.compile("[0-9]+")


def natural_key(name: str) -> tuple[str, str]:
    """The key to sort by: small letters, each number filled up with zeros; equal ones by their very text.

    `controlplane.infra.natural_order` has the same key in SQL, so that what memory sorts and what the database sorts
    stand in one order.
    """
    return _NUMBER.sub(_filled, name.lower()), name


def _filled(number: re.Match[str]) -> str:
    digits = number[0].lstrip("0")
    # A longer number sorts behind all others: ":" is the character behind "9".
    return digits.zfill(WIDTH) if len(digits) <= WIDTH else f":{len(digits):06}{digits}"
