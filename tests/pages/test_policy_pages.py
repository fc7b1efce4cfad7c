"""Versions of the policy on their pages: made, compared, previewed, activated, rolled back, run as shadow."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.dashboard.policies.differences import policy_differences
from controlplane.identity.domain import Caller
from scheduling.domain.policy import Policy, WeigherSetting
from scheduling.models import SchedulerPolicy, SchedulingDecision, ShadowResult
from scheduling.policies.selectors.policies import active_id, policy_get
from scheduling.policies.services.policies import policy_activate, policy_create, policy_shadow_start, policy_validate
from tests.worlds.cloud import People, active, create, flavor, pump

AsPerson = Callable[[Caller], Client]
HTMX = {"HX-Request": "true"}


def validated(**body: Any) -> SchedulerPolicy:
    made = policy_create(body=body)
    policy_validate(policy_id=made.pk)
    return policy_get(policy_id=made.pk)


def step(client: Client, policy: SchedulerPolicy, verb: str, **fields: Any) -> Any:
    return client.post(f"/policies/{policy.pk}/act/", {"step": verb, **fields}, follow=True)


def test_without_versions_the_page_says_what_counts_and_what_to_do(people: People, as_person: AsPerson) -> None:
    page = as_person(people.admin).get("/policies/").text

    assert "the scheduler follows the defaults" in page
    assert "No versions yet" in page


def test_a_draft_begins_as_the_defaults_and_opens_its_editor(people: People, as_person: AsPerson) -> None:
    answer = as_person(people.admin).post("/policies/new/", {"copy_of": "defaults", "name": "mine"}, follow=True)

    made = SchedulerPolicy.objects.get()
    assert answer.redirect_chain == [(f"/policies/{made.pk}/edit/", 302)]
    assert (made.label, made.author, made.state) == ("mine-v1", "root", "draft")
    assert made.body["filters"][0] == "ComputeFilter"


def test_a_draft_begins_as_a_copy_of_another_version(people: People, as_person: AsPerson) -> None:
    source = policy_create(body={"filters": ["RamFilter"]})

    as_person(people.admin).post("/policies/new/", {"copy_of": str(source.pk), "name": "default"})

    assert SchedulerPolicy.objects.get(version=2).body == {"filters": ["RamFilter"]}


@pytest.mark.parametrize(
    ("fields", "status"),
    [({"copy_of": "x"}, 400), ({"copy_of": "00000000-0000-0000-0000-00000000000a"}, 404), ({"name": "x" * 65}, 400)],
)
def test_a_draft_of_nothing_or_without_a_fitting_name_is_refused(
    fields: dict[str, str], status: int, people: People, as_person: AsPerson
) -> None:
    assert as_person(people.admin).post("/policies/new/", fields).status_code == status
    assert SchedulerPolicy.objects.count() == 0


def test_the_list_tells_states_authors_and_times(people: People, as_person: AsPerson) -> None:
    policy_create(body={}, author="anna", activate=True)
    policy_create(body={}, author="bert")
    shadow = validated(filters=["RamFilter"])
    policy_shadow_start(policy_id=shadow.pk, share=0.125)

    page = as_person(people.admin).get("/policies/").text

    assert [word in page for word in ("anna", "bert", "draft", "active", "shadow, 12.5 %")] == [True] * 5


def test_a_version_is_validated_activated_and_rolled_back(people: People, as_person: AsPerson) -> None:
    first, second = policy_create(body={}, activate=True), policy_create(body={"filters": ["RamFilter"]})
    client = as_person(people.admin)

    states = []
    for policy, verb, replaces in ((second, "validate", ""), (second, "activate", first.pk), (first, "rollback", "")):
        more = {"replaces": str(replaces or second.pk)} if verb != "validate" else {}
        step(client, policy, verb, **more)
        states.append((policy_get(policy_id=second.pk).state, active_id() == second.pk))

    assert states == [("validated", False), ("active", True), ("retired", False)]
    assert active_id() == first.pk


def test_a_draft_with_problems_stays_one_and_each_field_is_named(people: People, as_person: AsPerson) -> None:
    wrong = policy_create(body={"filters": ["NoFilter"], "max_attempts": 0, "filtrs": []})

    page = step(as_person(people.admin), wrong, "validate")

    assert set(page.context["problems"]) == {"filters.NoFilter", "max_attempts", "filtrs"}
    assert "It cannot be used as it is." in page.text
    assert policy_get(policy_id=wrong.pk).state == "draft"


def test_activating_over_what_somebody_else_activated_meanwhile_is_refused(people: People, as_person: AsPerson) -> None:
    mine, other = validated(filters=["RamFilter"]), validated(filters=["CoreFilter"])
    policy_activate(policy_id=other.pk)

    page = step(as_person(people.admin), mine, "activate", replaces="")

    assert "The active version is default-v2 now." in page.text
    assert active_id() == other.pk


def test_a_shadow_starts_with_a_share_and_ends(people: People, as_person: AsPerson) -> None:
    policy = validated(filters=["RamFilter"])
    client = as_person(people.admin)

    started = step(client, policy, "shadow", percent="12.5").text
    share = policy_get(policy_id=policy.pk).shadow_share
    step(client, policy, "shadow-end")

    assert ("on 12.5 % of the requests" in started, share) == (True, 0.125)
    assert not policy_get(policy_id=policy.pk).shadow


@pytest.mark.parametrize(
    ("verb", "fields", "reported"),
    [
        ("shadow", {"percent": "many"}, "percent: “many” is not a number."),
        ("shadow", {"percent": "101"}, "percent: A share is from 0 to 100 percent."),
        ("shadow", {"percent": "nan"}, "percent: A share is from 0 to 100 percent."),
        ("explode", {}, "step: There is no such step."),
        ("rollback", {}, "only to a retired version can be rolled back"),
    ],
)
def test_a_step_that_cannot_be_is_told_on_the_page(
    verb: str, fields: dict[str, str], reported: str, people: People, as_person: AsPerson
) -> None:
    policy = validated(filters=["RamFilter"])

    assert reported in step(as_person(people.admin), policy, verb, **fields).text


def test_a_draft_is_deleted_and_an_active_version_is_not(people: People, as_person: AsPerson) -> None:
    draft, used = policy_create(body={}), policy_create(body={}, activate=True)
    client = as_person(people.admin)

    for policy in (draft, used):
        step(client, policy, "delete")

    assert [row.pk for row in SchedulerPolicy.objects.all()] == [used.pk]


def test_back_to_the_defaults(people: People, as_person: AsPerson) -> None:
    policy_create(body={}, activate=True)

    page = as_person(people.admin).post("/policies/defaults/", follow=True)

    assert active_id() is None
    assert "The defaults count from the next decision on." in page.text


def test_only_steps_that_are_possible_are_offered(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    policies = [policy_create(body={}), validated(), policy_create(body={}, activate=True)]

    offered = [list(client.get(f"/policies/{each.pk}/").context["steps"]) for each in policies]

    assert offered == [["validate", "delete"], ["activate", "validate", "shadow", "retire", "delete"], ["retire"]]


def test_two_versions_are_compared_setting_by_setting(people: People, as_person: AsPerson) -> None:
    old = policy_create(body={"filters": ["RamFilter", "CoreFilter"], "max_attempts": 3})
    new = policy_create(body={"filters": ["CoreFilter"], "max_attempts": 5, "options": {"max_io_ops_per_host": 2}})

    found = as_person(people.admin).get(f"/policies/compare/?old={old.pk}&new={new.pk}").context["table"]

    assert found.left_out == {"Filters": ["RamFilter"]}
    assert [(one.name, one.old, one.new) for one in found.changed] == [
        ("max_attempts", "3", "5"),
        ("max_io_ops_per_host", "8", "2"),
    ]


def test_equal_versions_do_the_same(people: People, as_person: AsPerson) -> None:
    assert "They do the same" in as_person(people.admin).get("/policies/compare/").text


@pytest.mark.parametrize(("reference", "status"), [("x", 200), ("00000000-0000-0000-0000-00000000000a", 404)])
def test_comparing_with_what_is_not_there_says_so(
    reference: str, status: int, people: People, as_person: AsPerson
) -> None:
    answer = as_person(people.admin).get(f"/policies/compare/?old={reference}")

    assert (answer.status_code, "There is no" in answer.text or "there is no" in answer.text) == (status, True)


def test_a_filter_that_moved_is_told_once_and_those_it_passed_are_not() -> None:
    found = policy_differences(Policy(filters=("A", "B", "C")), Policy(filters=("C", "A", "B")))

    assert [(one.name, one.old, one.new) for one in found] == [("C", "3 of 3", "1 of 3")]


def test_a_multiplier_is_told_beside_the_weighers_own() -> None:
    old, new = Policy(weighers=(WeigherSetting("W"),)), Policy(weighers=(WeigherSetting("W", 1_000_000.0),))

    assert [(one.old, one.new) for one in policy_differences(old, new)] == [("default", "1000000")]


def test_a_preview_comes_after_its_page(people: People, as_person: AsPerson) -> None:
    page = as_person(people.admin).get(f"/policies/{policy_create(body={}).pk}/preview/?last=7")

    assert "Running the last 7 decisions again" in page.text
    assert "found" not in page.context


def test_a_preview_says_which_decisions_would_go_elsewhere_or_fail(people: People, as_person: AsPerson) -> None:
    active(people.member, "one")
    flavor("huge", root_gib=5000)
    create(people.member, "two", flavor="huge")
    pump()
    harder = policy_create(body={"filters": ["NumInstancesFilter"], "options": {"max_instances_per_host": 0}})

    page = as_person(people.admin).get(f"/policies/{harder.pk}/preview/", headers=HTMX)

    assert [case.agreement for case in page.context["different"]] == ["would_fail"]
    assert [case.agreement for case in page.context["alike"]] == ["both_fail"]
    assert f'href="/decisions/{SchedulingDecision.objects.get(outcome="selected").pk}/"' in page.text


@pytest.mark.parametrize("last", ["0", "201", "x", "-1", "²"])
def test_a_preview_of_too_many_or_no_number_names_the_field(last: str, people: People, as_person: AsPerson) -> None:
    page = as_person(people.admin).get(f"/policies/{policy_create(body={}).pk}/preview/?now=1&last={last}")

    assert list(page.context["refused"]) == ["last"]
    assert 'aria-invalid="true"' in page.text


def test_a_preview_of_a_draft_with_problems_names_them(people: People, as_person: AsPerson) -> None:
    wrong = policy_create(body={"filters": ["NoFilter"]})

    page = as_person(people.admin).get(f"/policies/{wrong.pk}/preview/", headers=HTMX)

    assert list(page.context["refused"]) == ["filters.NoFilter"]


def test_a_preview_without_decisions_says_what_to_do(people: People, as_person: AsPerson) -> None:
    page = as_person(people.admin).get(f"/policies/{policy_create(body={}).pk}/preview/", headers=HTMX)

    assert "No decisions yet" in page.text


def seen_by(policy: SchedulerPolicy, people: People, name: str) -> None:
    """A result of a shadow that would have taken another host than was decided."""
    decision_id = active(people.member, name).decision_id
    assert decision_id is not None
    ShadowResult.objects.create(
        policy=policy,
        decision_id=decision_id,
        live_version="defaults",
        outcome="elsewhere",
        instance_count=1,
        moved_count=1,
        decided_host="h1",
        shadow_host="<i>h2",
        decided_fragmentation=0.25,
        shadow_fragmentation=0.125,
        duration_us=900,
    )


def shadow(people: People) -> SchedulerPolicy:
    policy = validated(filters=["RamFilter"])
    policy_shadow_start(policy_id=policy.pk, share=0.0)
    seen_by(policy, people, "seen")
    return policy


def test_what_a_shadow_found_is_on_its_page(people: People, as_person: AsPerson) -> None:
    policy = shadow(people)
    seen_by(policy, people, "seen-too")

    page = as_person(people.admin).get(f"/policies/{policy.pk}/").text

    for reported in ("<b>0 %</b>", "2 elsewhere", "12.5 %", "25 % as decided", "Moved winners", "&lt;i&gt;h2"):
        assert reported in page


def test_pages_of_policies_cost_the_same_with_many_versions_and_results(people: People, as_person: AsPerson) -> None:
    policy = shadow(people)
    client = as_person(people.admin)
    paths = ["/policies/", f"/policies/{policy.pk}/", "/policies/compare/", f"/policies/compare/?old={policy.pk}"]
    few = [cost(client, path) for path in paths]
    for number in range(5):
        policy_create(body={"max_attempts": number + 1})
        seen_by(policy, people, f"seen-{number}")

    assert [cost(client, path) for path in paths] == few


def cost(client: Client, path: str) -> int:
    client.get(path)
    with CaptureQueriesContext(connection) as seen:
        assert client.get(path).status_code == 200
    return len(seen)


def labels(client: Client, **query: str) -> list[str]:
    return [row.label for row in client.get("/policies/", query).context["rows"]]


def test_versions_are_searched_filtered_and_sorted_as_in_any_list(people: People, as_person: AsPerson) -> None:
    policy_create(body={}, name="p2", author="anna", activate=True)
    policy_create(body={}, name="p2", comment="spread the load")
    policy_create(body={}, name="p10")
    client = as_person(people.admin)

    assert labels(client) == ["p2-v2", "p2-v1", "p10-v1"]
    assert labels(client, sort="-version") == ["p10-v1", "p2-v2", "p2-v1"]
    assert labels(client, q="anna") == labels(client, q="P2-v1") == labels(client, state="active") == ["p2-v1"]
    assert labels(client, q="spread load") == ["p2-v2"]
    assert labels(client, q="p2-v3") == []


def test_list_of_policies_has_its_forms(people: People, as_person: AsPerson) -> None:
    made = policy_create(body={}, activate=True)
    page = as_person(people.admin).get("/policies/").text

    assert f'The scheduler follows <a href="/policies/{made.pk}/">default-v1</a>' in page
    for address in ("/policies/new/", "/policies/compare/", "/policies/defaults/"):
        assert f'action="{address}"' in page
