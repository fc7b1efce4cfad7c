import pytest

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.policy import PolicyOptions
from tests.units.scheduling.worlds import aggregate, chosen, host, policy, request, run, table, trace_reasons

ZONED = table(
    host("east"),
    host("west"),
    host("plain"),
    aggregates=(
        aggregate("east", "east", availability_zone="az-east"),
        aggregate("west", "west", availability_zone="az-west"),
        aggregate("ssd", "east", "plain", ssd="true"),
    ),
)


@pytest.mark.parametrize(("zone", "stays"), [("az-east", "east"), ("az-west", "west"), ("nova", "plain")])
def test_zone_is_the_aggregates_or_the_default(zone: str, stays: str) -> None:
    assert chosen(run(ZONED, request(availability_zone=zone))) == [stays]


def test_wrong_zone_names_both() -> None:
    refusal = run(ZONED, request(availability_zone="az-west")).refusal_of(0)
    assert refusal is not None
    assert refusal.sentence() == "zone: wants az-west, is in az-east"


def test_zone_that_nobody_has_refuses_all() -> None:
    reasons = trace_reasons(run(ZONED, request(availability_zone="az-typo")))
    assert reasons == dict.fromkeys(("east", "west", "plain"), RefusalReason.WRONG_ZONE)


def test_selection_carries_its_zone() -> None:
    zones = {
        each.selected.host: each.selected.availability_zone
        for name in ("az-west", "nova")
        for each in run(ZONED, request(availability_zone=name)).selections
    }
    assert zones == {"west": "az-west", "plain": "nova"}


def test_disabled_host_is_refused_even_when_forced() -> None:
    fleet = table(host("a", enabled=False))
    assert trace_reasons(run(fleet, request(force_hosts=("a",)))) == {"a": RefusalReason.DISABLED}


def test_status_trait_counts_as_disabled() -> None:
    fleet = table(host("a", traits=frozenset({"COMPUTE_STATUS_DISABLED"})))
    assert trace_reasons(run(fleet, request())) == {"a": RefusalReason.DISABLED}


TENANTS = table(
    host("mine"),
    host("theirs"),
    host("open"),
    aggregates=(
        aggregate("m", "mine", filter_tenant_id2="project-1"),
        aggregate("t", "theirs", filter_tenant_id="project-2"),
    ),
)


def limited(required: bool = False) -> PolicyOptions:
    return PolicyOptions(limit_tenants_to_placement_aggregate=True, placement_aggregate_required_for_tenants=required)


def test_tenant_aggregates_are_ignored_unless_switched_on() -> None:
    assert trace_reasons(run(TENANTS, request())) == {}


def test_tenant_with_aggregates_is_kept_in_them() -> None:
    assert chosen(run(TENANTS, request(), policy(options=limited()))) == ["mine"]


def test_tenant_without_aggregates_may_go_anywhere() -> None:
    assert trace_reasons(run(TENANTS, request(project_id="project-3"), policy(options=limited()))) == {}


def test_tenant_without_aggregates_is_refused_where_they_are_required() -> None:
    trace = run(TENANTS, request(project_id="project-3"), policy(options=limited(required=True)))
    assert set(trace_reasons(trace).values()) == {RefusalReason.TENANT_NOT_ALLOWED}
    assert not trace.selections


def test_lost_claim_refuses_the_host_and_the_next_best_wins() -> None:
    lost = Refusal(RefusalReason.CLAIM_LOST, wanted=2, available=1)
    trace = run(table(host("a"), host("b")), request(), claims_lost={"uuid-a": lost, "uuid-gone": lost})
    refusal = trace.refusal_of(0)
    assert chosen(trace) == ["b"]
    assert refusal is not None
    assert (refusal.reason, refusal.stage) == (RefusalReason.CLAIM_LOST, "claim")
