"""Addresses are given once, out of the pools, and never the gateway's; rules of subnets agree with a plain reading."""

import ipaddress
import uuid

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from servers.models import IPAllocation, Port
from servers.networks.domain.addresses import (
    AddressRange,
    address_key,
    address_number,
    address_text,
    free_numbers,
    host_range,
    search_order,
)
from servers.networks.domain.errors import IpAddressInUse, NoMoreAddresses
from servers.networks.domain.ports import AddressRequest
from servers.networks.domain.subnets import SubnetRequest, cidr_reasons, overlapping, pools_default, subnet_problems
from servers.networks.services.ports import ports_create, ports_delete
from tests.worlds.ports import asked, network, subnet

ADDRESSES = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6))
SMALL = st.integers(min_value=0, max_value=60)


@given(ADDRESSES, ADDRESSES)
def test_keys_sort_as_addresses_do_and_lead_back(one, other):
    mapped = ipaddress.IPv6Network("::ffff:0:0/96")
    for each in (one, other):
        if each.version == 4 or each not in mapped:
            assert address_text(address_number(each)) == str(each)
    if one.version == other.version:
        assert (address_key(address_number(one)) < address_key(address_number(other))) == (one < other)


@given(st.lists(st.tuples(SMALL, SMALL), max_size=4), SMALL)
def test_search_covers_each_pool_once_from_the_start_on(pairs, start):
    pools, end = [], -1
    for gap, length in pairs:
        pools.append(AddressRange(end + 1 + gap, end + 1 + gap + length))
        end = pools[-1].last
    found = [number for one in search_order(pools, start) for number in range(one.first, one.last + 1)]
    expected = {number for one in pools for number in range(one.first, one.last + 1)}
    assert sorted(found) == sorted(expected)
    after = [number for number in found if number >= start]
    assert found[: len(after)] == sorted(after)


@given(SMALL, SMALL, st.sets(SMALL))
def test_free_are_those_that_are_not_taken(first, length, taken):
    within = AddressRange(first, first + length)
    free = list(free_numbers(within, sorted(number for number in taken if number in within)))
    assert free == [number for number in range(first, first + length + 1) if number not in taken]


@given(st.integers(min_value=0, max_value=2**32 - 1), st.integers(min_value=1, max_value=32))
def test_accepted_ranges_are_canonical_and_hold_no_special_address(number, prefix):
    network_of = ipaddress.ip_network((number, prefix), strict=False)
    if cidr_reasons(str(network_of)):
        return
    assert ipaddress.ip_address("169.254.169.254") not in network_of
    assert not network_of.is_loopback
    assert not network_of.is_multicast
    gateway = str(network_of[1]) if prefix < 31 else None
    pools = pools_default(str(network_of), gateway)
    inside = host_range(str(network_of))
    for first, last in pools:
        assert inside.first <= address_number(first) <= address_number(last) <= inside.last
        assert gateway is None or not address_number(first) <= address_number(gateway) <= address_number(last)


@given(st.lists(st.tuples(SMALL, SMALL), min_size=1, max_size=3), st.one_of(st.none(), SMALL))
def test_pools_are_accepted_if_and_only_if_they_are_apart_and_leave_the_gateway(pairs, gateway):
    """In 10.0.0.0/26: of 0 to 63 hosts have 1 to 62."""
    text = "10.0.0.{}".format
    request = SubnetRequest(
        network_id=uuid.UUID(int=1),
        cidr="10.0.0.0/26",
        gateway=None if gateway is None else text(gateway),
        pools=tuple((text(first), text(first + length)) for first, length in pairs),
    )
    taken = [set(range(first, first + length + 1)) for first, length in pairs]
    together = set().union(*taken)
    apart = sum(map(len, taken)) == len(together)
    good_gateway = gateway is None or 1 <= gateway <= 62
    good = apart and together <= set(range(1, 63)) and gateway not in together
    found = subnet_problems(request)
    assert ("gateway" not in found) == good_gateway
    if good_gateway:
        assert ("pools" not in found) == good


@given(st.lists(st.tuples(st.integers(0, 255), st.integers(24, 30)), min_size=2, max_size=2))
def test_overlap_is_an_address_that_both_have(pairs):
    one, other = (ipaddress.ip_network(f"10.0.0.{number}/{prefix}", strict=False) for number, prefix in pairs)
    assert bool(overlapping(str(one), [str(other)])) == bool(set(one) & set(other))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("make"), st.integers(1, 4)),
        st.tuples(st.just("name"), st.integers(0, 15)),
        st.tuples(st.just("remove"), st.integers(0, 20)),
    ),
    max_size=12,
)


@pytest.mark.django_db
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(STEPS)
def test_whatever_is_made_and_removed_no_address_is_given_twice(steps):
    with transaction.atomic():
        net = network()
        subnet(net, "10.0.0.0/28", pool=("10.0.0.1", "10.0.0.9"))
        live: dict[uuid.UUID, str] = {}
        for verb, number in steps:
            if verb == "remove":
                if live:
                    gone = sorted(live)[number % len(live)]
                    ports_delete(port_ids=[gone])
                    del live[gone]
                continue
            named = f"10.0.0.{number}"
            requests = [asked(net) for _ in range(number)]
            if verb == "name":
                if number in {0, 15}:
                    continue
                requests = [asked(net, None, AddressRequest(address=named))]
            free = 8 - len(set(live.values()) & {f"10.0.0.{last}" for last in range(2, 10)})
            try:
                made = ports_create(caller=None, requests=requests)
            except NoMoreAddresses:
                assert free < len(requests)
                continue
            except IpAddressInUse:
                assert named in live.values()
                continue
            if verb == "make":
                assert all(2 <= int(port.addresses[0].rpartition(".")[2]) <= 9 for port in made)
            for port in made:
                assert port.addresses[0] not in live.values()
                live[port.pk] = port.addresses[0]
        assert dict(IPAllocation.objects.values_list("port_id", "address")) == live
        assert Port.objects.count() == len(live)
        transaction.set_rollback(True)
