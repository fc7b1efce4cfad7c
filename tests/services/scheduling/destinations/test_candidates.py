"""Hosts with nested and shared providers: chosen by Placement's search, claimed as it says, refused with reasons."""

import uuid
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection

from controlplane.kernel.errors import NoCapacity
from controlplane.kernel.reasons import Refusal, RefusalReason
from placement.domain import Claim, InventorySpec, ProviderKind
from placement.selectors import allocations_by_consumer
from placement.services import (
    allocations_claim,
    allocations_free,
    inventory_set,
    provider_aggregates_set,
    provider_ensure,
    provider_traits_set,
)
from scheduling.decisions.selectors.decisions import decision_content, decision_why_not
from scheduling.decisions.selectors.report import decision_report
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import alternate_claim, destinations_select
from scheduling.destinations.services.selections import Destinations, selection_from_json, selection_to_json
from scheduling.domain.request.schedule_request import Destination, GroupSnapshot, ScheduleRequest
from scheduling.errors import NoValidHost
from scheduling.models import ComputeNode, DecisionOutcome, SchedulingDecision
from tests.services.scheduling.between import BetweenReadAndClaim
from tests.services.scheduling.fleet.fleet_world import PROJECT, USER, fleet, request

pytestmark = pytest.mark.django_db

VGPU = {"resources1:VGPU": "1"}
SHARES = "MISC_SHARES_VIA_AGGREGATE"


def node_of(host: str) -> uuid.UUID:
    return ComputeNode.objects.get(host=host).pk


def device(host: str, total: int = 1, *, traits: tuple[str, ...] = ()) -> uuid.UUID:
    """A provider of VGPU below the host's."""
    made = uuid.uuid4()
    provider_ensure(made, f"gpu-{made}", node_of(host), kind=ProviderKind.OTHER)
    inventory_set(made, {"VGPU": InventorySpec(total=total)})
    provider_traits_set(made, traits)
    return made


def pool_for(*hosts: str, disk_gib: int) -> uuid.UUID:
    """A provider of disk that these hosts share instead of their own."""
    made, aggregate = uuid.uuid4(), uuid.uuid4()
    provider_ensure(made, "pool", kind=ProviderKind.OTHER)
    inventory_set(made, {"DISK_GB": InventorySpec(total=disk_gib)})
    provider_traits_set(made, (SHARES,))
    for provider in (made, *map(node_of, hosts)):
        provider_aggregates_set(provider, {aggregate})
    return made


def asking(specs: dict[str, str], count: int = 1, **changes: Any) -> ScheduleRequest:
    asked = request(count, **changes)
    return replace(asked, flavor=replace(asked.flavor, extra_specs=specs))


def select(asked: ScheduleRequest) -> Destinations:
    return destinations_select(request=asked, inputs=scheduling_inputs(is_retry=False))


def held_by(consumer: uuid.UUID) -> dict[uuid.UUID, dict[str, int]]:
    found: dict[uuid.UUID, dict[str, int]] = {}
    for row in allocations_by_consumer([consumer]).get(consumer, ()):
        found.setdefault(row.provider_uuid, {})[row.resource_class] = row.used
    return found


def refusals(asked: ScheduleRequest, *hosts: str) -> dict[str, Refusal | None]:
    """Why none of the hosts will do."""
    with pytest.raises(NoValidHost) as caught:
        select(asked)
    decision = SchedulingDecision.objects.get(pk=caught.value.decision_id)
    return {host: decision_why_not(decision=decision, host=host).refusal for host in hosts}


def rival(provider: uuid.UUID, amounts: dict[str, int]) -> BetweenReadAndClaim:
    """Somebody who claims once, after the first look and before the claim that follows it."""
    takes = [Claim(uuid.uuid4(), PROJECT, USER, {provider: amounts})]
    return BetweenReadAndClaim(lambda: allocations_claim([takes.pop()]) if takes else None)


def test_suffixed_group_lands_on_the_host_with_the_device_and_claims_child_and_root() -> None:
    fleet(3)
    gpu = device("cmp-01")
    (one,) = select(asking(VGPU)).instances
    assert one.selected.host == "cmp-01"
    assert held_by(one.instance_uuid) == {
        node_of("cmp-01"): {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 1},
        gpu: {"VGPU": 1},
    }


