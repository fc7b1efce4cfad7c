"""Extend: a consumer that is there holds more, or nothing changes."""

from uuid import UUID, uuid4

import pytest

from controlplane.kernel.errors import Conflict, Invalid, NoCapacity
from placement.domain import Claim, ConsumerState, CountLimit, InventorySpec
from placement.domain.errors import ConsumerChanged
from placement.selectors import fleet_usage
from placement.services import (
    allocations_claim,
    allocations_extend,
    allocations_reduce,
    allocations_replace,
    audit_inventory_usage,
    inventory_set,
)
from tests.services.placement.test_reduce import held

pytestmark = pytest.mark.django_db


def test_more_of_one_inventory_and_some_of_another_beside_what_is_held(provider, claim):
    host, card = provider(VCPU=4), provider(SRIOV_NET_VF=4, CUSTOM_KBIT=10)
    one = claim(host, VCPU=2)
    allocations_claim([one])
    allocations_extend(one.consumer_uuid, {card: {"SRIOV_NET_VF": 1, "CUSTOM_KBIT": 4}, host: {"VCPU": 1}})
    allocations_extend(one.consumer_uuid, {card: {"CUSTOM_KBIT": 6}})
    assert held(one.consumer_uuid) == {(host, "VCPU"): 3, (card, "SRIOV_NET_VF"): 1, (card, "CUSTOM_KBIT"): 10}
    assert fleet_usage([card])[card]["CUSTOM_KBIT"].used == 10
    late = ConsumerState(one.consumer_uuid, "p", "u", None, {host: {"VCPU": 1}}, generation=1)
    with pytest.raises(ConsumerChanged):
        allocations_replace([late])
    allocations_reduce(one.consumer_uuid, {card: {"SRIOV_NET_VF": 1, "CUSTOM_KBIT": 10}})
    assert held(one.consumer_uuid) == {(host, "VCPU"): 3}
    assert audit_inventory_usage() == []


@pytest.mark.parametrize("amounts", [{"CUSTOM_KBIT": 7}, {"CUSTOM_KBIT": 1, "SRIOV_NET_VF": 3}, {"CUSTOM_KBIT": 6}])
def test_no_room_for_a_part_or_too_much_for_one_consumer_changes_nothing(provider, claim, amounts):
    host, card = provider(VCPU=4), provider(SRIOV_NET_VF=2, CUSTOM_KBIT=10)
    inventory_set(card, {"SRIOV_NET_VF": InventorySpec(total=2), "CUSTOM_KBIT": InventorySpec(total=10, max_unit=8)})
    one = claim(host, VCPU=2)
    allocations_claim([one])
    allocations_extend(one.consumer_uuid, {card: {"CUSTOM_KBIT": 4}})
    before = held(one.consumer_uuid)
    with pytest.raises(NoCapacity):
        allocations_extend(one.consumer_uuid, {card: amounts})
    assert held(one.consumer_uuid) == before
    assert fleet_usage([card])[card]["CUSTOM_KBIT"].used == 4


def test_what_else_it_holds_is_not_judged_again(provider, claim):
    host, card = provider(VCPU=8), provider(CUSTOM_KBIT=10)
    one = claim(host, VCPU=6)
    allocations_claim([one])
    inventory_set(host, {"VCPU": InventorySpec(total=8, reserved=6, max_unit=4, step_size=4)})
    allocations_extend(one.consumer_uuid, {card: {"CUSTOM_KBIT": 1}})
    assert held(one.consumer_uuid) == {(host, "VCPU"): 6, (card, "CUSTOM_KBIT"): 1}


def test_it_goes_on_counting_where_it_counts(provider):
    host, card = provider(VCPU=8), provider(CUSTOM_KBIT=10)
    limit = CountLimit(host, "group:x", 1)
    one, two = (Claim(uuid4(), "p", "u", {host: {"VCPU": 1}}, limits=(limit,)) for _ in range(2))
    allocations_claim([one])
    allocations_extend(one.consumer_uuid, {card: {"CUSTOM_KBIT": 1}, host: {"VCPU": 1}})
    with pytest.raises(NoCapacity):
        allocations_claim([two])


def test_who_holds_nothing_gets_nothing_and_what_is_not_there_is_refused(provider, claim):
    host, nobody = provider(VCPU=8), uuid4()
    with pytest.raises(Conflict, match="holds no allocations"):
        allocations_extend(nobody, {host: {"VCPU": 1}})
    assert held(nobody) == {}
    one = claim(host, VCPU=1)
    allocations_claim([one])
    strange: dict[UUID, dict[str, int]] = {uuid4(): {"VCPU": 1}}
    for amounts, field in ((strange, "resource_provider"), ({host: {"CUSTOM_NONE": 1}}, "resource_class")):
        with pytest.raises(Invalid) as refused:
            allocations_extend(one.consumer_uuid, amounts)
        assert refused.value.field == field
    with pytest.raises(NoCapacity):
        allocations_extend(one.consumer_uuid, {host: {"MEMORY_MB": 1}})
