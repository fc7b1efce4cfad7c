"""Instances on their pages: creating, the live parts, what is told of a failure."""

import base64
from collections.abc import Callable

import pytest
from django.test import Client

from controlplane.dashboard.instances.console_text import printable_text
from controlplane.identity.domain import Caller
from servers.instances.services.delete import instance_delete
from servers.models import ConsoleLog, Flavor, Image, Instance
from tests.worlds.cloud import People, active, create, finish_builds, pump

AsPerson = Callable[[Caller], Client]
HTMX = {"HX-Request": "true"}


def form(**changes: str) -> dict[str, str]:
    fields = {"name": "web", "min_count": "1", "availability_zone": "", "key_name": "", "group": ""}
    fields |= {"flavor": str(Flavor.objects.get(name="m1.tiny").pk), "image": str(Image.objects.get().pk)}
    return {**fields, "user_data": "", "tags": "", **changes}


def test_a_created_instance_has_a_page_that_says_it_is_being_built(people: People, as_person: AsPerson) -> None:
    answer = as_person(people.member).post("/instances/create/", form(), follow=True)

    assert answer.redirect_chain[0][0].startswith("/instances/")
    assert "web requested." in answer.text
    assert "Choosing a host" in answer.text


def test_a_batch_goes_to_the_list_and_names_its_first_and_last(people: People, as_person: AsPerson) -> None:
    answer = as_person(people.member).post("/instances/create/", form(min_count="3"), follow=True)

    assert answer.redirect_chain == [("/instances/", 302)]
    assert "3 instances, web-1 to web-3, requested." in answer.text


def test_user_data_and_tags_are_passed_on(people: People, as_person: AsPerson) -> None:
    as_person(people.member).post("/instances/create/", form(user_data="#!/bin/sh\necho hi", tags="blue, green,"))
    pump()

    assert sorted(one.tag for one in Instance.objects.get().tags.all()) == ["blue", "green"]


@pytest.mark.parametrize(
    ("changes", "field", "reason"),
    [
        ({"name": ""}, "name", "This field is required."),
        ({"name": "x" * 300}, "name", "Has 300 characters"),
        ({"min_count": "-2"}, "min_count", "the least is 1"),
        ({"min_count": "many"}, "min_count", "Enter a whole number."),
        ({"availability_zone": "mars"}, "availability_zone", "There is no zone"),
        ({"flavor": "nonsense"}, "flavor", "not one of the available choices"),
    ],
)
def test_a_wrong_field_is_marked_and_nothing_is_created(
    changes: dict[str, str], field: str, reason: str, people: People, as_person: AsPerson
) -> None:
    answer = as_person(people.member).post("/instances/create/", form(**changes))

    assert [reason in text for text in answer.context["form"].errors[field]] == [True]
    assert list(answer.context["form"].errors) == [field]
    assert f'aria-describedby="id_{field}_' in answer.text
    assert "Nothing was created." in answer.text
    assert create(people.member, "only")[0].name == "only"
    assert Instance.objects.count() == 0


def test_an_error_among_the_rarer_fields_unfolds_them(people: People, as_person: AsPerson) -> None:
    answer = as_person(people.member).post("/instances/create/", form(hints="same_host = none"))

    assert '<details class="more" id="more" open>' in answer.text


def test_too_many_for_the_quota_is_told_with_numbers(people: People, as_person: AsPerson) -> None:
    answer = as_person(people.member).post("/instances/create/", form(min_count="50"))

    assert answer.context["form"].non_field_errors() == [
        "Over quota: instances: 50 asked for, 0 of 20 in use. cores: 50 asked for, 0 of 40 in use."
    ]


def test_only_an_admin_is_told_how_to_force_a_host(people: People, as_person: AsPerson) -> None:
    reported = [
        ("Forced host" in as_person(one).get("/instances/create/").text) for one in (people.admin, people.member)
    ]

    assert reported == [True, False]


def test_without_an_image_the_form_says_what_is_missing(people: People, as_person: AsPerson) -> None:
    Image.objects.update(status="queued")

    page = as_person(people.member).get("/instances/create/").text
    assert "There is no active image" in page
    assert 'href="/images/new/"' in page


def test_the_list_asks_often_only_while_something_changes(people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)
    create(people.member)
    during = client.get("/instances/", headers=HTMX).text
    pump()
    finish_builds()

    assert 'data-live="2"' in during
    assert 'data-live="30"' in client.get("/instances/", headers=HTMX).text


