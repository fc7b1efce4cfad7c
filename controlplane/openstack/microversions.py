"""Microversions: which ones a service speaks, and which one a request asks for.

Only the minor number is carried around: the major one stays the same as long as a service lives.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

HEADER = "OpenStack-API-Version"

_VERSION = re.compile(r"([0-9]+)\.([0-9]+)")


class VersionUnreadableError(ValueError):
    """The header names this service with something that is no version: 400."""


class VersionNotServedError(ValueError):
    """The version is well formed and outside of what is served: 406."""


@dataclass(frozen=True, slots=True)
class Microversions:
    """What one service speaks: `major`.`min_minor` to `major`.`max_minor`, under its type in the catalog."""

    service_type: str
    major: int
    min_minor: int
    max_minor: int

    def text(self, minor: int) -> str:
        """A version as clients write it, such as '1.39'."""
        return f"{self.major}.{minor}"

    def minor_of(self, headers: Mapping[str, str]) -> int:
        """What a request with these headers asks for. Raises VersionUnreadableError, VersionNotServedError."""
        return self.minor_asked_for(headers.get(HEADER))

    def answer_headers(self, minor: int) -> dict[str, str]:
        """What an answer says of its version."""
        return {HEADER: f"{self.service_type} {self.text(minor)}", "Vary": HEADER.lower()}

    def minor_asked_for(self, header: str | None) -> int:
        """The minor version of an `OpenStack-API-Version` header, which may name several services.

        No header, or none for this service, asks for the lowest. Where the service is named twice the last one counts.
        Raises VersionUnreadableError, VersionNotServedError.
        """
        asked = None
        for part in (header or "").split(","):
            service, _, version = part.strip().partition(" ")
            if service.lower() == self.service_type:
                asked = version.strip()
        if asked is None:
            return self.min_minor
        if asked.lower() == "latest":
            return self.max_minor
        found = _VERSION.fullmatch(asked)
        if found is None:
            raise VersionUnreadableError(self.unreadable(asked))
        major, minor = int(found[1]), int(found[2])
        if major != self.major or not self.min_minor <= minor <= self.max_minor:
            raise VersionNotServedError(self.not_served(asked))
        return minor

    def unreadable(self, asked: str) -> str:
        """What is said of text that is no version."""
        return f"invalid version string: {asked}"

    def not_served(self, asked: str) -> str:
        """What is said of a version outside of what is served."""
        return f"Unacceptable version header: {asked}"
