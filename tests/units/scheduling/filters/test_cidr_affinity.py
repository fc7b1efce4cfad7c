import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.filters.cidr_affinity import SimpleCIDRAffinityFilter
from tests.units.scheduling.worlds import host, refused, request, table

FLEET = table(
    host("near", host_ip="10.0.1.7"),
    host("far", host_ip="10.0.2.7"),
    host("six", host_ip="2001:db8::7"),
    host("silent"),
)


@pytest.mark.parametrize(
    ("hints", "passing"),
    [
        ({}, {"near", "far", "six", "silent"}),
        ({"cidr": ("/8",)}, {"near", "far", "six", "silent"}),  # no address, no rule
        ({"build_near_host_ip": ("10.0.1.200",)}, {"near"}),  # /24
        ({"build_near_host_ip": ("10.0.1.200",), "cidr": ("/16",)}, {"near", "far"}),
        ({"build_near_host_ip": ("10.0.1.7",), "cidr": ("/32",)}, {"near"}),
        ({"build_near_host_ip": ("10.0.1.8",), "cidr": ("/32",)}, set()),
        ({"build_near_host_ip": ("10.0.1.8",), "cidr": ("/255.255.255.0",)}, {"near"}),
        ({"build_near_host_ip": ("2001:db8::1",), "cidr": ("/64",)}, {"six"}),
    ],
)
def test_address_must_lie_in_the_network(hints: dict[str, tuple[str, ...]], passing: set[str]) -> None:
    found = refused(SimpleCIDRAffinityFilter(), FLEET, request(hints=hints))
    assert set(FLEET.hosts) - set(found) == passing


def test_refusal_names_both() -> None:
    refusal = refused(SimpleCIDRAffinityFilter(), FLEET, request(hints={"build_near_host_ip": ("10.0.1.1",)}))["far"]
    assert (refusal.reason, refusal.sentence()) == (
        RefusalReason.NOT_IN_NETWORK,
        "address: wants one in 10.0.1.1/24, has 10.0.2.7",
    )


@pytest.mark.parametrize(
    "hints", [{"build_near_host_ip": ("nowhere",)}, {"build_near_host_ip": ("10.0.0.1",), "cidr": ("/99",)}]
)
def test_hints_that_name_no_network_fit_no_host_and_say_why(hints: dict[str, tuple[str, ...]]) -> None:
    found = refused(SimpleCIDRAffinityFilter(), FLEET, request(hints=hints))
    assert set(found) == set(FLEET.hosts)
    assert "does not appear to be an IPv4 or IPv6 network" in found["near"].detail
