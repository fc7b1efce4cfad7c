import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.policy import PolicyOptions
from scheduling.filters.availability_zone import AvailabilityZoneFilter
from tests.units.scheduling.worlds import aggregate, host, refused, request, table

FLEET = table(
    host("north"),
    host("both"),
    host("nowhere"),
    aggregates=(
        aggregate("n", "north", "both", availability_zone="north"),
        aggregate("s", "both", availability_zone="south"),
        aggregate("plain", "nowhere", disk="ssd"),
    ),
)


@pytest.mark.parametrize(
    ("wanted", "refused_hosts"),
    [
        (None, set()),
        ("north", {"nowhere"}),
        ("south", {"north", "nowhere"}),
        ("nova", {"north", "both"}),
        ("east", {"north", "both", "nowhere"}),
    ],
)
def test_zone_is_one_of_the_hosts_aggregates_or_the_default(wanted: str | None, refused_hosts: set[str]) -> None:
    found = refused(AvailabilityZoneFilter(), FLEET, request(availability_zone=wanted))
    assert set(found) == refused_hosts


def test_default_zone_comes_from_the_policy() -> None:
    options = PolicyOptions(default_availability_zone="east")
    found = refused(AvailabilityZoneFilter(), FLEET, request(availability_zone="east"), options)
    assert set(found) == {"north", "both"}


def test_refusal_names_all_zones_of_the_host() -> None:
    refusal = refused(AvailabilityZoneFilter(), FLEET, request(availability_zone="east"))["both"]
    assert (refusal.reason, refusal.available) == (RefusalReason.WRONG_ZONE, "north, south")


def test_zone_cannot_change_within_a_batch() -> None:
    assert AvailabilityZoneFilter.run_filter_once_per_request
    assert not AvailabilityZoneFilter.RUN_ON_REBUILD
