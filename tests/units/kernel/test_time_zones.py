"""Names of time zones."""

import pytest

from controlplane.kernel.time_zones import time_zone_problem, time_zones_offered, zone_of


@pytest.mark.parametrize(
    "name", ["UTC", "Europe/Berlin", "Asia/Kolkata", "America/Argentina/Buenos_Aires", "US/Pacific"]
)
def test_zone_that_the_system_knows_is_accepted(name: str) -> None:
    assert time_zone_problem(name) == ""
    assert zone_of(name).key == name


@pytest.mark.parametrize(
    "name", ["", "Berlin", "europe/berlin", "../etc/passwd", "/etc/passwd", "UTC+1", "Europe/Berlin\n"]
)
def test_anything_else_is_not(name: str) -> None:
    assert "IANA name" in time_zone_problem(name)
    assert zone_of(name).key == "UTC"


def test_utc_is_offered_first_and_every_offer_is_accepted() -> None:
    offered = time_zones_offered()
    assert offered[0] == "UTC"
    assert {"Europe/Berlin", "Asia/Tokyo"} <= set(offered)
    assert not [name for name in offered if time_zone_problem(name) or name.startswith("Etc/")]
