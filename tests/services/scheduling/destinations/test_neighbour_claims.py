"""Rules about neighbours are kept by the claim itself: who has a claim and no row yet counts all the same."""

import uuid
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from controlplane.identity.models import Project
from controlplane.kernel.errors import NoCapacity
from placement.domain import Claim
from placement.selectors import allocations_by_consumer
from placement.services import allocations_claim, allocations_free
from scheduling.decisions.selectors.decisions import decision_content
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.neighbours import Place, claims_make_among
from scheduling.destinations.services.select import alternate_claim, destinations_select
from scheduling.destinations.services.selections import Destinations, selection_from_json, selection_to_json
from scheduling.domain.neighbours import NeighbourRules
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.errors import NoValidHost
from scheduling.fleet.services.aggregates import aggregate_create, aggregate_host_add
from scheduling.models import ComputeNode, SchedulingDecision
from scheduling.policies.services.policies import policy_create
from servers.models import BuildRequest
from tests.services.scheduling.fleet.fleet_world import PROJECT, USER, fleet, request

pytestmark = pytest.mark.django_db


def policy(*filters: str, **options: int) -> None:
    # The fullest host is the best: it is the one that a rule has to keep others from.
    body = {"filters": list(filters), "options": options, "weighers": {"RAMWeigher": -1.0}}
    policy_create(body=body, activate=True)


def claimed_on(host: str, flavor: str | None = None) -> uuid.UUID:
    """Another scheduler's claim: the instance has no row yet, and a build request where its flavor is named."""
    consumer = uuid.uuid4()
    node = ComputeNode.objects.get(host=host).pk
    if flavor is not None:
        project, _ = Project.objects.get_or_create(name="tenant")
        BuildRequest.objects.create(
            instance_uuid=consumer,
            project=project,
            user_id=USER,
            reservation_id=uuid.uuid4(),
            vcpus=1,
            memory_mib=1,
            instance_body={"flavor_id": flavor},
        )
    allocations_claim([Claim(consumer, PROJECT, USER, {node: {"VCPU": 1, "MEMORY_MB": 64}})])
    return consumer


def selected(asked: ScheduleRequest) -> Destinations:
    return destinations_select(request=asked, inputs=scheduling_inputs())


def lost(decision_id: uuid.UUID | None) -> list[tuple[Any, ...]]:
    content = decision_content(decision=SchedulingDecision.objects.get(pk=decision_id))
    return [(one["host"], one["rule"], one["reason"], one["wanted"], one["free"]) for one in content.lost_claims]


@pytest.mark.parametrize(
    ("name", "option", "reason"),
    [
        ("NumInstancesFilter", "max_instances_per_host", "num_instances"),
        ("AggregateNumInstancesFilter", "max_instances_per_host", "num_instances"),
        ("IoOpsFilter", "max_io_ops_per_host", "io_ops"),
        ("AggregateIoOpsFilter", "max_io_ops_per_host", "io_ops"),
    ],
)
def test_host_that_others_just_filled_is_passed_over_at_once(name: str, option: str, reason: str) -> None:
    fleet(2)
    policy(name, **{option: 2})
    for _ in range(2):
        claimed_on("cmp-01", "f")

    found = selected(request())

    assert found.instances[0].selected.host == "cmp-00"
    assert lost(found.decision_id) == [("cmp-01", "neighbours", reason, 2, 2)]


def test_least_limit_of_the_aggregates_counts_in_the_claim() -> None:
    fleet(2)
    policy("NumInstancesFilter", "AggregateNumInstancesFilter", max_instances_per_host=5)
    aggregate = aggregate_create(name="few", metadata={"max_instances_per_host": "1"})
    aggregate_host_add(aggregate_id=aggregate.pk, host="cmp-01")
    claimed_on("cmp-01")

    found = selected(request())

    assert found.instances[0].selected.host == "cmp-00"
    assert lost(found.decision_id) == [("cmp-01", "neighbours", "num_instances", 1, 1)]


def test_claim_of_nobody_known_is_no_build() -> None:
    fleet(1)
    policy("IoOpsFilter", max_io_ops_per_host=1)
    claimed_on("cmp-00")

    assert selected(request()).instances[0].selected.host == "cmp-00"


def test_full_fleet_has_no_valid_host() -> None:
    fleet(1)
    policy("NumInstancesFilter", max_instances_per_host=1)
    claimed_on("cmp-00")

    with pytest.raises(NoValidHost) as refused:
        selected(request())

    assert lost(refused.value.decision_id) == [("cmp-00", "neighbours", "num_instances", 1, 1)]


