"""Old decisions go, and with them what only they spoke of."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db.models.functions import Now

from controlplane.infra.db import db_now
from controlplane.work.jobs import PERIODIC_TASKS
from placement.services import allocations_free
from scheduling.decisions.selectors.replay import ReplayState, replay_of
from scheduling.decisions.services.prune import Pruned, decisions_prune
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.models import (
    DecisionInstance,
    DecisionReason,
    DecisionRefusedHosts,
    FleetSnapshot,
    HostNames,
    SchedulingDecision,
)
from tests.services.scheduling.fleet.fleet_world import fleet, request

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _retention(settings: Any) -> None:
    retention(settings)


def retention(settings: Any, *, days: float = 30.0, count: int = 0, snapshot_days: float = 7.0) -> None:
    settings.KILONOVA = {
        **settings.KILONOVA,
        "DECISION_RETENTION_DAYS": days,
        "DECISION_RETENTION_COUNT": count,
        "DECISION_SNAPSHOT_DAYS": snapshot_days,
    }


def decided(*, days_ago: float = 0.0) -> UUID:
    found = destinations_select(request=request(ignore_hosts=("cmp-01",)), inputs=scheduling_inputs())
    allocations_free([each.instance_uuid for each in found.instances])
    then = db_now() - timedelta(days=days_ago)
    SchedulingDecision.objects.filter(id=found.decision_id).update(created_at=then)
    return found.decision_id


def age(rows: Any, **ago: float) -> None:
    rows.update(created_at=Now() - timedelta(**ago))


def left() -> set[UUID]:
    return set(SchedulingDecision.objects.values_list("id", flat=True))


def test_decisions_older_than_the_days_go_with_their_rows() -> None:
    fleet(3)
    decided(days_ago=31)
    young = decided(days_ago=29)
    assert decisions_prune().decisions == 1
    assert left() == {young}
    for model in (DecisionInstance, DecisionReason, DecisionRefusedHosts):
        assert set(model.objects.values_list("decision_id", flat=True)) == {young}  # type: ignore[attr-defined]


def test_more_decisions_than_the_count_lose_the_oldest(settings: Any) -> None:
    fleet(2)
    ages = [decided(days_ago=number) for number in range(5)]
    retention(settings, count=2)
    assert decisions_prune().decisions == 3
    assert left() == set(ages[:2])


def test_no_bound_keeps_all(settings: Any) -> None:
    fleet(2)
    decided(days_ago=4000)
    retention(settings, days=0.0)
    assert decisions_prune().decisions == 0


def test_second_run_finds_nothing() -> None:
    fleet(2)
    decided(days_ago=31)
    decisions_prune()
    assert decisions_prune() == Pruned()


def test_more_than_one_batch_goes() -> None:
    fleet(2)
    for _ in range(5):
        decided(days_ago=31)
    assert decisions_prune(batch=2).decisions == 5


def test_fleet_that_no_decision_speaks_of_goes_after_the_grace() -> None:
    fleet(2)
    decided(days_ago=31)
    decisions_prune()
    assert FleetSnapshot.objects.exists()
    age(FleetSnapshot.objects.all(), hours=2)
    decisions_prune()
    assert not FleetSnapshot.objects.exists()


def test_base_of_a_fleet_that_is_needed_stays() -> None:
    fleet(40)
    decided(days_ago=31)
    destinations_select(request=request(), inputs=scheduling_inputs())
    young = decided()
    assert FleetSnapshot.objects.get(digest=SchedulingDecision.objects.get(id=young).snapshot).base
    age(FleetSnapshot.objects.all(), hours=2)
    decisions_prune()
    assert replay_of(decision=SchedulingDecision.objects.get(id=young)).state is ReplayState.SAME


def test_old_fleet_goes_before_its_decision_and_the_decision_says_so() -> None:
    fleet(2)
    decision_id = decided(days_ago=8)
    age(FleetSnapshot.objects.all(), days=8)
    decisions_prune()
    assert left() == {decision_id}
    assert replay_of(decision=SchedulingDecision.objects.get(id=decision_id)).state is ReplayState.PRUNED


def test_fleets_live_as_long_as_decisions_where_no_days_are_set(settings: Any) -> None:
    fleet(2)
    decision_id = decided(days_ago=29)
    age(FleetSnapshot.objects.all(), days=29)
    retention(settings, snapshot_days=0.0)
    decisions_prune()
    assert replay_of(decision=SchedulingDecision.objects.get(id=decision_id)).state is ReplayState.SAME


def test_host_names_is_warned_about_then_goes() -> None:
    fleet(2)
    decided(days_ago=31)
    age(HostNames.objects.all(), days=1)
    decisions_prune()
    assert HostNames.objects.get().unused_since is not None
    HostNames.objects.update(unused_since=Now() - timedelta(hours=2))
    assert decisions_prune().host_names == 1


def test_host_names_that_is_taken_back_in_time_stays() -> None:
    fleet(2)
    decided(days_ago=31)
    age(HostNames.objects.all(), days=1)
    decisions_prune()
    decided()
    HostNames.objects.filter(unused_since__isnull=False).update(unused_since=Now() - timedelta(hours=2))
    assert decisions_prune().host_names == 0


def test_pruning_is_a_periodic_task_of_the_reconciler() -> None:
    assert PERIODIC_TASKS["old decisions"].run is decisions_prune
