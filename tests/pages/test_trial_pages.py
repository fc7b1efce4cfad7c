"""Trying a request before it is made: beside the create form, and on the page that simulates."""

from collections.abc import Callable

import pytest
from django.test import Client

from controlplane.identity.domain import Caller
from placement.selectors import allocations_by_consumer
from scheduling.fleet.services.service_states import service_disable
from scheduling.policies.services.policies import policy_create
from servers.models import BuildRequest, Flavor, Image, Network, ProjectQuotaLock
from tests.worlds import networks as nets
from tests.worlds.cloud import People, active, create, flavor, host

AsPerson = Callable[[Caller], Client]
HTMX = {"HX-Request": "true"}


def form(**changes: str) -> dict[str, str]:
    fields = {"name": "", "min_count": "1", "availability_zone": "", "key_name": "", "group": "", "try": "1"}
    fields |= {"flavor": str(Flavor.objects.get(name="m1.tiny").pk), "image": str(Image.objects.get().pk)}
    return {**fields, "user_data": "", "tags": "", **changes}


def huge() -> str:
    return str(flavor("huge", vcpus=2, memory_mib=1024, root_gib=5000).pk)


def test_a_request_that_fits_is_told_to_an_admin_with_its_hosts(people: People, as_person: AsPerson) -> None:
    page = as_person(people.admin).post("/instances/create/", form(min_count="2"))

    assert {one.host for one in page.context["trial"].placed} == {"h1", "h2"}
    assert 'href="/hosts/h1/"' in page.text
    assert "hosts chosen for 2 instances" in page.text


def test_a_tenant_is_told_the_zone_and_no_host(people: People, as_person: AsPerson) -> None:
    host("secret-host")

    page = as_person(people.member).post("/instances/create/", form())

    assert "It fits" in page.text
    assert "<b>nova</b>" in page.text
    assert "secret-host" not in page.text
    assert page.context["trial"].placed == ()


def test_trying_writes_nothing(people: People, as_person: AsPerson) -> None:
    as_person(people.member).post("/instances/create/", form())

    assert (BuildRequest.objects.count(), ProjectQuotaLock.objects.count(), allocations_by_consumer()) == (0, 0, {})


def test_a_refusal_says_what_would_help(people: People, as_person: AsPerson) -> None:
    page = as_person(people.member).post("/instances/create/", form(flavor=huge()))

    assert "It does not fit" in page.text
    assert "all 2 lack disk" in page.text
    assert any("m1.tiny" in one["sentence"] for one in page.context["trial"].changes)


def test_a_tenant_is_told_no_host_by_a_refusal(people: People, as_person: AsPerson) -> None:
    host("secret-host")

    assert "secret-host" not in as_person(people.member).post("/instances/create/", form(flavor=huge())).text


def test_a_reason_that_no_change_takes_away_is_told_with_why(people: People, as_person: AsPerson) -> None:
    active(people.member, "one", min_count=2)
    policy_create(body={"filters": ["TypeAffinityFilter"]}, activate=True)
    other = str(flavor("other").pk)

    page = as_person(people.member).post("/instances/create/", form(flavor=other))

    assert [one["reason"] for one in page.context["trial"].no_changes] == ["other_flavor_on_host"]
    assert "What no change takes away" in page.text


def test_what_quota_would_refuse_is_told_beside_the_verdict(people: People, as_person: AsPerson) -> None:
    page = as_person(people.member).post("/instances/create/", form(min_count="30"))

    assert "instances: 30 asked for" in page.context["trial"].quota
    assert "Quota refuses it" in page.text


@pytest.mark.parametrize(
    ("changes", "field", "reason"),
    [
        ({"min_count": "many"}, "min_count", "Enter a whole number."),
        ({"min_count": "500"}, "min_count", "from 1 to 100"),
        ({"availability_zone": "mars"}, "availability_zone", "There is no zone"),
        ({"name": "x" * 300}, "name", "Has 300 characters"),
    ],
)
def test_what_is_wrong_is_marked_at_its_field_and_nothing_is_tried(
    changes: dict[str, str], field: str, reason: str, people: People, as_person: AsPerson
) -> None:
    page = as_person(people.member).post("/instances/create/", form(**changes))

    assert [reason in text for text in page.context["form"].errors[field]] == [True]
    assert "trial" not in page.context
    assert "Nothing was tried." in page.text


