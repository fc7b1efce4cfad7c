"""From request to claims and decision."""

import uuid
from datetime import timedelta

import pytest
from django.db.models import F

from controlplane.kernel.errors import NoCapacity
from controlplane.kernel.reasons import RefusalReason
from placement.domain import Claim
from placement.selectors import allocations_by_consumer, fleet_usage
from placement.services import allocations_claim, allocations_free
from scheduling.decisions.selectors.decisions import decision_trace, decision_why_not
from scheduling.decisions.selectors.report import decision_report
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import alternate_claim, destinations_select
from scheduling.destinations.services.selections import selection_from_json, selection_to_json
from scheduling.errors import NoValidHost
from scheduling.fleet.domain.cells import CELL1_ID
from scheduling.fleet.facts import FleetFacts, HostInstances
from scheduling.fleet.services.aggregates import aggregate_create, aggregate_host_add
from scheduling.fleet.services.build_failures import build_failure_count
from scheduling.fleet.services.cells import cell_set_disabled
from scheduling.fleet.services.service_states import service_disable
from scheduling.models import DecisionOutcome, SchedulingDecision, Service
from scheduling.policies.services.policies import policy_create
from tests.fixtures.queries import undisturbed_queries
from tests.services.scheduling.fleet.fleet_world import PROJECT, USER, fleet, request

pytestmark = pytest.mark.django_db


def used(resource_class: str) -> int:
    return sum(classes[resource_class].used for classes in fleet_usage().values())


def refused(error: NoValidHost) -> SchedulingDecision:
    return SchedulingDecision.objects.get(pk=error.decision_id)


def test_chosen_host_is_claimed_for_the_instance() -> None:
    fleet(3)
    asked = request()
    found = destinations_select(request=asked, inputs=scheduling_inputs())
    (one,) = found.instances
    held = allocations_by_consumer([one.instance_uuid])[one.instance_uuid]
    assert str(one.instance_uuid) == asked.instance_uuids[0]
    assert {row.resource_class: row.used for row in held} == {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 1}
    assert {row.provider_uuid for row in held} == {one.selected.compute_node_uuid}


def test_selection_says_where_it_is() -> None:
    fleet(3)
    selected = destinations_select(request=request(), inputs=scheduling_inputs()).instances[0].selected
    assert selected.node == selected.host.replace("cmp", "node")
    assert (selected.cell_uuid, selected.availability_zone) == (CELL1_ID, "nova")


def test_alternates_are_other_hosts_and_not_claimed() -> None:
    fleet(3)
    (one,) = destinations_select(request=request(), inputs=scheduling_inputs()).instances
    assert len({one.selected.host, *(each.host for each in one.alternates)}) == 3
    assert used("VCPU") == 1


def test_batch_is_spread_and_counted_as_it_goes() -> None:
    fleet(2)
    found = destinations_select(request=request(4, memory_mib=2048), inputs=scheduling_inputs())
    hosts = sorted(each.selected.host for each in found.instances)
    assert hosts == ["cmp-00", "cmp-00", "cmp-01", "cmp-01"]


def test_batch_that_does_not_fit_whole_claims_nothing() -> None:
    fleet(2)
    with pytest.raises(NoValidHost):
        destinations_select(request=request(5, memory_mib=2048), inputs=scheduling_inputs())
    assert used("VCPU") == 0


def test_no_hosts_at_all_says_so() -> None:
    with pytest.raises(NoValidHost, match="there are no hosts") as caught:
        destinations_select(request=request(), inputs=scheduling_inputs())
    assert refused(caught.value).outcome == DecisionOutcome.NO_VALID_HOST


def test_no_valid_host_names_each_reason_with_numbers() -> None:
    fleet(4)
    service_disable(host="cmp-00", reason="new disks")
    Service.objects.filter(host="cmp-01").update(last_seen_up=F("last_seen_up") - timedelta(hours=1))
    with pytest.raises(NoValidHost) as caught:
        destinations_select(request=request(memory_mib=9000), inputs=scheduling_inputs())
    decision = refused(caught.value)
    trace = decision_trace(decision=decision)
    assert trace is not None
    assert trace.reason_counts()[RefusalReason.RAM_SHORT] >= 2
    short = decision_why_not(decision=decision, host="cmp-02").refusal
    assert short is not None
    assert (short.reason, short.wanted, short.available) == (RefusalReason.RAM_SHORT, 9000, 4096)


