"""Microversions as the header asks for them."""

import pytest

from controlplane.openstack.microversions import VersionNotServedError, VersionUnreadableError
from placement.openstack.versions import VERSIONS


@pytest.mark.parametrize(
    ("header", "minor"),
    [
        (None, 0),
        ("", 0),
        ("placement 1.29", 29),
        ("PLACEMENT 1.7", 7),
        ("placement latest", VERSIONS.max_minor),
        ("compute 2.90", 0),
        ("compute 2.90, placement 1.10", 10),
        ("placement 1.1, placement 1.2", 2),
    ],
)
def test_header_names_a_version_that_is_served(header: str | None, minor: int) -> None:
    assert VERSIONS.minor_asked_for(header) == minor


@pytest.mark.parametrize("version", ["0.5", "1.40", "2.0", "9.9"])
def test_version_beyond_what_is_served_is_refused(version: str) -> None:
    with pytest.raises(VersionNotServedError, match=version):
        VERSIONS.minor_asked_for(f"placement {version}")


@pytest.mark.parametrize("version", ["pony.horse", "1.2.3", "1", "", "1.x", "-1.2", "1.2 "[:2]])
def test_version_that_is_none_is_unreadable(version: str) -> None:
    with pytest.raises(VersionUnreadableError):
        VERSIONS.minor_asked_for(f"placement {version}")
