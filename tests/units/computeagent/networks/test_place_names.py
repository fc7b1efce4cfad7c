"""Names and addresses of the networks that hypervisors of one machine share."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computeagent.networks.base import NetworkError
from computeagent.networks.places.names import (
    MAX_HYPERVISORS,
    gateway_of,
    names_of,
    public_cidr_choose,
    underlay_address,
)
from computeagent.networks.places.way_out import nat_rules


def test_each_directory_has_names_of_its_own_that_fit() -> None:
    one, other = names_of(Path("/srv/a")), names_of(Path("/srv/b"))

    assert one == names_of(Path("/srv/../srv/a"))
    assert one.middle != other.middle
    assert len(one.machine_link) <= 15
    assert one.hypervisor(3) == f"{one.middle}-3"


@given(st.integers(1, MAX_HYPERVISORS), st.integers(1, MAX_HYPERVISORS))
def test_each_hypervisor_has_an_underlay_address_of_its_own(one: int, other: int) -> None:
    assert (underlay_address(one) == underlay_address(other)) == (one == other)


def test_first_range_that_the_machine_has_no_route_to_is_chosen() -> None:
    assert public_cidr_choose("", ["10.0.0.0/8", "192.0.2.1"]) == "172.24.4.0/24"
    assert public_cidr_choose("", ["172.24.4.0/23"]) == "172.24.6.0/24"
    assert public_cidr_choose("", ["172.24.4.77", "0.0.0.0/0", "fd00::/8"]) == "172.24.5.0/24"
    assert gateway_of("172.24.5.0/24") == "172.24.5.1"


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ("10.1.0.0/16", "overlaps 10.0.0.0/8"),
        ("203.0.113.7/24", "host bits"),
        ("nonsense", "not an IPv4 range"),
        ("203.0.113.0/30", "prefix of 8 to 29"),
        ("fd00::/64", "not an IPv4 range"),
    ],
)
def test_wanted_range_that_cannot_be_is_refused_with_the_reason(wanted: str, problem: str) -> None:
    with pytest.raises(NetworkError, match=problem):
        public_cidr_choose(wanted, ["10.0.0.0/8"])


def test_no_free_range_names_the_setting() -> None:
    with pytest.raises(NetworkError, match="EXTERNAL_NETWORK_CIDR"):
        public_cidr_choose("", ["172.16.0.0/12"])


def test_rules_close_the_machine_to_guests() -> None:
    rules = nat_rules("t", inside="knx", cidr="172.24.4.0/24", forbidden=("192.0.2.2",))

    assert 'iifname "knx" drop' in rules
    assert 'iifname "knx" ip daddr { 192.0.2.2 } drop' in rules