def test_disabled_and_silent_hosts_are_refused_with_their_story() -> None:
    fleet(2)
    service_disable(host="cmp-00", reason="new disks")
    Service.objects.filter(host="cmp-01").update(last_seen_up=F("last_seen_up") - timedelta(hours=1))
    with pytest.raises(NoValidHost) as caught:
        destinations_select(request=request(), inputs=scheduling_inputs())
    decision = refused(caught.value)
    sentences = {host: decision_why_not(decision=decision, host=host).sentence for host in ("cmp-00", "cmp-01")}
    assert "new disks" in sentences["cmp-00"]
    assert "last seen 36" in sentences["cmp-01"]


def test_message_for_tenants_names_no_host() -> None:
    fleet(2)
    with pytest.raises(NoValidHost) as caught:
        destinations_select(request=request(memory_mib=9000), inputs=scheduling_inputs())
    assert "No host fits: " in caught.value.message
    assert "cmp-" not in caught.value.message
    assert "cmp-0" in refused(caught.value).verdict


def test_wanted_zone_is_kept() -> None:
    fleet(3)
    made = aggregate_create(name="rack", availability_zone="az1")
    aggregate_host_add(aggregate_id=made.id, host="cmp-01")
    found = destinations_select(request=request(availability_zone="az1"), inputs=scheduling_inputs())
    assert (found.instances[0].selected.host, found.instances[0].selected.availability_zone) == ("cmp-01", "az1")


def test_host_of_a_disabled_cell_gets_nothing_new() -> None:
    fleet(1)
    cell_set_disabled(cell_id=CELL1_ID, disabled=True)
    with pytest.raises(NoValidHost) as caught:
        destinations_select(request=request(), inputs=scheduling_inputs())
    assert "cell cell1 is disabled" in decision_why_not(decision=refused(caught.value), host="cmp-00").sentence


def test_facts_of_instances_reach_the_filters() -> None:
    fleet(2)
    friend = str(uuid.uuid4())
    facts = FleetFacts({"cmp-01": HostInstances(instance_uuids=frozenset({friend}), num_instances=1)})
    found = destinations_select(request=request(hints={"same_host": (friend,)}), inputs=scheduling_inputs(facts))
    assert found.instances[0].selected.host == "cmp-01"


def test_failing_host_is_avoided() -> None:
    fleet(2)
    first = destinations_select(request=request(), inputs=scheduling_inputs()).instances[0]
    allocations_free([first.instance_uuid])
    build_failure_count(host=first.selected.host)
    second = destinations_select(request=request(), inputs=scheduling_inputs()).instances[0]
    assert second.selected.host != first.selected.host


def test_run_again_after_being_cut_off_holds_one_claim_each() -> None:
    fleet(3)
    asked = request(2)
    destinations_select(request=asked, inputs=scheduling_inputs())
    again = destinations_select(request=asked, inputs=scheduling_inputs())
    assert used("VCPU") == 2
    held = allocations_by_consumer([each.instance_uuid for each in again.instances])
    for each in again.instances:
        assert {row.provider_uuid for row in held[each.instance_uuid]} == {each.selected.compute_node_uuid}


def test_run_again_on_a_full_fleet_frees_before_it_looks() -> None:
    fleet(1)
    asked = request(memory_mib=4096)
    first = destinations_select(request=asked, inputs=scheduling_inputs())
    again = destinations_select(request=asked, inputs=scheduling_inputs())
    assert again.instances[0].selected.host == first.instances[0].selected.host


def test_decision_is_saved_whole() -> None:
    fleet(3)
    asked, subject = request(2), uuid.uuid4()
    found = destinations_select(request=asked, inputs=scheduling_inputs(), subject=subject)
    decision = SchedulingDecision.objects.get(pk=found.decision_id)
    rows = list(decision.instances.values_list("instance_uuid", "host"))
    assert rows == [(each.instance_uuid, each.selected.host) for each in found.instances]
    assert (decision.outcome, decision.subject, decision.host_count) == (DecisionOutcome.SELECTED, subject, 3)
    assert (decision.request_id, decision.project_id, decision.policy_version) == (
        asked.request_id,
        PROJECT,
        "defaults",
    )
    assert {"free", "load", "schedule", "claim"} <= set(decision.timings_us)