def test_selection_says_all_in_one_and_by_provider() -> None:
    fleet(1)
    gpu = device("cmp-00")
    selected = select(asking(VGPU)).instances[0].selected
    assert selected.resources == {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 1, "VGPU": 1}
    assert selected.allocations[gpu] == {"VGPU": 1}
    assert selection_from_json(selection_to_json(selected)) == selected


def test_selection_kept_before_there_were_allocations_is_all_of_the_node() -> None:
    fleet(1)
    stored = selection_to_json(select(request()).instances[0].selected)
    del stored["allocations"]
    selected = selection_from_json(stored)
    assert selected.allocations == {selected.compute_node_uuid: {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 1}}


def test_shared_disk_is_claimed_of_the_pool() -> None:
    fleet(2, disk_gib=0)
    pool = pool_for("cmp-01", disk_gib=50)
    (one,) = select(request()).instances
    assert one.selected.host == "cmp-01"
    assert held_by(one.instance_uuid) == {node_of("cmp-01"): {"VCPU": 1, "MEMORY_MB": 1024}, pool: {"DISK_GB": 1}}


def test_host_asked_for_by_name_may_live_on_a_shared_pool() -> None:
    fleet(2, disk_gib=0)
    pool_for("cmp-00", "cmp-01", disk_gib=50)
    found = select(request(requested_destination=Destination(host="cmp-01")))
    assert found.instances[0].selected.host == "cmp-01"


def test_host_asked_for_by_name_is_judged_and_the_others_are_just_not_asked_for() -> None:
    fleet(2)
    found = refusals(request(memory_mib=9000, force_hosts=("cmp-01",)), "cmp-00", "cmp-01")
    assert {host: refusal.reason for host, refusal in found.items() if refusal} == {
        "cmp-00": RefusalReason.NOT_FORCED,
        "cmp-01": RefusalReason.RAM_SHORT,
    }


def test_alternate_claims_its_own_device() -> None:
    fleet(2)
    gpus = {host: device(host) for host in ("cmp-00", "cmp-01")}
    (one,) = select(asking(VGPU)).instances
    allocations_free([one.instance_uuid])
    alternate = selection_from_json(selection_to_json(one.alternates[0]))
    alternate_claim(instance_uuid=one.instance_uuid, selection=alternate, project_id=PROJECT, user_id=USER)
    assert set(held_by(one.instance_uuid)) == {node_of(alternate.host), gpus[alternate.host]}


def test_alternate_whose_device_is_gone_is_refused() -> None:
    fleet(2)
    gpus = {host: device(host) for host in ("cmp-00", "cmp-01")}
    (one,) = select(asking(VGPU)).instances
    allocations_free([one.instance_uuid])
    alternate = one.alternates[0]
    allocations_claim([Claim(uuid.uuid4(), PROJECT, USER, {gpus[alternate.host]: {"VGPU": 1}})])
    with pytest.raises(NoCapacity):
        alternate_claim(instance_uuid=one.instance_uuid, selection=alternate, project_id=PROJECT, user_id=USER)


def test_batch_takes_every_device_of_a_host() -> None:
    fleet(1)
    gpus = {device("cmp-00"), device("cmp-00")}
    found = select(asking(VGPU, 2))
    taken = {provider for one in found.instances for provider in held_by(one.instance_uuid)}
    assert taken == {node_of("cmp-00"), *gpus}


def test_host_full_by_the_snapshot_is_refused_with_its_numbers() -> None:
    fleet(1)
    allocations_claim([Claim(uuid.uuid4(), PROJECT, USER, {node_of("cmp-00"): {"MEMORY_MB": 4000}})])
    with pytest.raises(NoValidHost) as caught:
        select(request())
    report = decision_report(decision=SchedulingDecision.objects.get(pk=caught.value.decision_id), redacted=False)
    (host,) = report["hosts"]
    assert (host["reason"], host["wanted"], host["available"], host["total"]) == ("ram_short", 1024, 96, 4608)
    assert host["stage"] == "placement"


