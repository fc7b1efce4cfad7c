"""The create form answers while one types, keeps what was typed, and adds a key pair on the spot."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.identity.domain import Caller
from controlplane.infra.answer_budget import answer_budget
from placement.selectors import allocations_by_consumer
from servers.models import BuildRequest, Flavor, Image, KeyPair, RequestSpec
from servers.trials.create_answer import create_answer
from tests.worlds.cloud import People, active, flavor, host

AsPerson = Callable[[Caller], Client]
HTMX = {"HX-Request": "true"}


def form(**changes: Any) -> dict[str, Any]:
    fields = {"name": "", "min_count": "1", "availability_zone": "", "key_name": "", "group": "", "tags": ""}
    fields |= {"flavor": str(Flavor.objects.get(name="m1.tiny").pk), "image": str(Image.objects.get().pk)}
    return {**fields, "user_data": "", **changes}


def answer(client: Client, **changes: Any) -> Any:
    return client.post("/instances/create/answer/", form(**changes), headers=HTMX)


def test_an_admin_is_told_how_many_hosts_and_the_best(people: People, as_person: AsPerson) -> None:
    host("h3")

    found = answer(as_person(people.admin))

    assert "Fits on 3 hosts" in found.text
    assert found.context["answer"].best in {"h1", "h2", "h3"}


def test_a_member_is_told_the_number_and_the_zone_and_no_host(people: People, as_person: AsPerson) -> None:
    host("secret-host")

    found = answer(as_person(people.member))

    assert "Fits on 3 hosts" in found.text
    assert "<b>nova</b>" in found.text
    assert "secret-host" not in found.text
    assert found.context["answer"].best == ""


def test_why_not_is_told_and_nothing_is_written(people: People, as_person: AsPerson) -> None:
    found = answer(as_person(people.member), flavor=str(flavor("huge", root_gib=5000).pk))

    assert "Does not fit" in found.text
    assert "No host fits: all 2 lack disk" in found.text
    assert "h1" not in found.text
    assert (BuildRequest.objects.count(), allocations_by_consumer()) == (0, {})


def test_what_is_missing_or_wrong_is_said_by_its_label(people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)

    assert "Availability zone: There is no zone" in answer(client, availability_zone="mars").text
    assert "How many: " in answer(client, min_count="many").text
    assert "Scheduler hints: " in answer(client, hints="same_host = none").text
    assert "Quota refuses it" in answer(client, min_count="30").text


def test_what_no_decision_depends_on_is_not_answered_again(people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)
    digest = answer(client).context["digest"]

    assert answer(client, answered=digest, name="other").status_code == 204
    assert answer(client, answered=digest, min_count="2").status_code == 200


def test_a_project_that_used_up_its_answers_is_asked_to_wait(
    people: People, as_person: AsPerson, settings: Any
) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "ANSWER_SECONDS_A_MINUTE": 0.000001}
    client = as_person(people.member)

    first, second = answer(client), answer(client)

    assert "Fits on" in first.text
    assert "It is asked again in" in second.text
    assert second.status_code == 200


def test_one_answer_at_a_time_for_a_project(people: People, as_person: AsPerson) -> None:
    with answer_budget.spend(f"answer:{people.member.project_id}", seconds_a_minute=60):
        assert "It is asked again in" in answer(as_person(people.member)).text
        assert "Fits on" in answer(as_person(people.stranger)).text


def test_an_answer_costs_as_many_queries_with_more_hosts_and_flavors(people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)
    answer(client)
    answer(client)
    with CaptureQueriesContext(
        connection,
    ) as few:
        answer(client)
    for number in range(20):
        host(f"more-{number:02}")
        flavor(f"f-{number}")
    answer(client)
    with CaptureQueriesContext(connection) as many:
        answer(client)
    assert len(many) == len(few)


def test_readers_and_strangers(people: People, as_person: AsPerson) -> None:
    hidden = flavor("hidden", is_public=False)

    assert answer(as_person(people.reader)).status_code == 403
    assert "Flavor: " in answer(as_person(people.member), flavor=str(hidden.pk)).text
    assert create_answer is not None


def test_flavors_that_fit_nowhere_say_so_in_the_choice(people: People, as_person: AsPerson) -> None:
    flavor("huge", root_gib=5000)
    flavor("gpu", extra_specs={"trait:CUSTOM_GPU": "required"})

    page = as_person(people.member).get("/instances/create/")

    labels = dict(page.context["form"].fields["flavor"].choices).values()
    assert sorted(one.partition(":")[0] for one in labels if "fits on no host now" in one) == ["gpu", "huge"]


def test_zones_are_a_choice_and_admins_may_force_a_host(people: People, as_person: AsPerson) -> None:
    zones = as_person(people.member).get("/instances/create/").context["form"].fields["availability_zone"].choices
    assert zones == [("", "any"), ("nova", "nova")]

    as_person(people.admin).post("/instances/create/", form(name="here", availability_zone="nova", force="h2"))

    assert RequestSpec.objects.get().typed_body.force_host == "h2"


def test_hints_are_taken(people: People, as_person: AsPerson) -> None:
    first = active(people.member, "first")

    as_person(people.member).post("/instances/create/", form(name="apart", hints=f"different_host = {first.pk}"))

    spec = RequestSpec.objects.exclude(instance_uuid=first.pk).get()
    assert spec.typed_body.hints == {"different_host": (str(first.pk),)}


def test_a_key_pair_is_made_on_the_spot_and_what_was_typed_stays(people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)
    page = client.post("/instances/create/", form(name="web", min_count="3", new_key_name="mine", add_key="1"))

    assert "PRIVATE KEY" in page.text
    assert (page.context["form"]["name"].value(), page.context["form"]["key_name"].value()) == ("web", "mine")
    assert KeyPair.objects.get().name == "mine"
    assert BuildRequest.objects.count() == 0

    again = client.post("/instances/create/", form(new_key_name="mine", add_key="1"))
    assert "already" in again.text
    assert KeyPair.objects.count() == 1


@pytest.mark.parametrize("text", ["#cloud-config\na: {b", "#!sh\nls"])
def test_user_data_that_cannot_work_is_refused_once(text: str, people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)

    assert "User data" in answer(client, user_data=text).text
    assert "Fits on" in answer(client, user_data=text).text
    page = client.post("/instances/create/", form(name="web", user_data=text))
    assert list(page.context["form"].errors) == ["user_data"]
    assert BuildRequest.objects.count() == 0

    assert client.post("/instances/create/", form(name="web", user_data=text, user_data_as_is="on")).status_code == 302
    assert BuildRequest.objects.count() == 1


def test_a_change_that_would_help_is_a_button_and_is_tried(people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)
    tried = client.post("/instances/create/", form(flavor=str(flavor("huge", root_gib=5000).pk), **{"try": "1"}))
    value = next(apply for one, apply in tried.context["trial_helps"] if apply)

    page = client.post("/instances/create/", form(flavor=str(Flavor.objects.get(name="huge").pk), apply=value))

    assert "It fits" in page.text
    assert page.context["form"]["flavor"].value() == str(Flavor.objects.get(name="m1.tiny").pk)
    assert client.post("/instances/create/", form(apply="nonsense")).status_code == 200


def test_the_page_asks_by_itself_and_works_without(people: People, as_person: AsPerson) -> None:
    page = as_person(people.member).get("/instances/create/").text

    assert 'hx-post="/instances/create/answer/"' in page
    assert 'name="try"' in page


def test_a_host_that_an_admin_names_is_the_one_that_is_judged(people: People, as_person: AsPerson) -> None:
    host("h3")
    admin = as_person(people.admin)

    assert "Fits on 1 host" in answer(admin, host="h3").text
    assert answer(admin, hypervisor_hostname="h2").context["answer"].best == "h2"
    assert "could not be found" in answer(admin, host="h9").text
