"""Reduce: a consumer gives back a part of what it holds, whatever has become of the inventory since."""

from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from controlplane.kernel.errors import NoCapacity
from placement.domain import Claim, ConsumerState, CountLimit, InventorySpec
from placement.domain.errors import ConsumerChanged
from placement.models import Consumer
from placement.selectors import allocations_by_consumer, fleet_usage
from placement.services import (
    allocations_claim,
    allocations_reduce,
    allocations_replace,
    audit_inventory_usage,
    inventory_set,
)

pytestmark = pytest.mark.django_db


def held(consumer: UUID) -> dict[tuple[UUID, str], int]:
    rows = allocations_by_consumer([consumer]).get(consumer, [])
    return {(one.provider_uuid, one.resource_class): one.used for one in rows}


def test_part_is_given_back_and_who_saw_the_consumer_before_is_refused(provider, claim):
    host, card = provider(VCPU=4), provider(SRIOV_NET_VF=4)
    one = replace(claim(host, VCPU=2), resources={host: {"VCPU": 2}, card: {"SRIOV_NET_VF": 3}})
    allocations_claim([one])
    allocations_reduce(one.consumer_uuid, {card: {"SRIOV_NET_VF": 1}, host: {"MEMORY_MB": 5}, uuid4(): {"VCPU": 1}})
    assert held(one.consumer_uuid) == {(host, "VCPU"): 2, (card, "SRIOV_NET_VF"): 2}
    assert fleet_usage([card])[card]["SRIOV_NET_VF"].used == 2
    late = ConsumerState(one.consumer_uuid, "p", "u", None, {host: {"VCPU": 1}}, generation=1)
    with pytest.raises(ConsumerChanged):
        allocations_replace([late])
    allocations_reduce(one.consumer_uuid, {card: {"SRIOV_NET_VF": 9}})  # no more than it holds
    assert held(one.consumer_uuid) == {(host, "VCPU"): 2}
    assert audit_inventory_usage() == []


def test_it_is_refused_by_no_rule_of_an_inventory_that_changed(provider, claim):
    host = provider(VCPU=8)
    one = claim(host, VCPU=6)
    allocations_claim([one])
    inventory_set(host, {"VCPU": InventorySpec(total=8, reserved=6, min_unit=4, step_size=4)})
    allocations_reduce(one.consumer_uuid, {host: {"VCPU": 1}})
    assert held(one.consumer_uuid) == {(host, "VCPU"): 5}


def test_who_holds_nothing_any_more_ends_and_counts_no_longer(provider, claim):
    host, card = provider(VCPU=8), provider(SRIOV_NET_VF=4)
    limit = CountLimit(card, "group:x", 1)
    one = Claim(uuid4(), "p", "u", {host: {"VCPU": 1}, card: {"SRIOV_NET_VF": 1}}, limits=(limit,))
    two = replace(one, consumer_uuid=uuid4())
    allocations_claim([one])
    with pytest.raises(NoCapacity):
        allocations_claim([two])
    allocations_reduce(one.consumer_uuid, {card: {"SRIOV_NET_VF": 1}})
    allocations_claim([two])
    allocations_reduce(one.consumer_uuid, {host: {"VCPU": 1}})
    assert not Consumer.objects.filter(uuid=one.consumer_uuid).exists()
    allocations_reduce(one.consumer_uuid, {host: {"VCPU": 1}})
    assert fleet_usage([host])[host]["VCPU"].used == 1
