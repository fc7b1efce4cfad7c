"""Decisions in numbers: what was lost to others is counted."""

import uuid
from collections.abc import Callable

import pytest
from django.db import connection

from controlplane.infra.db import now_plus
from placement.domain import Claim
from placement.services import allocations_claim
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.errors import NoValidHost
from scheduling.metrics import scheduling_families
from scheduling.models import ComputeNode, SchedulingDecision
from tests.services.scheduling.between import BetweenReadAndClaim
from tests.services.scheduling.fleet.fleet_world import PROJECT, USER, fleet, request

pytestmark = pytest.mark.django_db


def numbers(name: str) -> dict[str, float]:
    """The values of one family by their only label."""
    (family,) = [each for each in scheduling_families(window_s=300.0) if each.name == name]
    return {"".join(sample.labels.values()): sample.value for sample in family.samples}


def once(call: Callable[[], object]) -> Callable[[], None]:
    """`call`, the first time only."""
    rest = [call]

    def first() -> None:
        if rest:
            rest.pop()()

    return first


def test_claim_that_another_was_faster_with_is_counted() -> None:
    fleet(1)
    node = ComputeNode.objects.get().pk

    def take() -> None:
        allocations_claim([Claim(uuid.uuid4(), PROJECT, USER, {node: {"MEMORY_MB": 4096}})])

    with connection.execute_wrapper(BetweenReadAndClaim(once(take))), pytest.raises(NoValidHost):
        destinations_select(request=request(), inputs=scheduling_inputs(is_retry=False))
    assert SchedulingDecision.objects.get().claims_lost == 1
    assert numbers("kilonova_claims_lost") == {"": 1}
    assert numbers("kilonova_decisions") == {"selected": 0, "no_valid_host": 1, "error": 0}


def test_decisions_of_the_window_have_mean_and_longest_time() -> None:
    fleet(1)
    for _ in range(2):
        destinations_select(request=request(), inputs=scheduling_inputs())
    first, second = SchedulingDecision.objects.all()
    for decision, microseconds in ((first, 1_000_000), (second, 3_000_000)):
        SchedulingDecision.objects.filter(pk=decision.pk).update(duration_us=microseconds)
    assert numbers("kilonova_decision_mean_seconds") == {"selected": 2.0}
    assert numbers("kilonova_decision_longest_seconds") == {"selected": 3.0}


def test_older_decisions_are_not_counted() -> None:
    fleet(1)
    destinations_select(request=request(), inputs=scheduling_inputs())
    SchedulingDecision.objects.update(created_at=now_plus(-301))
    assert numbers("kilonova_decisions")["selected"] == 0


def test_hosts_are_counted_by_state() -> None:
    fleet(3)
    assert numbers("kilonova_hosts") == {"up": 3, "disabled": 0, "down": 0}
