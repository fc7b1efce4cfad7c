"""Trials on the fleet of the database: they agree with what a real run does, and leave no trace of themselves."""

import uuid
from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from controlplane.kernel.errors import Invalid, NoCapacity
from placement.domain import Claim, InventorySpec, ProviderKind
from placement.selectors import fleet_usage
from placement.services import (
    allocations_claim,
    inventory_set,
    provider_aggregates_set,
    provider_ensure,
    provider_traits_set,
)
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.domain.policy import DEFAULT_POLICY
from scheduling.domain.request.schedule_request import Destination, GroupSnapshot, ScheduleRequest
from scheduling.domain.snapshots import FlavorSnapshot
from scheduling.domain.trace.trace import Outcome
from scheduling.errors import NoValidHost
from scheduling.fleet.facts import FleetFacts, HostInstances
from scheduling.fleet.services.aggregates import aggregate_create, aggregate_host_add
from scheduling.fleet.services.service_states import service_disable
from scheduling.models import ComputeNode, SchedulingDecision
from scheduling.whatif.domain.edits import FleetEdits, FreedEdit, HostAddEdit, RatioEdit
from scheduling.whatif.services.capacity import MAX_FLAVORS, capacity_count
from scheduling.whatif.services.capacity_report import capacity_report
from scheduling.whatif.services.explain import schedule_explain
from scheduling.whatif.services.explain_report import answer_report
from scheduling.whatif.services.simulate import policy_wanted, schedule_simulate
from scheduling.whatif.services.simulate_report import simulation_report
from tests.fixtures.queries import undisturbed_queries
from tests.services.scheduling.fleet.fleet_world import NO_FACTS, PROJECT, USER, fleet, request

pytestmark = pytest.mark.django_db
VGPU = {"resources1:VGPU": "1"}


def node_of(host: str) -> uuid.UUID:
    return ComputeNode.objects.get(host=host).pk


def device(host: str, total: int = 1) -> uuid.UUID:
    made = uuid.uuid4()
    provider_ensure(made, f"gpu-{made}", node_of(host), kind=ProviderKind.OTHER)
    inventory_set(made, {"VGPU": InventorySpec(total=total)})
    return made


def pool_for(*hosts: str, disk_gib: int) -> uuid.UUID:
    made, aggregate = uuid.uuid4(), uuid.uuid4()
    provider_ensure(made, "pool", kind=ProviderKind.OTHER)
    inventory_set(made, {"DISK_GB": InventorySpec(total=disk_gib)})
    provider_traits_set(made, ("MISC_SHARES_VIA_AGGREGATE",))
    for provider in (made, *map(node_of, hosts)):
        provider_aggregates_set(provider, {aggregate})
    return made


def asking(specs: dict[str, str], count: int = 1) -> ScheduleRequest:
    asked = request(count)
    return replace(asked, flavor=replace(asked.flavor, extra_specs=specs))


def fill(host: str, **amounts: int) -> None:
    allocations_claim([Claim(uuid.uuid4(), PROJECT, USER, {node_of(host): amounts})])


def simulated(asked: ScheduleRequest, edits: FleetEdits | None = None) -> list[str]:
    found = schedule_simulate(request=asked, fleet_facts=NO_FACTS, edits=edits or FleetEdits())
    return [one.selected.host for one in found.trace.selections]


def really(asked: ScheduleRequest) -> list[str]:
    return [one.selected.host for one in destinations_select(request=asked, inputs=scheduling_inputs()).instances]


def test_simulation_chooses_what_a_real_run_chooses() -> None:
    fleet(4)
    fill("cmp-00", MEMORY_MB=512)
    service_disable(host="cmp-01", reason="")
    asked = request(5)
    assert simulated(asked) == really(asked)


def test_simulation_knows_nested_and_shared_providers() -> None:
    fleet(3)
    device("cmp-01", 2)
    pool_for("cmp-01", "cmp-02", disk_gib=50)
    asked = asking(VGPU, 2)
    trial = schedule_simulate(request=asked, fleet_facts=NO_FACTS).trace
    real = destinations_select(request=asked, inputs=scheduling_inputs())
    assert [one.selected.host for one in trial.selections] == ["cmp-01", "cmp-01"]
    claimed = [
        {str(provider): dict(classes) for provider, classes in one.selected.allocations.items()}
        for one in real.instances
    ]
    assert [one.selected.allocations for one in trial.selections] == claimed