def test_report_has_stages_scores_and_selections() -> None:
    fleet(3)
    found = destinations_select(request=request(), inputs=scheduling_inputs())
    report = decision_report(decision=SchedulingDecision.objects.get(pk=found.decision_id), redacted=False)
    assert [host["rank"] for host in report["scores"]["hosts"]] == [1, 2, 3]
    assert "RAMWeigher" in report["scores"]["hosts"][0]["weighers"]
    assert report["rounds"][0]["stages"][0]["hosts_in"] == 3
    assert report["selections"][0]["selected"]["host"] == found.instances[0].selected.host


def test_redacted_report_names_no_host() -> None:
    fleet(3)
    found = destinations_select(request=request(ignore_hosts=("cmp-02",)), inputs=scheduling_inputs())
    report = decision_report(decision=SchedulingDecision.objects.get(pk=found.decision_id), redacted=True)
    assert report["reasons"] == [{"reason": "ignored", "label": "ignored by the request", "hosts": 1}]
    assert "cmp-0" not in str(report)
    assert "node-0" not in str(report)


def test_active_policy_is_used_and_named() -> None:
    fleet(2)
    policy_create(body={"filters": ["ComputeFilter"], "weighers": {"RAMWeigher": -1.0}}, activate=True)
    found = destinations_select(request=request(), inputs=scheduling_inputs())
    assert SchedulingDecision.objects.get(pk=found.decision_id).policy_version == "default-v1"


def test_contradicting_flavor_ends_as_a_decision_with_the_reason() -> None:
    fleet(1)
    asked = request(required_traits=frozenset({"CUSTOM_A"}), forbidden_traits=frozenset({"CUSTOM_A"}))
    with pytest.raises(NoValidHost, match="both required and forbidden") as caught:
        destinations_select(request=asked, inputs=scheduling_inputs())
    assert refused(caught.value).outcome == DecisionOutcome.ERROR


def test_number_of_queries_does_not_grow_with_the_fleet() -> None:
    def one() -> None:
        destinations_select(request=request(), inputs=scheduling_inputs())

    fleet(10)
    few = undisturbed_queries(one, tries=3)
    fleet(30)
    assert undisturbed_queries(one, tries=3) == few


def test_alternate_is_claimed() -> None:
    fleet(2)
    (one,) = destinations_select(request=request(), inputs=scheduling_inputs()).instances
    allocations_free([one.instance_uuid])
    alternate = selection_from_json(selection_to_json(one.alternates[0]))
    alternate_claim(instance_uuid=one.instance_uuid, selection=alternate, project_id=PROJECT, user_id=USER)
    held = allocations_by_consumer([one.instance_uuid])[one.instance_uuid]
    assert {row.provider_uuid for row in held} == {alternate.compute_node_uuid}


def test_full_alternate_is_refused() -> None:
    fleet(2)
    (one,) = destinations_select(request=request(), inputs=scheduling_inputs()).instances
    alternate = one.alternates[0]
    allocations_claim([Claim(uuid.uuid4(), PROJECT, USER, {alternate.compute_node_uuid: {"MEMORY_MB": 4096}})])
    allocations_free([one.instance_uuid])
    with pytest.raises(NoCapacity):
        alternate_claim(instance_uuid=one.instance_uuid, selection=alternate, project_id=PROJECT, user_id=USER)


def test_alternate_that_was_disabled_since_is_refused() -> None:
    fleet(2)
    (one,) = destinations_select(request=request(), inputs=scheduling_inputs()).instances
    allocations_free([one.instance_uuid])
    service_disable(host=one.alternates[0].host)
    with pytest.raises(NoCapacity, match="disabled"):
        alternate_claim(instance_uuid=one.instance_uuid, selection=one.alternates[0], project_id=PROJECT, user_id=USER)


def test_selection_survives_json() -> None:
    fleet(1)
    selected = destinations_select(request=request(), inputs=scheduling_inputs()).instances[0].selected
    assert selection_from_json(selection_to_json(selected)) == selected
