"""What is lost at one of a host's providers leaves its other candidates: they are tried before the next host."""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from controlplane.kernel.reasons import RefusalReason
from placement.domain import Claim, InventorySpec, ProviderKind
from placement.selectors import allocations_by_consumer
from placement.services import allocations_claim, inventory_set, provider_ensure
from scheduling.decisions.selectors.decisions import decision_content, decision_why_not
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.destinations.services.selections import Destinations
from scheduling.errors import NoValidHost
from scheduling.models import ComputeNode, SchedulingDecision
from scheduling.policies.services.policies import policy_create
from tests.services.scheduling import raced_scheduler
from tests.services.scheduling.fleet.fleet_world import PROJECT, USER, fleet, request

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def raced() -> Iterator[None]:
    raced_scheduler.TAKES.clear()
    policy_create(body={"scheduler": "tests.services.scheduling.raced_scheduler.Raced"}, activate=True)
    yield
    raced_scheduler.TAKES.clear()


def node_of(host: str) -> uuid.UUID:
    return ComputeNode.objects.get(host=host).pk


def device(host: str) -> uuid.UUID:
    made = uuid.uuid4()
    provider_ensure(made, f"gpu-{made}", node_of(host), kind=ProviderKind.OTHER)
    inventory_set(made, {"VGPU": InventorySpec(total=1)})
    return made


def select() -> Destinations:
    asked = request()
    flavor = replace(asked.flavor, extra_specs={"resources1:VGPU": "1"})
    return destinations_select(request=replace(asked, flavor=flavor), inputs=scheduling_inputs())


def lost_at(found: Any) -> list[str]:
    decision = SchedulingDecision.objects.get(pk=found.decision_id)
    return [one["provider_uuid"] for one in decision_content(decision=decision).lost_claims]


def prefer(host: str, *others: str) -> None:
    """The host with more memory free is tried first."""
    for other in others:
        allocations_claim([Claim(uuid.uuid4(), PROJECT, USER, {node_of(other): {"MEMORY_MB": 512}})])


def test_every_candidate_of_a_host_is_tried_before_the_next_host() -> None:
    fleet(2)
    order = [device("cmp-00") for _ in range(3)]
    device("cmp-01")
    prefer("cmp-00", "cmp-01")
    raced_scheduler.TAKES += [(gpu, {"VGPU": 1}) for gpu in order[:2]]
    found = select()
    assert found.instances[0].selected.host == "cmp-00"
    assert lost_at(found) == [str(gpu) for gpu in order[:2]]
    held = allocations_by_consumer([found.instances[0].instance_uuid])[found.instances[0].instance_uuid]
    assert order[2] in {one.provider_uuid for one in held}


def test_next_host_comes_when_no_candidate_is_left() -> None:
    fleet(2)
    gpu = device("cmp-00")
    device("cmp-01")
    prefer("cmp-00", "cmp-01")
    raced_scheduler.TAKES.append((gpu, {"VGPU": 1}))
    found = select()
    assert (found.instances[0].selected.host, lost_at(found)) == ("cmp-01", [str(gpu)])


def test_host_that_lost_all_its_devices_is_short_of_them() -> None:
    fleet(1)
    order = [device("cmp-00") for _ in range(3)]
    raced_scheduler.TAKES += [(gpu, {"VGPU": 1}) for gpu in order]
    with pytest.raises(NoValidHost) as caught:
        select()
    decision = SchedulingDecision.objects.get(pk=caught.value.decision_id)
    refusal = decision_why_not(decision=decision, host="cmp-00").refusal
    assert refusal is not None
    assert refusal.reason is not RefusalReason.CLAIM_LOST
    assert len(lost_at(caught.value)) == 3
