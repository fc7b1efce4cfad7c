"""Microversions: which the server speaks, and which one a request asks for.

Only the minor number is carried around, for the major one is 1 and stays so.
"""

import re

SERVICE_TYPE = "placement"
MIN_MINOR, MAX_MINOR = 0, 39
MIN_VERSION, MAX_VERSION = f"1.{MIN_MINOR}", f"1.{MAX_MINOR}"
HEADER = "OpenStack-API-Version"

_VERSION = re.compile(r"([0-9]+)\.([0-9]+)")


class VersionUnreadableError(ValueError):
    """The header names this service with something that is no version: 400."""


class VersionNotServedError(ValueError):
    """The version is well formed and outside of what is served: 406."""


def minor_asked_for(header: str | None) -> int:
    """The minor version of an `OpenStack-API-Version` header, which may name several services.

    No header, or none for this service, asks for the lowest. Where the service is named twice the last one counts.
    Raises VersionUnreadableError, VersionNotServedError.
    """
    asked = None
    for part in (header or "").split(","):
        service, _, version = part.strip().partition(" ")
        if service.lower() == SERVICE_TYPE:
            asked = version.strip()
    if asked is None:
        return MIN_MINOR
    return MAX_MINOR if asked.lower() == "latest" else _minor(asked)


def _minor(text: str) -> int:
    found = _VERSION.fullmatch(text)
    if found is None:
        raise VersionUnreadableError(f"invalid version string: {text}")
    major, minor = int(found[1]), int(found[2])
    if major != 1 or not MIN_MINOR <= minor <= MAX_MINOR:
        raise VersionNotServedError(f"Unacceptable version header: {text}")
    return minor