def test_host_with_another_flavor_on_its_way_is_passed_over() -> None:
    fleet(2)
    policy("TypeAffinityFilter")
    claimed_on("cmp-01", "other")

    found = selected(request())

    assert found.instances[0].selected.host == "cmp-00"
    assert lost(found.decision_id) == [("cmp-01", "neighbours", "other_flavor_on_host", "f", "other")]
    claimed_on("cmp-00", "f")
    assert selected(request()).instances[0].selected.host == "cmp-00"


def test_host_of_an_instance_to_be_apart_from_is_passed_over_though_it_has_no_row() -> None:
    fleet(2)
    policy("DifferentHostFilter")
    unwanted = claimed_on("cmp-01")

    found = selected(request(hints={"different_host": (str(unwanted),)}))

    assert found.instances[0].selected.host == "cmp-00"
    assert lost(found.decision_id) == [("cmp-01", "neighbours", "not_different_host", None, str(unwanted))]


def test_host_that_is_forced_skips_these_rules_as_it_skips_their_filters() -> None:
    fleet(1)
    policy("NumInstancesFilter", "TypeAffinityFilter", "DifferentHostFilter", max_instances_per_host=1)
    other = claimed_on("cmp-00", "other")

    found = selected(request(force_hosts=("cmp-00",), hints={"different_host": (str(other),)}))

    assert found.instances[0].selected.host == "cmp-00"


@pytest.mark.parametrize("filters", [("NumInstancesFilter",), ("TypeAffinityFilter",)])
def test_alternate_that_was_filled_meanwhile_is_refused_until_it_is_empty(filters: tuple[str, ...]) -> None:
    fleet(2)
    policy(*filters, max_instances_per_host=1)
    (one,) = selected(request()).instances
    allocations_free([one.instance_uuid])
    alternate = selection_from_json(selection_to_json(one.alternates[0]))
    rival = claimed_on(alternate.host, "other")

    with pytest.raises(NoCapacity, match="No room"):
        alternate_claim(instance_uuid=one.instance_uuid, selection=alternate, project_id=PROJECT, user_id=USER)
    allocations_free([rival])
    alternate_claim(instance_uuid=one.instance_uuid, selection=alternate, project_id=PROJECT, user_id=USER)


def test_number_of_queries_does_not_depend_on_the_number_of_hosts() -> None:
    fleet(6)
    policy("NumInstancesFilter", "IoOpsFilter", max_instances_per_host=1)
    counts = []
    for size in (2, 2, 5):
        with CaptureQueriesContext(connection) as queries:
            found = selected(request(size))
        counts.append(len(queries))
        assert len({one.selected.host for one in found.instances}) == size
        allocations_free([one.instance_uuid for one in found.instances])

    # The first run fills caches.
    assert counts[1] == counts[2]


def claimed_at_once(*rules: NeighbourRules) -> None:
    """One batch of claims on one host, each with rules of its own."""
    node, project = ComputeNode.objects.get().pk, Project.objects.create(name="tenant")
    claims = [Claim(uuid.uuid4(), PROJECT, USER, {node: {"VCPU": 1, "MEMORY_MB": 64}}) for _ in rules]
    for claim, rule in zip(claims, rules, strict=True):
        BuildRequest.objects.create(
            instance_uuid=claim.consumer_uuid,
            project=project,
            user_id=USER,
            reservation_id=uuid.uuid4(),
            vcpus=1,
            memory_mib=1,
            instance_body={"flavor_id": rule.flavor_id},
        )
    places = [
        Place(str(claim.consumer_uuid), node, "cmp-00", "nova", "nova", rule)
        for claim, rule in zip(claims, rules, strict=True)
    ]
    claims_make_among(claims, [], places)


def losses_of(*rules: NeighbourRules) -> list[tuple[Any, ...]]:
    fleet(1)
    with pytest.raises(NoCapacity) as refused:
        claimed_at_once(*rules)
    assert allocations_by_consumer() == {}
    return [(one["reason"], one["wanted"], one["free"]) for one in refused.value.extra["shortages"]]


@pytest.mark.parametrize("least_last", [True, False])
def test_each_claim_of_a_batch_keeps_its_own_limit(least_last: bool) -> None:
    rules = [NeighbourRules(max_instances=9), NeighbourRules(max_instances=1)]
    assert losses_of(*(rules if least_last else rules[::-1])) == [("num_instances", 1, 1)]


def test_claims_of_a_batch_with_other_flavors_are_no_company() -> None:
    mine, yours = NeighbourRules(flavor_id="a"), NeighbourRules(flavor_id="b")
    assert losses_of(mine, yours) == [("other_flavor_on_host", "a", "b")]


def test_claims_of_a_batch_with_equal_rules_count_together() -> None:
    fleet(1)
    claimed_at_once(*[NeighbourRules(max_instances=2, max_io_ops=2, flavor_id="a")] * 2)
    assert len(allocations_by_consumer()) == 2
