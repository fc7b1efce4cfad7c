"""What a host reports beside its sizes: metrics with their time, versions, its clock."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.db.models.functions import Now

from computeagent.protocol.hosts import ClockSkew, GuestCpuReport, HostMeasures, HostUsage, HostVersions
from controlplane.infra.db import db_now, now_plus
from controlplane.kernel.errors import NotFound
from controlplane.kernel.version import VERSION
from controlplane.work.host_ownership import Ownership, ownership_transfer
from scheduling.domain.policy import Policy, PolicyOptions, WeigherSetting
from scheduling.fleet.cache.host_metrics import EVERY, HostMetricsCache, metrics_asked
from scheduling.fleet.domain.usage_history import SPANS
from scheduling.fleet.services.heartbeats import service_heartbeat, service_seen_lately
from scheduling.fleet.services.hosts import host_register
from scheduling.fleet.services.measures_store import host_measures_store
from scheduling.models import ComputeNode, FleetChange, HostUsageSample, Service
from tests.fixtures.patience import PATIENCE_S
from tests.services.scheduling.fleet.fleet_world import fleet, report

pytestmark = pytest.mark.django_db

METRICS: dict[str, object] = {"cpu.percent": 12.5, "memory.percent": 40.0}


def node_of(host: str) -> ComputeNode:
    return ComputeNode.objects.get(host=host)


def silent(host: str, seconds: float) -> None:
    ComputeNode.objects.filter(host=host).update(metrics_at=Now() - timedelta(seconds=seconds))


def test_metrics_are_stored_with_the_databases_time() -> None:
    before = db_now()
    host_register(host="cmp-1", report=report(metrics=METRICS))
    node = node_of("cmp-1")
    assert node.metrics == METRICS
    assert node.metrics_at is not None
    assert timedelta(0) <= node.metrics_at - before <= timedelta(seconds=PATIENCE_S)


def test_same_metrics_again_are_younger() -> None:
    host_register(host="cmp-1", report=report(metrics=METRICS))
    silent("cmp-1", 500)
    before = node_of("cmp-1").metrics_at
    host_register(host="cmp-1", report=report(metrics=METRICS))
    after = node_of("cmp-1").metrics_at
    assert before is not None
    assert after is not None
    assert after > before


def test_report_without_metrics_leaves_those_of_before_to_age() -> None:
    host_register(host="cmp-1", report=report(metrics=METRICS))
    before = node_of("cmp-1").metrics_at
    host_register(host="cmp-1", report=report())
    assert (node_of("cmp-1").metrics, node_of("cmp-1").metrics_at) == (METRICS, before)


@pytest.mark.parametrize("value", ["12", None, True, [1], {"a": 1}, float("nan"), float("inf"), 10**400])
def test_what_is_no_number_is_left_out(value: Any) -> None:
    host_register(host="cmp-1", report=report(metrics={"cpu.percent": 1.0, "odd": value, "": 1.0, "x" * 65: 1.0}))
    assert node_of("cmp-1").metrics == {"cpu.percent": 1.0}


def test_a_host_has_a_bounded_number_of_metrics() -> None:
    host_register(host="cmp-1", report=report(metrics={f"m{number:05}": 1.0 for number in range(5000)}))
    assert len(node_of("cmp-1").metrics) == 100


def test_metrics_are_no_change_of_the_fleet() -> None:
    host_register(host="cmp-1", report=report(metrics=METRICS))
    FleetChange.objects.all().delete()
    host_register(host="cmp-1", report=report(metrics={"cpu.percent": 99.0}, clock_skew=ClockSkew(1.0, 0.1)))
    assert node_of("cmp-1").metrics == {"cpu.percent": 99.0}
    assert not FleetChange.objects.exists()


def test_versions_are_stored_and_a_service_version_is_a_change() -> None:
    host_register(host="cmp-1", report=report())
    FleetChange.objects.all().delete()
    versions = HostVersions(
        agent="1.2", protocol=3, service=73, libvirt="9.0.0", kernel="6.1", os="Debian\n12" + "x" * 200
    )
    host_register(host="cmp-1", report=report(versions=versions))
    node = node_of("cmp-1")
    assert (node.agent_version, node.protocol_version, node.libvirt_version) == ("1.2", 3, "9.0.0")
    assert (node.kernel_version, node.os_name[:10], len(node.os_name)) == ("6.1", "Debian12xx", 128)
    assert Service.objects.get().version == 73
    assert {change.kind for change in FleetChange.objects.all()} == {"service"}


def test_cpu_of_guests_is_stored_as_printable_words() -> None:
    cpu = GuestCpuReport("custom", ("Nehalem", "a\0b\nc"), ("+aes", "-mpx"))
    host_register(host="cmp-1", report=report(guest_cpu=cpu))
    stored = {"mode": "custom", "models": ["Nehalem", "abc"], "flags": ["+aes", "-mpx"]}
    assert node_of("cmp-1").guest_cpu == stored
    host_register(host="cmp-1", report=report())
    assert node_of("cmp-1").guest_cpu == {}


@pytest.mark.parametrize("number", [-1, 2**31, 2**70])
def test_version_that_no_column_holds_is_none(number: int) -> None:
    host_register(host="cmp-1", report=report(versions=HostVersions(service=number, protocol=number)))
    assert (Service.objects.get().version, node_of("cmp-1").protocol_version) == (0, 0)


def test_clock_is_stored_and_nonsense_is_not() -> None:
    host_register(host="cmp-1", report=report(clock_skew=ClockSkew(-2.5, 0.01)))
    assert (node_of("cmp-1").clock_skew_s, node_of("cmp-1").clock_error_s) == (-2.5, 0.01)
    for skew in (ClockSkew(float("nan"), 0.1), ClockSkew(float("inf"), 0.1), ClockSkew(1.0, -1.0)):
        host_register(host="cmp-1", report=report(clock_skew=skew))
    assert node_of("cmp-1").clock_skew_s == -2.5


def test_heartbeat_is_answered_with_the_databases_clock_and_our_version() -> None:
    host_register(host="cmp-1", report=report())
    answer = service_heartbeat(host="cmp-1")
    assert abs(db_now().timestamp() - answer.time_s) < 5
    assert answer.version == VERSION


def test_metrics_of_a_silent_host_are_not_believed() -> None:
    for host in fleet(3, metrics=METRICS):
        assert node_of(host).metrics
    silent("cmp-01", 170)
    silent("cmp-02", 190)
    found = HostMetricsCache().of(frozenset({"cpu.percent"}))
    assert found == {"node-00": {"cpu.percent": 12.5}, "node-01": {"cpu.percent": 12.5}}


def test_only_what_is_asked_for_is_read_and_cached_for_a_moment(django_assert_num_queries: Any) -> None:
    fleet(2, metrics=METRICS)
    now = [0.0]
    cache = HostMetricsCache(lambda: now[0])
    with django_assert_num_queries(0):
        assert cache.of(frozenset()) == {}
    with django_assert_num_queries(1):
        first = cache.of(frozenset({"cpu.percent", "gpu.percent"}))
        assert cache.of(frozenset({"cpu.percent", "gpu.percent"})) is first
    assert first["node-00"] == {"cpu.percent": 12.5}
    ComputeNode.objects.update(metrics={"cpu.percent": 1.0}, metrics_at=F("metrics_at"))
    now[0] = 6.0
    assert cache.of(EVERY) == {"node-00": {"cpu.percent": 1.0}, "node-01": {"cpu.percent": 1.0}}


def test_metrics_are_asked_for_by_policies_that_weigh_by_them() -> None:
    options = PolicyOptions(metrics_weight_setting={"cpu.percent": -1.0})
    weighing = Policy(options=options)
    silent_weigher = Policy(options=options, weighers=(WeigherSetting("MetricsWeigher", 0.0),))
    assert metrics_asked([Policy()]) == frozenset()
    assert metrics_asked([Policy(), weighing]) == {"cpu.percent"}
    assert metrics_asked([silent_weigher]) == frozenset()
    assert metrics_asked([Policy(filters=("MetricsFilter",), weighers=(), options=options)]) == {"cpu.percent"}
    assert metrics_asked([Policy(filters=("mine.Filter",))]) is EVERY


def measured(**changes: Any) -> HostMeasures:
    return replace(HostMeasures(HostUsage(3, 2048, 7, 2), metrics=METRICS), **changes)


def test_measures_are_stored_where_a_registration_stores_them() -> None:
    host_register(host="cmp-1", report=report(metrics={"cpu.percent": 1.0}))
    before = node_of("cmp-1")
    host_measures_store(host="cmp-1", measures=measured(disk_available_least_gib=-3, clock_skew=ClockSkew(0.5, 0.1)))
    after = node_of("cmp-1")
    assert (after.metrics, after.disk_available_least_gib) == (METRICS, -3)
    assert (after.clock_skew_s, after.clock_error_s) == (0.5, 0.1)
    assert after.metrics_at is not None
    assert before.metrics_at is not None
    assert after.metrics_at >= before.metrics_at
    samples = HostUsageSample.objects.filter(host="cmp-1")
    assert {one.step_s for one in samples} == {span.step_s for span in SPANS.values()}
    assert {(one.cpu_percent, one.memory_percent, one.disk_percent) for one in samples} == {(12.5, 40.0, None)}
    assert {(one.vcpus_used, one.memory_used_mib, one.disk_used_gib, one.running_guests) for one in samples} == {
        (3, 2048, 7, 2)
    }


def test_measures_of_the_same_step_are_written_over() -> None:
    host_register(host="cmp-1", report=report(metrics=METRICS))
    for percent in (50.0, 60.0):
        host_measures_store(host="cmp-1", measures=measured(metrics={"cpu.percent": percent}))
    newest = HostUsageSample.objects.filter(host="cmp-1").order_by("-at_s")
    assert newest[0].cpu_percent == 60.0
    assert newest.count() <= 2 * len(SPANS)  # a step may have ended meanwhile


def test_measures_that_change_nothing_the_scheduler_reads_are_no_change_of_the_fleet() -> None:
    host_register(host="cmp-1", report=report())
    host_measures_store(host="cmp-1", measures=measured(disk_available_least_gib=5))
    FleetChange.objects.all().delete()
    host_measures_store(host="cmp-1", measures=measured(disk_available_least_gib=5))
    assert not FleetChange.objects.exists()
    host_measures_store(host="cmp-1", measures=measured(disk_available_least_gib=4))
    assert {change.kind for change in FleetChange.objects.all()} == {"node"}


def test_host_that_is_not_registered_has_no_measures() -> None:
    with pytest.raises(NotFound):
        host_measures_store(host="cmp-9", measures=measured())
    assert not HostUsageSample.objects.exists()


def test_measures_cost_three_statements_and_a_heartbeat_one(django_assert_num_queries: Any) -> None:
    host_register(host="cmp-1", report=report())
    with django_assert_num_queries(3):
        host_measures_store(host="cmp-1", measures=measured())
    service_heartbeat(host="cmp-1")  # plans its statement
    with django_assert_num_queries(1):
        service_heartbeat(host="cmp-1")


def test_heartbeat_says_what_a_registration_says_and_the_databases_time() -> None:
    registered = host_register(host="cmp-1", report=report())
    Service.objects.update(disabled=True, disabled_reason="why", forced_down=True)
    before, count = db_now().timestamp(), Service.objects.get().report_count
    answer = service_heartbeat(host="cmp-1")
    assert answer == replace(registered, disabled=True, disabled_reason="why", forced_down=True, time_s=answer.time_s)
    assert 0.0 <= answer.time_s - before + 0.001 <= PATIENCE_S
    assert Service.objects.get().report_count == count + 1


def owned(seconds: float) -> Ownership:
    """Of an agent that promised to be heard of within so many seconds."""
    found = Ownership("agent-1", "cmp-1 1")
    assert ownership_transfer(name=found.name, before=None, owner=found.owner, seconds=seconds)
    return found


def heard_of(seconds_ago: float) -> None:
    Service.objects.update(last_seen_up=now_plus(-seconds_ago))


def test_heartbeat_of_who_was_heard_of_lately_is_answered_without_a_write(django_assert_num_queries: Any) -> None:
    host_register(host="cmp-1", report=report())
    ownership, seen = owned(60.0), Service.objects.get().last_seen_up
    answer = service_seen_lately(host="cmp-1", ownership=ownership)
    assert answer is not None
    assert replace(answer, time_s=0.0) == replace(service_heartbeat(host="cmp-1"), time_s=0.0)
    assert seen is not None
    with django_assert_num_queries(1) as asked:
        service_seen_lately(host="cmp-1", ownership=ownership)
    assert "UPDATE" not in asked.captured_queries[0]["sql"]


@pytest.mark.parametrize(("seen_s", "promised_s"), [(21.0, 60.0), (1.0, 39.0)])
def test_heartbeat_of_who_was_not_heard_of_lately_is_to_be_written(seen_s: float, promised_s: float) -> None:
    host_register(host="cmp-1", report=report())
    ownership = owned(promised_s)
    heard_of(seen_s)
    assert service_seen_lately(host="cmp-1", ownership=ownership) is None


def test_heartbeat_of_another_agent_or_of_no_host_is_not_answered() -> None:
    host_register(host="cmp-1", report=report())
    ownership = owned(60.0)
    assert service_seen_lately(host="cmp-1", ownership=replace(ownership, owner="cmp-1 2")) is None
    assert service_seen_lately(host="cmp-2", ownership=ownership) is None
