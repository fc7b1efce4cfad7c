"""Advice about an instance that found no host leads admins to forms that are filled in with it, and does nothing."""

import html
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpRequest
from django.test import Client, RequestFactory

from controlplane.dashboard.instances.advice_forms import AdviceForm, advice_forms
from controlplane.identity.domain import Caller
from controlplane.identity.models import User
from placement.models import Inventory
from scheduling.domain.policy import policy_to_dict
from scheduling.fleet.services.aggregates import aggregate_create_whole
from scheduling.models import Aggregate, AggregateHost, ComputeNode, SchedulerPolicy
from scheduling.policies.selectors.policies import policy_active
from scheduling.policies.services.policies import policy_create
from servers.models import Flavor
from servers.trials.next_steps import NextStep, StepKind
from tests.worlds.cloud import People, create, flavor, pump

AsPerson = Callable[[Caller], Client]


def asked(caller: Caller, *, is_staff: bool = False) -> HttpRequest:
    request = RequestFactory().get("/")
    request.user = User.objects.get(pk=caller.user_id)
    request.user.is_staff = request.user.is_superuser = is_staff
    return request


def forms_for(caller: Caller, *, is_staff: bool = False, **trial: Any) -> list[AdviceForm]:
    step = NextStep(StepKind.ADVICE, "change it", trial=trial)
    return advice_forms(asked(caller, is_staff=is_staff), step)


def edits_of_aggregate(name: str, **more: Any) -> dict[str, Any]:
    return {"aggregates": [{"name": name, "metadata": {}, "hosts_added": [], "hosts_removed": []} | more]}


def test_flavor_inside_which_something_changes_is_a_filled_form(people: People, as_person: AsPerson) -> None:
    flavor("gpu", extra_specs={"trait:CUSTOM_GPU": "required", "hw:cpu_policy": "shared"})
    made = create(people.member, flavor="gpu")[0]
    pump()
    client, path = as_person(people.admin), f"/instances/{made.pk}/next/"
    links = re.findall(r'href="(/flavors/new/[^"]*)">Create such a flavor', client.get(path).text)
    assert links
    form = client.get(html.unescape(links[0])).text
    assert 'value="gpu-copy"' in form
    assert 'value="hw:cpu_policy"' in form
    assert 'value="trait:CUSTOM_GPU"' not in form
    assert Flavor.objects.filter(name="gpu-copy").count() == 0
    for other in (people.member, people.reader):
        assert "Create such a flavor" not in as_person(other).get(path).text


def test_aggregate_is_edited_as_advised_and_saved_only_by_a_press(people: People, as_person: AsPerson) -> None:
    aggregate = aggregate_create_whole(name="rack 1", metadata={"ssd": "true", "old": "x"}, hosts=("h1",))
    metadata = {"ssd": "false", "old": None, "availability_zone": "az1"}
    (found,) = forms_for(
        people.admin,
        edits=edits_of_aggregate("rack 1", metadata=metadata, hosts_added=["h2"], hosts_removed=["h1"]),
    )
    assert found.label == "Edit the aggregate rack 1 so"

    page = as_person(people.admin).get(found.path)

    editor = page.context["editor"]
    assert (editor.then, editor.zone, editor.pairs) == ({"h2"}, "az1", [("ssd", "false")])
    assert "filled in as the advice says" in page.text
    stored = Aggregate.objects.get(pk=aggregate.pk)
    assert stored.metadata == {"ssd": "true", "old": "x"}
    assert list(AggregateHost.objects.values_list("host", flat=True)) == ["h1"]


def test_aggregate_form_without_a_proposal_is_as_it_is_stored(people: People, as_person: AsPerson) -> None:
    aggregate = aggregate_create_whole(name="rack", metadata={"ssd": "true"}, hosts=("h1",))
    page = as_person(people.admin).get(f"/aggregates/{aggregate.pk}/edit/?add=h1&spec_key=ssd&spec_value=true")
    assert (page.context["editor"].then, page.context["notice"]) == ({"h1"}, "")


def test_policy_becomes_a_draft_with_what_changes_and_no_more(people: People, as_person: AsPerson) -> None:
    active = policy_create(body={"filters": ["ComputeFilter", "RamFilter"]}, name="mine", activate=True)
    body = policy_to_dict(policy_active())
    wanted = {**body, "filters": ["ComputeFilter"], "options": {**body["options"], "max_instances_per_host": 77}}
    (found,) = forms_for(people.admin, edits={"policy": wanted})

    answer = as_person(people.admin).post(found.path, dict(found.fields), follow=True)

    made = SchedulerPolicy.objects.exclude(pk=active.pk).get()
    assert answer.redirect_chain == [(f"/policies/{made.pk}/edit/", 302)]
    assert (made.label, made.state, made.comment) == ("mine-v2", "draft", "change it")
    options = {**active.body["options"], "max_instances_per_host": 77}
    assert made.body == {**active.body, "filters": ["ComputeFilter"], "options": options}
    changes = json.loads(dict(found.fields)["changes"])
    assert changes == {"filters": ["ComputeFilter"], "options": {"max_instances_per_host": 77}}


@pytest.mark.parametrize("changes", ["{", "[]", "3"])
def test_changes_that_are_none_make_no_draft(people: People, as_person: AsPerson, changes: str) -> None:
    data = {"copy_of": "defaults", "name": "x", "changes": changes}
    assert as_person(people.admin).post("/policies/new/", data).status_code == 400
    assert not SchedulerPolicy.objects.exists()


def test_overcommit_is_set_in_the_admin_by_whoever_may(people: People, as_person: AsPerson) -> None:
    edits = {"allocation_ratios": [{"resource_class": "VCPU", "ratio": 3.5, "hosts": ["h1"]}]}
    assert forms_for(people.admin, edits=edits) == []
    (found,) = forms_for(people.admin, is_staff=True, edits=edits)
    assert found.label == "Set the overcommit of VCPU on h1"
    User.objects.filter(pk=people.admin.user_id).update(is_staff=True, is_superuser=True)

    page = as_person(people.admin).get(found.path).text

    assert re.search(r'name="allocation_ratio" value="3\.5"', page)
    node = ComputeNode.objects.get(host="h1")
    stored = Inventory.objects.get(provider__name=node.hypervisor_hostname, resource_class__name="VCPU")
    assert stored.allocation_ratio != 3.5
    for wrong in ("nan", "-1", "x", "1e99"):
        shown = as_person(people.admin).get(found.path.partition("?")[0], {"allocation_ratio": wrong}).text
        assert f'value="{stored.allocation_ratio}"' in shown


def test_what_has_no_form_leads_to_its_host_or_nowhere(people: People) -> None:
    freed = {"freed": [{"host": "h2", "resource_class": "VCPU", "amount": 1}], "hosts_up": ["h1"]}
    assert [one.path for one in forms_for(people.admin, edits=freed)] == ["/hosts/h1/", "/hosts/h2/"]
    assert forms_for(people.admin) == []
    assert forms_for(people.admin, edits=edits_of_aggregate("gone")) == []
