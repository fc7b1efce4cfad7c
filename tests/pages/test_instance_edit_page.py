"""The page on which an instance is renamed, described, tagged."""

from collections.abc import Callable

import pytest
from django.test import Client

from controlplane.identity.domain import Caller
from servers.instances.selectors.instances import instance_details
from servers.instances.services.update import instance_update
from servers.models import Instance
from tests.worlds.cloud import People, active, instance_of

AsPerson = Callable[[Caller], Client]


def form(instance: Instance, **changes: str) -> dict[str, str]:
    """What a browser sends of the form as it is shown, with these changes."""
    now = instance_details(instance)
    fields = {"name": now.name, "description": now.description, "etag": now.etag, "tags": ", ".join(now.tags)}
    fields["hostname"] = now.hostname
    fields["metadata"] = "\r\n".join(f"{key} = {value}" for key, value in now.metadata.items())
    return {**fields, **changes}


def test_form_changes_all_and_the_instance_page_shows_them(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)
    url = f"/instances/{instance.pk}/"
    sent = form(
        instance,
        name="db",
        hostname="db-1",
        description="Main\r\ndatabase",
        metadata="role = db\r\n\r\n a=1=2",
        tags="b, a,",
    )
    answer = as_person(people.member).post(f"{url}edit/", sent, follow=True)
    assert answer.redirect_chain == [(url, 302)]
    assert "db was changed." in answer.text
    row = instance_of(instance.pk)
    assert (row.name, row.hostname, row.description) == ("db", "db-1", "Main\ndatabase")
    assert row.metadata == {"role": "db", "a": "1=2"}
    for shown in ("Main<br>database", "<dd>a, b</dd>", '<span class="mono">role</span> = db'):
        assert shown in answer.text
    assert f'href="{url}edit/"' in answer.text


@pytest.mark.parametrize(
    ("changes", "field", "reason"),
    [
        ({"name": "x" * 300}, "name", "Has 300 characters"),
        ({"metadata": "role"}, "metadata", "Line 1 is not of the form key = value."),
        ({"metadata": "a = 1\na = 2"}, "metadata", "Line 2 has the key a once more."),
        ({"metadata": "a/b = 1"}, "metadata", "letters, digits, spaces"),
        ({"tags": "a/b"}, "tags", "must not contain a slash"),
    ],
)
def test_wrong_field_is_marked_and_nothing_changed(
    changes: dict[str, str], field: str, reason: str, people: People, as_person: AsPerson
) -> None:
    instance = active(people.member)
    sent = form(instance, **{"name": "db", **changes})
    answer = as_person(people.member).post(f"/instances/{instance.pk}/edit/", sent)
    assert reason in str(answer.context["form"].errors[field])
    assert "Nothing was changed." in answer.text
    assert instance_of(instance.pk).name == "vm"


def test_somebody_elses_change_is_shown_and_replaced_only_when_sent_again(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)
    sent = form(instance, name="mine")
    instance_update(caller=people.admin, instance_id=instance.pk, changes={"name": "theirs", "tags": ["t"]})
    client, url = as_person(people.member), f"/instances/{instance.pk}/edit/"
    answer = client.post(url, sent)
    assert "Somebody else changed it while this form was open" in answer.text
    assert "<dd>theirs</dd>" in answer.text
    assert 'value="mine"' in answer.text
    assert instance_of(instance.pk).name == "theirs"
    again = {**sent, "etag": instance_details(instance_of(instance.pk)).etag}
    assert f'value="{again["etag"]}"' in answer.text
    client.post(url, again)
    assert instance_of(instance.pk).name == "mine"


def test_keys_that_no_line_can_show_stay_as_they_are(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)
    odd = {" ": "space", "a": "1", "a ": "2"}
    instance_update(caller=people.member, instance_id=instance.pk, changes={"metadata": odd})
    now = instance_of(instance.pk)
    page = as_person(people.member).get(f"/instances/{instance.pk}/edit/").text
    assert ">\na = 1</textarea>" in page
    as_person(people.member).post(f"/instances/{instance.pk}/edit/", form(now, name="new", metadata="a = 3"))
    assert (instance_of(instance.pk).name, instance_of(instance.pk).metadata) == ("new", {**odd, "a": "3"})


def test_values_that_a_line_cannot_show_stay_where_their_line_was_left_alone(
    people: People, as_person: AsPerson
) -> None:
    instance = active(people.member)
    odd = {"poem": "roses\nviolets", " k ": "v  w"}
    instance_update(caller=people.member, instance_id=instance.pk, changes={"metadata": odd})
    now = instance_of(instance.pk)
    lines = "k = v w\r\npoem = roses violets\r\nnew = 1"
    as_person(people.member).post(f"/instances/{instance.pk}/edit/", form(now, metadata=lines))
    assert instance_of(instance.pk).metadata == {**odd, "new": "1"}


def test_who_may_not_edit_gets_no_form_and_markup_stays_text(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)
    url = f"/instances/{instance.pk}/edit/"
    assert as_person(people.reader).get(url).status_code == 403
    assert as_person(people.stranger).get(url).status_code == 404
    assert 'id="edit"' not in as_person(people.reader).get(f"/instances/{instance.pk}/").text
    instance_update(caller=people.member, instance_id=instance.pk, changes={"metadata": {"k": "<script>x</script>"}})
    for path in (url, f"/instances/{instance.pk}/"):
        text = as_person(people.member).get(path).text
        assert "<script>x" not in text
        assert "&lt;script&gt;x" in text
