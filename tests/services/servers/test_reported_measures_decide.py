"""What hosts report of themselves decides where instances go: metrics, stats, the oldest service version."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from computeagent.protocol.hosts import HostVersions
from controlplane.identity.models import Project
from scheduling.decisions.selectors.replay import ReplayState, replay_of
from scheduling.domain.policy import DEFAULT_POLICY
from scheduling.fleet.cache.host_metrics import host_metrics
from scheduling.models import ComputeNode, SchedulingDecision, Service
from scheduling.policies.services.policies import policy_create
from servers.instances.selectors.host_stats import host_stats_forget, stats_by_host
from servers.models import Instance, RequestSpec
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
BUSY, IDLE = {"cpu.percent": 95.0}, {"cpu.percent": 5.0}


@pytest.fixture(autouse=True)
def nothing_cached() -> Iterator[None]:
    """Every test's hosts are measured anew."""
    host_metrics().forget()
    host_stats_forget()
    yield
    host_metrics().forget()
    host_stats_forget()


def weigh_by_cpu(*, required: bool, filters: tuple[str, ...] = ()) -> None:
    options = {"metrics_weight_setting": {"cpu.percent": -1.0}, "metrics_required": required}
    policy_create(body={"options": options, "filters": [*DEFAULT_POLICY.filters, *filters]}, activate=True)


def placed(who: world.People, count: int = 3) -> list[str]:
    """The hosts of so many instances, asked for one after the other."""
    hosts = []
    for number in range(count):
        (made,) = world.create(who.member, f"vm-{number}")
        world.pump()
        world.finish_builds()
        hosts.append(Instance.objects.get(pk=made.pk).host)
    return hosts


def test_idle_host_is_preferred_although_it_has_less_room() -> None:
    who = world.cloud("busy", metrics=BUSY, memory_mib=16384)
    world.host("idle", metrics=IDLE, memory_mib=8192)
    assert placed(who, 1) == ["busy"]  # by room, where the policy does not weigh by metrics
    weigh_by_cpu(required=True, filters=("MetricsFilter",))
    assert placed(who) == ["idle"] * 3
    replays = {replay_of(decision=each).state for each in SchedulingDecision.objects.all()}
    assert replays == {ReplayState.SAME}


def test_metrics_that_change_change_the_choice() -> None:
    who = world.cloud("a", metrics=BUSY)
    world.host("b", metrics=IDLE)
    weigh_by_cpu(required=False)
    assert placed(who, 1) == ["b"]
    world.host("a", metrics=IDLE)
    world.host("b", metrics=BUSY)
    host_metrics().forget()
    assert placed(who, 1) == ["a"]


def test_metrics_of_a_silent_host_are_not_believed() -> None:
    who = world.cloud("stale", metrics=IDLE)
    world.host("fresh", metrics=BUSY)
    ComputeNode.objects.filter(host="stale").update(metrics_at=Now() - timedelta(seconds=200))
    weigh_by_cpu(required=False)
    assert placed(who, 1) == ["fresh"]
    weigh_by_cpu(required=True, filters=("MetricsFilter",))
    assert placed(who, 1) == ["fresh"]
    decision = SchedulingDecision.objects.order_by("-created_at").first()
    assert decision is not None
    Service.objects.filter(host="fresh").update(disabled=True)
    (refused,) = world.create(who.member, "nowhere")
    world.pump()
    assert Instance.objects.get(pk=refused.pk).vm_state == "error"


def extra_specs(specs: dict[str, str]) -> None:
    """Give the flavor of later requests these extra specs."""
    from servers.models import Flavor

    Flavor.objects.filter(name="m1.tiny").update(extra_specs=specs)


def test_flavor_may_ask_what_hosts_measured() -> None:
    who = world.cloud("busy", metrics=BUSY, memory_mib=16384)
    world.host("idle", metrics=IDLE)
    extra_specs({"capabilities:metrics:cpu.percent": "<= 50"})
    assert placed(who, 2) == ["idle", "idle"]


@pytest.mark.parametrize(
    ("key", "value"),
    [("capabilities:num_vm_active", ">= 1"), ("capabilities:stats:num_instances", "<= 0")],
)
def test_flavor_may_ask_what_is_on_a_host(key: str, value: str) -> None:
    who = world.cloud("large", memory_mib=65536)
    world.host("small")
    assert placed(who, 1) == ["large"]
    extra_specs({key: value})
    assert placed(who, 1) == ["large" if value == ">= 1" else "small"]


def test_stats_are_counted_as_nova_names_them() -> None:
    who = world.cloud("h1")
    placed(who, 2)
    project = Project.objects.get(name="demo").pk
    Instance.objects.filter(name="vm-0").update(task_state="rebuilding", image={"properties": {"os_type": "linux"}})
    assert dict(stats_by_host()["h1"]) == {
        "num_vm_active": 2,
        "num_task_None": 1,
        "num_task_rebuilding": 1,
        "num_os_type_None": 1,
        "num_os_type_linux": 1,
        f"num_proj_{project}": 2,
    }


def test_owner_is_asked_for_once_every_service_is_new_enough() -> None:
    new = HostVersions(service=73)
    who = world.cloud("new", versions=new, traits=("OWNER_NOVA",))
    world.host("old")
    assert set(placed(who, 2)) <= {"new", "old"}
    world.host("old", versions=new)  # says that it is new, and lacks the trait: not ours
    assert placed(who, 2) == ["new", "new"]
    assert RequestSpec.objects.exists()


def test_forced_down_host_holds_nobody_back() -> None:
    new = HostVersions(service=73)
    who = world.cloud("new", versions=new, traits=("OWNER_NOVA",))
    world.host("other", versions=new, memory_mib=65536)
    world.host("old")
    Service.objects.filter(host="old").update(forced_down=True)
    assert placed(who, 2) == ["new", "new"]
