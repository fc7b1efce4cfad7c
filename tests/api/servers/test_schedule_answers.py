"""Simulate, explain and capacity over HTTP: who is told what, what is checked, that nothing is written."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.identity.domain import Caller
from placement.selectors import fleet_usage
from scheduling.fleet.services.aggregates import aggregate_create, aggregate_host_add
from scheduling.fleet.services.hosts import host_register
from scheduling.fleet.services.service_states import service_disable
from scheduling.models import SchedulingDecision
from scheduling.policies.services.policies import policy_create
from servers.models import BuildRequest, Instance, RequestSpec, ServerGroup
from tests.fixtures.queries import undisturbed_queries
from tests.fixtures.remembering import remembered
from tests.services.scheduling.fleet.fleet_world import report
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db
HOSTS = ("cmp-1", "cmp-2", "cmp-3")
BODY = {"flavor": "m1.tiny", "image": "demo"}
HUGE = {"vcpus": 20, "memory_mib": 512, "root_gib": 1}
# Four of these fill the vCPUs of a host: 4 real ones, promised four times.
QUARTER = {"vcpus": 4, "memory_mib": 256, "root_gib": 1}


@pytest.fixture
@remembered
def who() -> world.People:
    found = world.people()
    world.flavor()
    world.image()
    for name in HOSTS:
        add_host(name)
    return found


def add_host(name: str) -> None:
    """4 vCPUs, 8 GiB of which 512 MiB are kept, 100 GiB."""
    host_register(host=name, report=report(name, memory_mib=8192))


def simulate(caller: Caller, **changes: Any) -> Any:
    return world.client_of(caller).post("/api/schedule/simulate/", {**BODY, **changes}, format="json")


def explain(caller: Caller, **changes: Any) -> Any:
    return world.client_of(caller).post("/api/schedule/explain/", {**BODY, **changes}, format="json")


def room(caller: Caller, query: str = "") -> Any:
    return world.client_of(caller).get(f"/api/capacity/{query}")


def field(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["field"]


def counts() -> list[int]:
    return [model.objects.count() for model in (Instance, BuildRequest, RequestSpec, SchedulingDecision)]


def test_simulate_tells_an_admin_hosts_funnel_and_scores(who: world.People) -> None:
    service_disable(host="cmp-2", reason="new disks")
    body = simulate(who.admin, count=2, seed=1).json()
    assert (body["outcome"], body["placed"], body["host_count"]) == ("selected", 2, 3)
    assert [one["selected"]["host"] for one in body["selections"]] == ["cmp-1", "cmp-3"]
    assert body["funnel"][0]["name"] == "request_filters"
    assert body["funnel"][0]["reasons"] == [{"reason": "disabled", "label": "disabled", "hosts": 1}]
    assert [(one["hosts"], one["named"]) for one in body["refusals"]] == [(1, ["cmp-2"])]
    assert [one["rank"] for one in body["scores"]] == [1, 2]


def test_simulate_writes_nothing_and_claims_nothing(who: world.People) -> None:
    before = counts(), fleet_usage()
    assert simulate(who.member, count=3).status_code == 200
    assert explain(who.member, count=3).status_code == 200
    assert (counts(), fleet_usage()) == before


@pytest.mark.parametrize("person", ["member", "reader"])
def test_tenants_are_told_counts_and_no_host(who: world.People, person: str) -> None:
    world.flavor("huge", vcpus=20)
    for answer in (
        simulate(getattr(who, person)),
        simulate(getattr(who, person), flavor="huge"),
        explain(getattr(who, person), flavor="huge"),
    ):
        assert answer.status_code == 200
        assert b"cmp-" not in answer.content
        assert "scores" not in answer.json()
    assert answer.json()["reasons"] == [{"reason": "vcpu_short", "label": "not enough vCPUs", "hosts": 3}]


@pytest.mark.parametrize(
    "changes",
    [
        {"edits": {"hosts_enabled": ["cmp-1"]}},
        {"edits": {"policy": {"filters": []}}},
        {"flavor": HUGE},
        {"image": {"properties": {}}},
        {"availability_zone": ":cmp-1"},
    ],
)
def test_edits_and_inline_objects_are_for_admins(who: world.People, changes: dict[str, Any]) -> None:
    assert simulate(who.member, **changes).status_code == 403
    assert simulate(who.admin, **changes).status_code == 200


def test_nobody_gets_in_without_a_token() -> None:
    for path in ("schedule/simulate/", "schedule/explain/"):
        assert APIClient().post(f"/api/{path}", BODY, format="json").status_code == 401
    assert APIClient().get("/api/capacity/").status_code == 401


def test_address_works_without_the_slash(who: world.People) -> None:
    client = world.client_of(who.admin)
    assert client.post("/api/schedule/simulate", BODY, format="json").status_code == 200
    assert client.get("/api/capacity").status_code == 200


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"flavor": "none"}, "flavor"),
        ({"flavor": 7}, "flavor"),
        ({"image": "none"}, "image"),
        ({"count": 0}, "count"),
        ({"count": 101}, "count"),
        ({"availability_zone": "nowhere"}, "availability_zone"),
        ({"hints": {"_nova_check_type": "rebuild"}}, "hints._nova_check_type"),
        ({"hints": {"plug_in": {"a": 1}}}, "hints.plug_in"),
        ({"hints": {"group": "none"}}, "hints"),
        ({"hosts": 1}, "hosts"),
        ({"edits": {"hosts_enabled": ["ghost"]}}, "hosts_enabled"),
        ({"edits": {"hosts_disabled": ["ghost"]}}, "hosts_disabled"),
        ({"edits": {"hosts_removed": ["ghost"]}}, "hosts_removed"),
        ({"edits": {"hosts_added": [{"like": "ghost"}]}}, "hosts_added"),
        ({"edits": {"aggregates": [{"name": "ghost"}]}}, "aggregates"),
        ({"edits": {"freed": [{"host": "cmp-1", "resource_class": "VGPU", "amount": 1}]}}, "freed"),
        ({"edits": {"allocation_ratios": [{"resource_class": "VCPU", "ratio": 2, "hosts": ["ghost"]}]}},
         "allocation_ratios"),
        ({"edits": {"policy": "ghost-v1"}}, "policy"),
    ],
)  # fmt: skip
def test_bad_input_names_the_field(who: world.People, changes: dict[str, Any], name: str) -> None:
    assert field(simulate(who.admin, **changes)) == (400, name)


@pytest.mark.parametrize(
    "edits",
    [
        {"hosts_added": [{"like": "cmp-1", "count": 1001}]},
        {"hosts_added": [{"like": "cmp-1", "count": 900}, {"like": "cmp-2", "count": 900}]},
        {"hosts_enabled": ["cmp-1"] * 1001},
        {"allocation_ratios": [{"resource_class": "VCPU", "ratio": -1}]},
        {"nonsense": 1},
    ],
)
def test_edits_have_bounds(who: world.People, edits: dict[str, Any]) -> None:
    assert simulate(who.admin, edits=edits).status_code == 400


def test_ratio_edit_makes_room(who: world.People) -> None:
    ratio = {"resource_class": "VCPU", "ratio": 8}
    assert simulate(who.admin, flavor=QUARTER, count=13).json()["outcome"] == "no_valid_host"
    body = simulate(who.admin, flavor=QUARTER, count=13, edits={"allocation_ratios": [ratio]}).json()
    assert (body["outcome"], body["placed"]) == ("selected", 13)


def test_disabled_host_takes_nothing_and_enabled_one_does(who: world.People) -> None:
    off = simulate(who.admin, edits={"hosts_disabled": list(HOSTS)}).json()
    assert off["verdict"] == "No host fits: all 3 are disabled"
    for host in HOSTS:
        service_disable(host=host, reason="")
    body = simulate(who.admin, edits={"hosts_enabled": ["cmp-3"]}).json()
    assert [one["selected"]["host"] for one in body["selections"]] == ["cmp-3"]


def test_added_hosts_take_instances_and_removed_ones_do_not(who: world.People) -> None:
    edits = {"hosts_removed": list(HOSTS), "hosts_added": [{"like": "cmp-1", "count": 2}]}
    body = simulate(who.admin, count=2, edits=edits).json()
    assert body["host_count"] == 2
    assert [one["selected"]["host"] for one in body["selections"]] == ["cmp-1+1", "cmp-1+2"]


def test_aggregate_edit_moves_a_host_to_a_zone(who: world.People) -> None:
    aggregate_create(name="az1", availability_zone="az1")
    edits = {"aggregates": [{"name": "az1", "hosts_added": ["cmp-2"]}]}
    assert simulate(who.admin, availability_zone="az1").json()["placed"] == 0
    body = simulate(who.admin, availability_zone="az1", edits=edits).json()
    assert body["zones"] == {"az1": 1}


def test_other_policy_is_taken_by_label_id_and_body(who: world.People) -> None:
    body = {"filters": [], "weighers": {"RAMWeigher": -1.0}}
    row = policy_create(body=body)
    for reference, version in ((row.label, row.label), (str(row.pk), row.label), (body, "inline")):
        answer = simulate(who.admin, edits={"policy": reference})
        assert answer.json()["policy_version"] == version


def test_policy_that_does_not_load_is_refused(who: world.People) -> None:
    assert simulate(who.admin, edits={"policy": {"filters": ["Ghost"]}}).status_code == 400
    assert field(simulate(who.admin, edits={"policy": {"host_subset_size": 0}})) == (400, "host_subset_size")


def test_group_rule_counts_in_a_trial(who: world.People) -> None:
    group = ServerGroup.objects.create(
        name="apart", policy="anti-affinity", project_id=who.member.project_id, user_id=who.member.user_id
    )
    hints = {"group": str(group.pk)}
    assert simulate(who.member, count=3, hints=hints).json()["placed"] == 3
    assert "the server group already" in simulate(who.member, count=4, hints=hints).json()["verdict"]


def test_explain_tells_the_host_its_rules_and_changes(who: world.People) -> None:
    service_disable(host="cmp-1", reason="new disks")
    body = explain(who.admin, flavor=HUGE, host="cmp-1", force=True).json()
    host = body["host"]
    assert (host["result"], host["refusal"]["reason"]) == ("refused", "disabled")
    assert {one["reason"] for one in host["rules"]} >= {"disabled", "vcpu_short"}
    assert {one["stage"] for one in host["rules"]} == {"request_filters", "placement", "ComputeFilter"}
    assert host["changes"][0]["sentence"] == "enable cmp-1 and ask for 4 vCPU instead of 20"
    assert host["changes"][0]["kinds"] == ["fleet", "request"]


@pytest.mark.parametrize("zone", [":cmp-1", "::cmp-1", ":cmp-1:cmp-1"])
def test_every_told_change_works_when_it_is_simulated(who: world.People, zone: str) -> None:
    world.flavor("m1.half", vcpus=8)
    before = {"flavor": QUARTER, "count": 5, "availability_zone": zone}
    changes = explain(who.admin, **before).json()["changes"]
    assert {kind for one in changes for kind in one["kinds"]} >= {"request", "fleet"}
    for one in changes:
        body = simulate(who.admin, **{**before, **one["simulate"]}).json()
        assert body["outcome"] == "selected", one["sentence"]


def test_tenant_is_told_a_smaller_flavor_and_nothing_of_the_fleet(who: world.People) -> None:
    world.flavor("huge", vcpus=20)
    changes = explain(who.member, flavor="huge").json()["changes"]
    assert {tuple(one["kinds"]) for one in changes} == {("request",)}
    (small,) = (one for one in changes if one["sentence"].startswith("use the flavor m1.tiny"))
    assert simulate(who.member, **small["simulate"]).json()["placed"] == 1


def test_tenants_may_not_ask_about_a_host(who: world.People) -> None:
    assert explain(who.member, host="cmp-1").status_code == 403


def test_explain_of_an_unknown_host_names_the_field(who: world.People) -> None:
    assert field(explain(who.admin, host="ghost")) == (400, "host")


def test_explain_of_what_fits_has_no_changes(who: world.People) -> None:
    body = explain(who.admin).json()
    assert (body["outcome"], body["changes"], body["host"]) == ("selected", [], None)


def test_capacity_counts_every_flavor_by_zone(who: world.People) -> None:
    zone = aggregate_create(name="az1", availability_zone="az1")
    aggregate_host_add(aggregate_id=zone.pk, host="cmp-1")
    world.flavor("big", vcpus=4, memory_mib=4096)
    body = room(who.admin).json()
    by_name = {one["flavor"]["name"]: one for one in body["flavors"]}
    assert by_name["big"]["total"]["count"] == 3
    assert by_name["big"]["total"]["binds"] == "MEMORY_MB"
    assert {one["zone"]: one["count"] for one in by_name["big"]["zones"]} == {"az1": 1, "nova": 2}
    assert {one["zone"]: one["n_plus_1"] for one in by_name["big"]["zones"]} == {"az1": 0, "nova": 1}


def test_capacity_is_filtered_by_flavor_and_zone(who: world.People) -> None:
    world.flavor("big", vcpus=4)
    body = room(who.admin, "?flavor=big&zone=nova").json()
    assert [one["flavor"]["name"] for one in body["flavors"]] == ["big"]
    assert [one["zone"] for one in body["flavors"][0]["zones"]] == ["nova"]
    assert room(who.admin, "?zone=none").json()["flavors"][0]["zones"] == []


@pytest.mark.parametrize(
    ("query", "name"), [("?flavor=none", "flavor"), ("?project=x", "project"), ("?policy=none-v1", "policy")]
)
def test_capacity_names_the_field_that_is_wrong(who: world.People, query: str, name: str) -> None:
    assert field(room(who.admin, query)) == (400, name)


@pytest.mark.parametrize("person", ["member", "reader", "stranger"])
def test_capacity_is_for_admins(who: world.People, person: str) -> None:
    assert room(getattr(who, person)).status_code == 403


def test_flavor_that_contradicts_itself_has_a_problem_and_the_others_are_counted(who: world.People) -> None:
    world.flavor("bad", extra_specs={"trait:HW_A": "required", "trait1:X": "required"})
    by_name = {one["flavor"]["name"]: one for one in room(who.admin).json()["flavors"]}
    assert by_name["bad"]["total"] is None
    assert "trait" in by_name["bad"]["problem"]
    assert by_name["m1.tiny"]["total"]["count"] == 45


def test_number_of_queries_grows_with_neither_hosts_nor_flavors(who: world.People) -> None:
    asks = (lambda: room(who.admin), lambda: simulate(who.admin), lambda: explain(who.admin, flavor=HUGE))

    few = [undisturbed_queries(ask) for ask in asks]
    for number in range(5):
        add_host(f"more-{number}")
        world.flavor(f"more-{number}", vcpus=number + 1)
    assert [undisturbed_queries(ask) for ask in asks] == few


@pytest.mark.parametrize(
    "rules", [{"filters": ["os.getcwd"]}, {"weighers": {"os.getcwd": 1}}, {"scheduler": "os.getcwd"}]
)
def test_function_that_a_policy_names_is_refused_with_the_setting_that_would_allow_it(
    who: world.People, rules: dict[str, Any]
) -> None:
    answer = simulate(who.admin, edits={"policy": rules})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "plugin_not_allowed")
    assert "SCHEDULER_PLUGIN_MODULES does not allow" in answer.json()["error"]["message"]