def test_the_page_asks_often_only_while_the_instance_changes(people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)
    made = create(people.member)[0]
    during = client.get(f"/instances/{made.pk}/", headers=HTMX).text
    pump()
    finish_builds()
    after = client.get(f"/instances/{made.pk}/", headers=HTMX).text

    assert 'data-live="1" data-quiet="5"' in during
    assert 'data-live="30" data-quiet="30"' in after
    assert "<html" not in after


def test_a_change_of_status_is_announced_once(people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)
    instance = active(people.member, "web")

    assert "web is now ACTIVE" in client.get(f"/instances/{instance.pk}/?seen=BUILD", headers=HTMX).text
    assert "is now" not in client.get(f"/instances/{instance.pk}/?seen=ACTIVE", headers=HTMX).text


def test_the_live_part_of_an_instance_that_is_gone_says_so_and_stops_asking(
    people: People, as_person: AsPerson
) -> None:
    instance = active(people.member)
    instance_delete(caller=people.member, instance_id=instance.pk)
    Instance.objects.filter(pk=instance.pk).update(deleted_at=instance.created_at)

    answer = as_person(people.member).get(f"/instances/{instance.pk}/", headers=HTMX)

    assert answer.status_code == 286
    assert "It is deleted" in answer.text


def test_a_page_and_its_live_part_are_not_taken_for_each_other_by_a_cache(people: People, as_person: AsPerson) -> None:
    answer = as_person(people.member).get("/instances/")

    assert "HX-Request" in answer.headers["Vary"]
    assert "no-store" in answer.headers["Cache-Control"]


def test_the_console_is_sent_again_only_when_it_grew(people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)
    instance = active(people.member)
    ConsoleLog.objects.update_or_create(pk=instance.pk, defaults={"output": "hello\n"})
    first = client.get(f"/instances/{instance.pk}/console/", headers=HTMX)
    seen = {"seen": first.context["console_digest"]}
    same = client.get(f"/instances/{instance.pk}/console/", seen, headers=HTMX)
    ConsoleLog.objects.filter(pk=instance.pk).update(output="hello\nagain\n")
    grown = client.get(f"/instances/{instance.pk}/console/", seen, headers=HTMX)

    assert [one.status_code for one in (first, same, grown)] == [200, 204, 200]
    assert "again" in grown.text


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("plain\n\ttext", "plain\n\ttext"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("hello:/# \x1b[6n", "hello:/# "),
        ("\x1b]0;title\x07shell", "shell"),
        ("a\r\nb\rc", "a\nbc"),
        ("bell\x07 and nul\x00", "bell and nul"),
        ("cut off \x1b[", "cut off "),
        ("\x1b(Bumlaut \u00e4", "umlaut \u00e4"),
    ],
)
def test_control_sequences_of_a_terminal_are_left_out(written: str, shown: str) -> None:
    assert printable_text(written) == shown


def test_user_data_typed_into_a_browser_keeps_unix_line_ends(people: People, as_person: AsPerson) -> None:
    as_person(people.member).post("/instances/create/", form(user_data="#!/bin/sh\r\necho hi\r\n"))
    pump()

    assert base64.b64decode(Instance.objects.get().user_data) == b"#!/bin/sh\necho hi\n"


def test_what_a_guest_writes_is_shown_as_text(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)
    ConsoleLog.objects.update_or_create(pk=instance.pk, defaults={"output": "<script>alert(1)</script>"})

    page = as_person(people.member).get(f"/instances/{instance.pk}/console/").text

    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_an_action_that_is_not_possible_now_is_told_on_the_page(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)

    page = as_person(people.member).post(f"/instances/{instance.pk}/act/", {"action": "start"}, follow=True)

    assert page.status_code == 200
    assert "notice bad" in page.text


def test_a_reader_sees_no_buttons(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)

    page = as_person(people.reader).get(f"/instances/{instance.pk}/").text

    assert ("Delete" in page, f"/instances/{instance.pk}/act/" in page) == (False, False)


def test_a_filter_that_nothing_matches_offers_the_way_back(people: People, as_person: AsPerson) -> None:
    active(people.member)

    assert "Nothing matches the filters" in as_person(people.member).get("/instances/?name=zzz").text
