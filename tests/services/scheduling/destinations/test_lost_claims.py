"""Somebody else takes the room between the look at the fleet and the claim."""

import uuid
from typing import Any

import pytest
from django.db import connection

from controlplane.kernel.reasons import RefusalReason
from placement.domain import Claim
from placement.services import allocations_claim, allocations_free
from scheduling.decisions.selectors.decisions import decision_content, decision_why_not
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.errors import ClaimsExhausted, NoValidHost
from scheduling.models import ComputeNode, DecisionOutcome, SchedulingDecision
from tests.services.scheduling.between import BetweenReadAndClaim
from tests.services.scheduling.fleet.fleet_world import PROJECT, USER, fleet, request

pytestmark = pytest.mark.django_db


def rival(*takes: dict[uuid.UUID, int]) -> BetweenReadAndClaim:
    """Somebody who claims memory at the worst moment; `takes` says, look by look, of which nodes how much."""
    rest = list(takes)

    def take() -> None:
        for node, memory_mib in rest.pop(0).items() if rest else ():
            allocations_claim([Claim(uuid.uuid4(), PROJECT, USER, {node: {"MEMORY_MB": memory_mib}})])

    return BetweenReadAndClaim(take)


def blinking(node: uuid.UUID) -> BetweenReadAndClaim:
    """Gives its claim back before each look and takes all memory again after it: the fleet always looks free."""
    consumer = uuid.uuid4()

    def give_back() -> None:
        allocations_free([consumer])

    def take() -> None:
        allocations_claim([Claim(consumer, PROJECT, USER, {node: {"MEMORY_MB": 4096}})])

    return BetweenReadAndClaim(take, before=give_back)


def nodes() -> list[uuid.UUID]:
    return list(ComputeNode.objects.order_by("host").values_list("id", flat=True))


def test_lost_claim_moves_on_to_a_host_that_has_room() -> None:
    fleet(2)
    first, _ = nodes()
    with connection.execute_wrapper(rival({first: 4096})):
        found = destinations_select(request=request(), inputs=scheduling_inputs(is_retry=False))
    assert found.instances[0].selected.host == "cmp-01"


def test_lost_claim_is_kept_in_the_decision_with_its_numbers() -> None:
    fleet(2)
    first, _ = nodes()
    with connection.execute_wrapper(rival({first: 4096})):
        found = destinations_select(request=request(), inputs=scheduling_inputs(is_retry=False))
    (lost,) = decision_content(decision=SchedulingDecision.objects.get(pk=found.decision_id)).lost_claims
    assert (lost["provider_uuid"], lost["resource_class"]) == (str(first), "MEMORY_MB")
    assert (lost["wanted"], lost["free"]) == (1024, 0)


def test_room_that_is_gone_after_a_lost_claim_is_a_shortage() -> None:
    fleet(1)
    (only,) = nodes()
    with connection.execute_wrapper(rival({only: 4096})), pytest.raises(NoValidHost) as caught:
        destinations_select(request=request(), inputs=scheduling_inputs(is_retry=False))
    decision = SchedulingDecision.objects.get(pk=caught.value.decision_id)
    assert decision.outcome == DecisionOutcome.NO_VALID_HOST
    assert "memory: wants 1 GiB, has 0 MiB of 4.5 GiB" in decision_why_not(decision=decision, host="cmp-00").sentence


def test_host_that_loses_twice_is_left_alone() -> None:
    fleet(1)
    (only,) = nodes()
    with connection.execute_wrapper(blinking(only)), pytest.raises(NoValidHost) as caught:
        destinations_select(request=request(), inputs=scheduling_inputs(is_retry=False))
    decision = SchedulingDecision.objects.get(pk=caught.value.decision_id)
    refusal = decision_why_not(decision=decision, host="cmp-00").refusal
    assert refusal is not None
    assert (refusal.reason, refusal.wanted, refusal.available) == (RefusalReason.CLAIM_LOST, 1024, 0)


def test_claims_lost_in_every_round_end_as_an_error(settings: Any) -> None:
    fleet(1)
    (only,) = nodes()
    settings.KILONOVA = {**settings.KILONOVA, "CLAIM_ROUNDS": 2}
    with connection.execute_wrapper(blinking(only)), pytest.raises(ClaimsExhausted) as caught:
        destinations_select(request=request(), inputs=scheduling_inputs(is_retry=False))
    decision = SchedulingDecision.objects.get(pk=caught.value.decision_id)
    assert (decision.outcome, decision.host_count) == (DecisionOutcome.ERROR, 1)
    assert str(only) not in decision.verdict_redacted
