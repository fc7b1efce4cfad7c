"""The example filter, as users write it for Nova, runs through the services on a database."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scheduling.decisions.selectors.replay import ReplayState, replay_of
from scheduling.domain.policy import DEFAULT_POLICY
from scheduling.filters import BaseHostFilter
from scheduling.models import SchedulingDecision, Service
from scheduling.policies.services.policies import policy_create
from servers.trials.schedule_trial import TrialWanted, trial_simulate
from tests.fixtures.queries import undisturbed_queries
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
EXAMPLE = Path(__file__).parents[3] / "examples" / "dump_filter"
FILTERS = ["RetryFilter", "dump_filter.DumpFilter", "AvailabilityZoneFilter", *DEFAULT_POLICY.filters]


@pytest.fixture
def logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, settings: Any
) -> pytest.LogCaptureFixture:
    """What the filter writes, while it is placed between RetryFilter and AvailabilityZoneFilter."""
    settings.KILONOVA = {**settings.KILONOVA, "SCHEDULER_PLUGIN_MODULES": ("dump_filter", "tests")}
    monkeypatch.syspath_prepend(str(EXAMPLE))
    caplog.set_level(logging.INFO, logger="dump_filter")
    policy_create(body={"filters": list(dict.fromkeys(FILTERS))}, activate=True)
    return caplog


def test_filter_written_for_nova_sees_all_of_every_host(logged: pytest.LogCaptureFixture) -> None:
    who = world.cloud("h1", "h2")
    first = world.active(who.member, "first", metadata={"a": "b"})
    stranger = world.active(who.stranger, "other")
    logged.clear()
    made = world.active(who.member, "second")
    assert made.vm_state == "active"
    assert "request wants memory_mb=512 vcpus=1" in logged.text
    for one in (first, stranger):
        assert f"{one.host}: instance {one.pk}: {one.name}, active, flavor m1.tiny" in logged.text
    for host in ("h1", "h2"):
        seen = Service.objects.get(host=host).last_seen_up
        assert f"{host}: updated = {seen!r}" in logged.text
        assert f"{host}: total_usable_ram_mb = 8192" in logged.text
        assert f"{host}: hypervisor_hostname = '{host}'" in logged.text
    replays = {replay_of(decision=each).state for each in SchedulingDecision.objects.all()}
    assert replays == {ReplayState.SAME}


def test_simulation_shows_a_filter_the_same(logged: pytest.LogCaptureFixture) -> None:
    who = world.cloud("h1")
    first = world.active(who.member, "first")
    logged.clear()
    reported = trial_simulate(caller=who.admin, wanted=TrialWanted(flavor="m1.tiny", image="demo"))
    assert reported["outcome"] == "selected"
    assert f"h1: instance {first.pk}: first, active, flavor m1.tiny" in logged.text


SEEN: list[dict[str, Any]] = []


class Everything(BaseHostFilter):
    """Reads all that Nova's filters read of instances."""

    def host_passes(self, host_state: Any, spec_obj: Any) -> bool:
        SEEN.extend(
            {name: getattr(instance, name) for name in NAMES} | {"host_state": host_state.host}
            for instance in host_state.instances.values()
        )
        return True


NAMES = [
    "uuid", "host", "node", "project_id", "user_id", "display_name", "hostname", "availability_zone", "vm_state",
    "task_state", "power_state", "instance_type_id", "image_ref", "vcpus", "memory_mb", "root_gb", "ephemeral_gb",
    "key_name", "created_at", "launched_at", "flavor", "image", "metadata", "system_metadata",
]  # fmt: skip


@pytest.fixture
def reads_everything() -> Iterator[None]:
    SEEN.clear()
    policy_create(body={"filters": ["ComputeFilter", f"{__name__}.Everything"]}, activate=True)
    yield
    SEEN.clear()


@pytest.mark.usefixtures("reads_everything")
def test_instances_have_what_nova_s_filters_read() -> None:
    who = world.cloud("h1")
    world.Image.objects.filter(name="demo").update(properties={"os_distro": "debian"})
    first = world.active(who.member, "first", metadata={"a": "b"})
    gone = world.active(who.member, "gone")
    world.Instance.objects.filter(pk=gone.pk).update(deleted_at=gone.created_at)
    SEEN.clear()
    world.active(who.stranger, "second")
    (seen,) = SEEN
    assert seen["flavor"].memory_mb == seen["memory_mb"] == 512
    assert (seen["uuid"], seen["host"], seen["node"], seen["host_state"]) == (str(first.pk), "h1", "h1", "h1")
    assert (seen["project_id"], seen["display_name"], seen["metadata"]) == (str(first.project_id), "first", {"a": "b"})
    assert (seen["vm_state"], seen["task_state"], seen["launched_at"]) == ("active", None, first.launched_at)
    assert seen["system_metadata"] == {"image_os_distro": "debian"}


@pytest.mark.usefixtures("reads_everything")
def test_number_of_queries_does_not_grow_with_hosts_and_instances() -> None:
    who = world.cloud("h1")
    world.active(who.member, "first")
    simulated = TrialWanted(flavor="m1.tiny", image="demo")
    few = undisturbed_queries(lambda: trial_simulate(caller=who.admin, wanted=simulated))
    for at in range(2, 7):
        world.host(f"h{at}")
        world.active(who.member, f"vm{at}")
    trial_simulate(caller=who.admin, wanted=simulated)
    SEEN.clear()
    with CaptureQueriesContext(connection) as many:
        trial_simulate(caller=who.admin, wanted=simulated)
    assert len(SEEN) == 6
    assert undisturbed_queries(lambda: trial_simulate(caller=who.admin, wanted=simulated)) <= few
    assert sum('FROM "servers_instance"' in each["sql"] and '"flavor"' in each["sql"] for each in many) == 1


def test_without_such_a_plug_in_no_instance_is_read() -> None:
    who = world.cloud("h1")
    world.active(who.member, "first")
    with CaptureQueriesContext(connection) as queries:
        trial_simulate(caller=who.admin, wanted=TrialWanted(flavor="m1.tiny", image="demo"))
    assert not any('"servers_instance"."hostname"' in each["sql"] for each in queries)
