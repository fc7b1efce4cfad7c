"""What goes wrong at an OpenStack door, before the service gives it the shape that its clients read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FaultsDescribed:
    """For documents: the JSON schema of a door's faults, and the statuses that they may have."""

    schema: Mapping[str, Any]
    statuses: frozenset[int]


class ApiFault(Exception):
    """An answer that is an error. `code` is one of the service's own codes; `allow` is the Allow header of a 405."""

    def __init__(self, status: int, detail: str = "", *, code: str = "", allow: str = "") -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.code = code
        self.allow = allow


def bad_request(detail: str, code: str = "") -> ApiFault:
    """400: the request cannot be accepted, whatever the state of the world."""
    return ApiFault(400, detail, code=code)


def not_found(detail: str = "", code: str = "") -> ApiFault:
    """404: there is no such resource, or not for this caller."""
    return ApiFault(404, detail, code=code)


def conflict(detail: str, code: str = "") -> ApiFault:
    """409: the state of the world speaks against it."""
    return ApiFault(409, detail, code=code)