def test_the_answer_to_a_script_is_the_form_alone_with_what_was_filled_in(people: People, as_person: AsPerson) -> None:
    part = as_person(people.member).post("/instances/create/", form(min_count="2"), headers=HTMX).text

    assert part.startswith('<div id="create">')
    assert 'value="2"' in part


def test_a_form_that_was_tried_asks_for_a_name_again(people: People, as_person: AsPerson) -> None:
    tried = as_person(people.member).post("/instances/create/", form()).context["form"]

    assert tried.fields["name"].required


def test_a_reader_tries_nothing(people: People, as_person: AsPerson) -> None:
    assert as_person(people.reader).post("/instances/create/", form()).status_code == 403


def test_a_hidden_flavor_is_not_tried_for_a_tenant(people: People, as_person: AsPerson) -> None:
    hidden = flavor("hidden", is_public=False)

    page = as_person(people.member).post("/instances/create/", form(flavor=str(hidden.pk)))

    assert list(page.context["form"].errors) == ["flavor"]


def ask(client: Client, **fields: str) -> dict[str, str]:
    return {"run": "1", "flavor": str(Flavor.objects.get(name="m1.tiny").pk), **fields}


def test_the_page_that_simulates_waits_to_be_asked(people: People, as_person: AsPerson) -> None:
    page = as_person(people.admin).get("/simulate/")

    assert "No trial yet" in page.text
    assert 'aria-invalid="true"' not in page.text


def test_a_simulation_names_hosts_stages_and_scores(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)

    page = client.get("/simulate/", ask(client))

    assert page.context["trial"].fits
    assert "Scores" in page.text


def test_a_simulation_shows_the_stage_that_took_hosts_away(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    assert "All 2 hosts passed every stage." in client.get("/simulate/", ask(client)).text
    service_disable(host="h1", reason="new disks")

    page = client.get("/simulate/", ask(client)).text

    assert "passed every stage" not in page
    assert "2 → 1" in page.partition("Hosts left after each stage")[2].partition("</section>")[0]


def test_a_simulation_of_another_fleet_tells_the_present_one_too(people: People, as_person: AsPerson) -> None:
    for name in ("h1", "h2"):
        service_disable(host=name, reason="new disks")
    client = as_person(people.admin)

    trial = client.get("/simulate/", ask(client, hosts_enabled="h2")).context["trial"]

    assert ([one.host for one in trial.placed], trial.before["outcome"]) == (["h2"], "no_valid_host")


@pytest.mark.parametrize(
    "edit",
    [
        {"add_like": "h1", "add_count": "2", "count": "40"},
        {"vcpu_ratio": "16", "count": "40"},
        {"hosts_removed": "h1", "count": "1"},
    ],
)
def test_a_simulation_takes_each_kind_of_edit(edit: dict[str, str], people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    flavor("thin", vcpus=1, memory_mib=64, root_gib=0)
    thin = str(Flavor.objects.get(name="thin").pk)

    trial = client.get("/simulate/", ask(client, flavor=thin, **edit)).context["trial"]

    assert trial.fits
    assert trial.before is not None


def test_a_simulation_under_a_draft_follows_it(people: People, as_person: AsPerson) -> None:
    draft = policy_create(body={"filters": ["NumInstancesFilter"], "options": {"max_instances_per_host": 1}})
    client = as_person(people.admin)

    trial = client.get("/simulate/", ask(client, policy=str(draft.pk), count="3")).context["trial"]

    assert (trial.run["policy_version"], trial.fits, trial.before["outcome"]) == ("default-v1", False, "selected")


def test_sizes_of_ones_own_are_simulated(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    own = {"flavor": "own", "vcpus": "2", "memory_mib": "512", "extra_specs": "trait:CUSTOM_GOLD = required"}

    trial = client.get("/simulate/", ask(client, **own)).context["trial"]

    assert not trial.fits
    assert "lack trait CUSTOM_GOLD" in trial.run["verdict"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"hosts_enabled": "h9"}, "hosts_enabled"),
        ({"add_like": "h9"}, "add_like"),
        ({"add_count": "2"}, "add_like"),
        ({"flavor": "own"}, "vcpus"),
        ({"flavor": "own", "vcpus": "1", "memory_mib": "1", "extra_specs": "no sign"}, "extra_specs"),
        ({"vcpu_ratio": "-1"}, "vcpu_ratio"),
        ({"vcpu_ratio": "2", "ratio_hosts": "h9"}, "ratio_hosts"),
        ({"count": "101"}, "count"),
        ({"availability_zone": "mars"}, "availability_zone"),
        ({"host": "h9"}, "host"),
        ({"policy": "x"}, "policy"),
        ({"seed": "-1"}, "seed"),
    ],
)
def test_an_edit_that_cannot_be_is_refused_at_its_field(
    fields: dict[str, str], field: str, people: People, as_person: AsPerson
) -> None:
    client = as_person(people.admin)

    page = client.get("/simulate/", ask(client, **fields))

    assert field in page.context["form"].errors
    assert "trial" not in page.context
    assert "Nothing was tried." in page.text