def test_simulation_fails_with_the_verdict_of_a_real_run() -> None:
    fleet(3)
    asked = request(memory_mib=9000)
    trial = schedule_simulate(request=asked, fleet_facts=NO_FACTS).trace
    with pytest.raises(NoValidHost):
        really(asked)
    assert SchedulingDecision.objects.get().verdict == trial.verdict


def test_requested_destination_is_simulated_as_it_is_run() -> None:
    fleet(3)
    asked = request(requested_destination=Destination("cmp-02"))
    assert simulated(asked) == really(asked) == ["cmp-02"]


def test_simulation_claims_nothing_and_saves_no_decision() -> None:
    fleet(2)
    before = fleet_usage()
    simulated(request(3), FleetEdits(hosts_added=(HostAddEdit("cmp-00", 2),)))
    assert fleet_usage() == before
    assert not SchedulingDecision.objects.exists()
    assert ComputeNode.objects.count() == 2


def test_simulation_only_reads() -> None:
    fleet(2)
    with CaptureQueriesContext(connection) as queries:
        simulated(request(2))
    assert not [query["sql"] for query in queries if {"INSERT", "UPDATE", "DELETE"} & set(query["sql"].split())]


def test_edits_apply_together() -> None:
    fleet(2)
    for host in ("cmp-00", "cmp-01"):
        fill(host, MEMORY_MB=4096)
    edits = FleetEdits(
        freed=(FreedEdit("cmp-01", "MEMORY_MB", 1024),),
        allocation_ratios=(RatioEdit("MEMORY_MB", 1.5, ("cmp-00",)),),
        hosts_disabled=("cmp-00",),
    )
    assert simulated(request(1)) == []
    assert simulated(request(1), edits) == ["cmp-01"]


def test_batch_larger_than_allowed_names_the_field() -> None:
    fleet(1)
    with pytest.raises(Invalid) as caught:
        schedule_simulate(request=request(101), fleet_facts=NO_FACTS)
    assert caught.value.field == "count"


def test_policy_is_wanted_by_nothing_or_name() -> None:
    assert policy_wanted(None) is None
    with pytest.raises(Invalid) as caught:
        policy_wanted("default-v9")
    assert caught.value.field == "policy"


def test_told_ratio_and_freed_amount_work_when_they_are_done_for_real() -> None:
    fleet(1)
    fill("cmp-00", MEMORY_MB=3500)
    asked = request(1)
    answer = schedule_explain(request=asked, fleet_facts=NO_FACTS, host="cmp-00", every_rule=True)
    assert answer.host is not None
    assert [one.reason.value for one in answer.host.rules] == ["ram_short"]
    fits = {fit.steps[0].what: fit for fit in answer.host.fits if len(fit.steps) == 1}
    ratio = fits["allocation_ratio"].trial.edits.allocation_ratios[0].ratio
    before = {name: one.spec for name, one in fleet_usage()[node_of("cmp-00")].items()}
    inventory_set(node_of("cmp-00"), {**before, "MEMORY_MB": replace(before["MEMORY_MB"], allocation_ratio=ratio)})
    assert really(asked) == ["cmp-00"]


def test_host_that_passed_but_lost_is_told_by_how_much_and_with_which_multiplier_it_wins() -> None:
    fleet(2)
    fill("cmp-00", MEMORY_MB=1024)
    answer = schedule_explain(request=request(), fleet_facts=NO_FACTS, host="cmp-00")
    assert answer.host is not None
    assert answer.host.explanation.result.value in ("ranked", "alternate")
    assert {fit.steps[0].what for fit in answer.host.fits} == {"multiplier"}