def test_device_that_is_taken_is_told_with_class_and_numbers() -> None:
    fleet(2)
    allocations_claim([Claim(uuid.uuid4(), PROJECT, USER, {device("cmp-00", 2): {"VGPU": 2}})])
    found = refusals(asking(VGPU), "cmp-00", "cmp-01")
    taken, never = found["cmp-00"], found["cmp-01"]
    assert taken is not None
    assert never is not None
    assert taken.sentence() == "VGPU, group 1: wants 1, has 0 of 2"
    assert (never.reason, never.wanted, never.available) == (RefusalReason.RESOURCE_SHORT, 1, 0)


def test_missing_trait_is_visible_in_the_explanation() -> None:
    fleet(2)
    device("cmp-00", traits=("CUSTOM_OLD",))
    specs = {**VGPU, "trait1:CUSTOM_NEW": "required"}
    found = refusals(asking(specs), "cmp-00")["cmp-00"]
    assert found is not None
    assert (found.reason, found.wanted, found.detail) == (RefusalReason.TRAIT_MISSING, "CUSTOM_NEW", "group 1")
    plain = refusals(asking({"trait:CUSTOM_NEW": "required"}), "cmp-01")["cmp-01"]
    assert plain is not None
    assert plain.sentence() == "lacks the trait CUSTOM_NEW"


def test_missing_aggregate_is_visible_in_the_explanation() -> None:
    fleet(2)
    device("cmp-00")
    wanted = str(uuid.uuid4())
    found = refusals(request(member_of=(frozenset({wanted}),)), "cmp-00", "cmp-01")
    assert {refusal and (refusal.reason, refusal.wanted) for refusal in found.values()} == {
        (RefusalReason.NOT_IN_AGGREGATE, wanted)
    }


@pytest.mark.parametrize(
    ("specs", "words"),
    [
        ({**VGPU, "resources2:VGPU": "1"}, "group_policy"),
        ({"trait1:CUSTOM_A": "required"}, "needs resources1:"),
    ],
)
def test_flavor_that_placement_would_not_take_ends_as_a_decision(specs: dict[str, str], words: str) -> None:
    fleet(1)
    with pytest.raises(NoValidHost, match=words) as caught:
        select(asking(specs))
    assert SchedulingDecision.objects.get(pk=caught.value.decision_id).outcome == DecisionOutcome.ERROR


def test_claim_lost_on_a_device_moves_on_to_another_host() -> None:
    fleet(2)
    gpus = {host: device(host) for host in ("cmp-00", "cmp-01")}
    # The host with more memory free is tried first.
    allocations_claim([Claim(uuid.uuid4(), PROJECT, USER, {node_of("cmp-01"): {"MEMORY_MB": 512}})])
    with connection.execute_wrapper(rival(gpus["cmp-00"], {"VGPU": 1})):
        found = select(asking(VGPU))
    assert found.instances[0].selected.host == "cmp-01"
    (lost,) = decision_content(decision=SchedulingDecision.objects.get(pk=found.decision_id)).lost_claims
    assert (lost["provider_uuid"], lost["resource_class"]) == (str(gpus["cmp-00"]), "VGPU")
    assert (lost["host"], lost["compute_node_uuid"]) == ("cmp-00", str(node_of("cmp-00")))


def test_claim_lost_on_a_shared_pool_is_a_loss_of_the_host_that_wanted_it() -> None:
    fleet(1, disk_gib=0)
    pool = pool_for("cmp-00", disk_gib=10)
    with connection.execute_wrapper(rival(pool, {"DISK_GB": 10})), pytest.raises(NoValidHost) as caught:
        select(request())
    decision = SchedulingDecision.objects.get(pk=caught.value.decision_id)
    (lost,) = decision_content(decision=decision).lost_claims
    assert (lost["provider_uuid"], lost["host"]) == (str(pool), "cmp-00")
    refusal = decision_why_not(decision=decision, host="cmp-00").refusal
    assert refusal is not None
    assert refusal.sentence() == "disk: wants 1 GiB, has 0 GiB of 10 GiB"


def test_group_limit_is_kept_on_the_root_when_devices_are_claimed_too() -> None:
    fleet(1)
    device("cmp-00", 2)
    group = GroupSnapshot(uuid=str(uuid.uuid4()), policy="anti-affinity", rules={"max_server_per_host": 1})
    select(asking(VGPU, group=group))
    with pytest.raises(NoValidHost):
        select(asking(VGPU, group=group))