@pytest.fixture
def carrier(people: People) -> Network:
    """A network of the admin's project, which only the host `carrier` carries."""
    host("carrier", traits=nets.CARRIES)
    nets.network("other", project_id=people.admin.project_id)
    return nets.network("lan", project_id=people.admin.project_id)


def test_a_simulation_judges_hosts_by_the_networks(people: People, as_person: AsPerson, carrier: Network) -> None:
    client = as_person(people.admin)
    port = nets.port(carrier, name="given", project_id=people.admin.project_id, owner="")

    def hosts(**cards: str) -> set[str]:
        return {one["host"] for one in client.get("/simulate/", ask(client, **cards)).context["trial"].run["scores"]}

    assert hosts() == hosts(no_network="on") == {"h1", "h2", "carrier"}
    assert hosts(networks=str(carrier.pk)) == hosts(ports="given") == hosts(ports=str(port.pk)) == {"carrier"}


@pytest.mark.parametrize(
    ("cards", "field", "reason"),
    [
        ({"ports": "nowhere"}, "networks", "There is no port"),
        ({"networks": "00000000-0000-0000-0000-000000000000"}, "networks", "is not one of the available choices"),
        ({"ports": "given", "no_network": "on"}, "no_network", "Cards are chosen above"),
    ],
)
def test_a_simulation_refuses_cards_that_cannot_be(
    cards: dict[str, str], field: str, reason: str, people: People, as_person: AsPerson, carrier: Network
) -> None:
    client = as_person(people.admin)

    page = client.get("/simulate/", ask(client, **cards))

    assert "trial" not in page.context
    assert [reason in text for text in page.context["form"].errors[field]] == [True]
    assert "open><summary>Networks" in page.text


def test_the_trial_of_a_create_goes_by_its_networks(people: People, as_person: AsPerson, carrier: Network) -> None:
    page = as_person(people.admin).post("/instances/create/", {**form(), "networks": str(carrier.pk)})

    assert [one.host for one in page.context["trial"].placed] == ["carrier"]
    assert f"networks={carrier.pk}" in page.context["trial_query"]


def test_one_host_is_asked_about(people: People, as_person: AsPerson) -> None:
    service_disable(host="h2", reason="new disks")
    client = as_person(people.admin)

    page = client.get("/simulate/", ask(client, host="h2"))

    assert page.context["trial"].host["result"] == "refused"
    assert "Enable h2" in page.text


def test_the_link_from_a_trial_shows_the_same_request(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    query = client.post("/instances/create/", form(min_count="3")).context["trial_query"]

    asked = client.get(f"/simulate/?{query}").context["form"]

    assert (asked["count"].value(), asked["flavor"].value()) == ("3", form()["flavor"])


def test_hostile_names_are_escaped(people: People, as_person: AsPerson) -> None:
    flavor("<script>alert(1)</script>", root_gib=5000)
    client = as_person(people.admin)

    reported = client.get("/simulate/", {"run": "1", "hosts_enabled": "<script>h"}).text
    bad = str(Flavor.objects.get(root_gib=5000).pk)
    reported += client.get("/simulate/", ask(client, flavor=bad)).text

    assert "<script>alert" not in reported
    assert "<script>h" not in reported


def test_a_create_after_a_trial_still_works(people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)
    client.post("/instances/create/", form())

    assert create(people.member, "real")[0].name == "real"