def test_redacted_answer_has_changes_of_the_request_alone() -> None:
    fleet(2)
    offers = [FlavorSnapshot("s", "small", 1, 256)]
    answer = schedule_explain(request=request(memory_mib=9000), fleet_facts=NO_FACTS, offers=offers)
    shown = answer_report(answer, redacted=True)
    assert {tuple(one["kinds"]) for one in shown["changes"]} == {("request",)}
    assert "cmp-" not in str(shown)
    assert "cmp-" in str(answer_report(answer, redacted=False))


def test_reason_that_no_change_takes_away_is_told_with_why_not() -> None:
    fleet(1)
    node = str(ComputeNode.objects.get().hypervisor_hostname)
    rules = replace(DEFAULT_POLICY, filters=("RetryFilter",))
    asked = replace(request(), retry=(("cmp-00", node),))
    answer = schedule_explain(request=asked, fleet_facts=NO_FACTS, policy=rules)
    reported = answer_report(answer, redacted=True)["no_changes"]
    assert [one["reason"] for one in reported] == ["tried_before"]
    assert "new request" in reported[0]["sentence"]


def test_change_that_no_body_can_say_has_nothing_to_simulate() -> None:
    fleet(1)
    members = GroupSnapshot("g", "anti-affinity", members=("i",))
    facts = FleetFacts({"cmp-00": HostInstances(frozenset({"i"}), 1)})
    answer = schedule_explain(request=request(group=members), fleet_facts=facts)
    changes = {one["steps"][0]["what"]: one["simulate"] for one in answer_report(answer, redacted=True)["changes"]}
    assert changes["group_rule"] is None
    assert changes["group"] is not None


def test_redacted_simulation_names_no_host() -> None:
    fleet(2)
    found = schedule_simulate(request=request(), fleet_facts=NO_FACTS)
    shown = simulation_report(found, redacted=True)
    assert shown["zones"] == {"nova": 1}
    assert "cmp-" not in str(shown)
    assert "node-" not in str(shown)


def test_capacity_is_what_can_really_be_claimed() -> None:
    fleet(3)
    fill("cmp-00", MEMORY_MB=1000)
    zone = aggregate_create(name="az1", availability_zone="az1")
    aggregate_host_add(aggregate_id=zone.pk, host="cmp-02")
    flavor = request().flavor
    report = capacity_count(flavors=[flavor], fleet_facts=NO_FACTS)
    room = report.rows[0].room
    assert room is not None
    assert (room.total.count, {name: one.count for name, one in room.zones.items()}) == (11, {"az1": 4, "nova": 7})
    assert len(really(request(11))) == 11
    with pytest.raises((NoValidHost, NoCapacity)):
        really(request(1))


def test_capacity_of_devices_is_what_they_give() -> None:
    fleet(3)
    device("cmp-00", 2)
    device("cmp-02", 3)
    report = capacity_count(flavors=[asking(VGPU).flavor], fleet_facts=NO_FACTS)
    assert capacity_report(report)["flavors"][0]["total"]["count"] == 5


def test_capacity_refuses_too_many_flavors() -> None:
    with pytest.raises(Invalid):
        capacity_count(flavors=[request().flavor] * (MAX_FLAVORS + 1), fleet_facts=NO_FACTS)


def test_queries_do_not_grow_with_the_fleet_or_the_flavors() -> None:
    def ask(flavors: int) -> None:
        capacity_count(flavors=[request().flavor] * flavors, fleet_facts=NO_FACTS)
        assert simulated(request())
        schedule_explain(request=request(memory_mib=9000), fleet_facts=NO_FACTS, host="cmp-00")

    fleet(2)
    few = undisturbed_queries(lambda: ask(1))
    fleet(12)
    assert undisturbed_queries(lambda: ask(20)) == few


def test_empty_fleet_has_no_room_and_a_verdict() -> None:
    found = schedule_simulate(request=request(), fleet_facts=NO_FACTS)
    assert (found.trace.outcome, found.trace.verdict) == (Outcome.NO_VALID_HOST, "No host fits: there are no hosts")
    report = capacity_count(flavors=[request().flavor], fleet_facts=NO_FACTS)
    assert capacity_report(report)["flavors"][0]["total"]["count"] == 0
