"""Webhooks in the panel: made, tried, their deliveries with the last answers, sent again; for admins alone."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from controlplane.identity.domain import Caller
from controlplane.notifications.fan_out import events_fan_out
from controlplane.notifications.models import Delivery, DeliveryAttempt, DeliveryState, Webhook
from controlplane.notifications.outbox import events_write
from controlplane.notifications.secret_encryption import secret_decrypt
from controlplane.notifications.sender import webhook_drain
from controlplane.notifications.serializer import Event
from controlplane.notifications.webhooks import webhook_create
from tests.fixtures.receivers import Receiver
from tests.worlds.cloud import People

AsPerson = Callable[[Caller], Client]
PERSONS = ("admin", "member", "reader", "stranger")
SECRET = "0123456789abcdef-secret"
FORM = {
    "name": "lab",
    "url": "https://example.org/",
    "events": "instance.*\n*.error",
    "secret": SECRET,
    "enabled": "on",
}


def webhook(name: str = "lab", url: str = "https://example.org/") -> Webhook:
    return webhook_create(name=name, url=url, events=["instance.*"], secret=SECRET)


def deliveries(count: int = 1) -> list[Delivery]:
    """Of so many new events, to all webhooks."""
    events_write([Event("instance.create.end", "nova-compute:h1", {"a": 1}, timezone.now()) for _ in range(count)])
    events_fan_out()
    return list(Delivery.objects.all())


def test_a_webhook_is_made_and_changed_and_its_secret_is_never_shown(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)

    client.post("/webhooks/new/", FORM)
    made = Webhook.objects.get()
    path = f"/webhooks/{made.pk}/"
    client.post(f"{path}edit/", {"url": "https://example.org/two", "events": "*", "secret": ""})
    seen = client.get(path).text + client.get(f"{path}edit/").text + client.get("/webhooks/").text

    made.refresh_from_db()
    assert (made.url, made.events, made.enabled) == ("https://example.org/two", ["*"], False)
    assert secret_decrypt(made.encrypted_secret) == SECRET
    assert SECRET not in seen
    assert "disabled" in seen


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("url", "ftp://x", "A URL begins with http://"),
        ("url", "http://127.0.0.1/", "Nothing is sent there"),
        ("secret", "short", "A secret has 16 to 200 characters"),
        ("events", " \n ", "This field is required"),
    ],
)
def test_what_cannot_be_is_refused_at_its_field(
    field: str, value: str, said: str, people: People, as_person: AsPerson
) -> None:
    page = as_person(people.admin).post("/webhooks/new/", {**FORM, field: value}).text

    assert said in page
    assert 'value="lab"' in page
    assert not Webhook.objects.exists()


def test_a_name_that_is_taken_is_refused(people: People, as_person: AsPerson) -> None:
    webhook()

    assert "There is a webhook" in as_person(people.admin).post("/webhooks/new/", FORM).text


def test_deliveries_show_the_last_answer_and_how_many_were_given_up(people: People, as_person: AsPerson) -> None:
    client, hook = as_person(people.admin), webhook()
    (one,) = deliveries()
    for number, status, said in ((1, 503, "later"), (2, 500, "<b>no")):
        DeliveryAttempt.objects.create(delivery=one, number=number, duration_ms=5, status=status, answer=said)
    Delivery.objects.update(state=DeliveryState.FAILED, error="the receiver answered 500")

    listed, page = client.get("/webhooks/").text, client.get(f"/webhooks/{hook.pk}/").text
    detail = client.get(f"/webhooks/deliveries/{one.pk}/").text

    assert f'href="/webhooks/{hook.pk}/?state=failed">1</a>' in listed
    assert re.search(r'<span class="pill bad">500</span>', listed)
    assert "&lt;b&gt;no" in page
    assert ("later" in page, "later" in detail, "503" in detail) == (False, True, True)
    assert "&quot;event_type&quot;: &quot;instance.create.end&quot;" in detail


def test_deliveries_are_filtered_by_state(people: People, as_person: AsPerson) -> None:
    client, hook = as_person(people.admin), webhook()
    first, _ = deliveries(2)
    Delivery.objects.filter(pk=first.pk).update(state=DeliveryState.DONE)

    page = client.get(f"/webhooks/{hook.pk}/?state=done").text

    assert re.findall(r'href="/webhooks/deliveries/([^/]+)/"', page) == [str(first.pk)]
    assert client.get(f"/webhooks/{hook.pk}/?state=nonsense").status_code == 200


def test_a_delivery_is_sent_again_by_hand(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    webhook()
    (one,) = deliveries()
    Delivery.objects.update(state=DeliveryState.FAILED)

    answer = client.post(f"/webhooks/deliveries/{one.pk}/resend/", follow=True)

    assert "It is sent again." in answer.text
    assert Delivery.objects.get().state == DeliveryState.WAITING


@pytest.mark.django_db(transaction=True)
def test_a_test_reaches_the_receiver_and_its_answer_is_shown(
    people: People, as_person: AsPerson, receiver: Receiver, settings: Any
) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "NOTIFICATION_ALLOWED_NETWORKS": ("127.0.0.1",)}
    client, hook = as_person(people.admin), webhook(url=receiver.url)

    there = client.post(f"/webhooks/{hook.pk}/test/").headers["Location"]
    before = client.get(there).text
    webhook_drain(hook.pk)
    after = client.get(there, headers={"HX-Request": "true"}).text

    assert "It was not sent yet" in before
    assert '<span class="pill good">204</span>' in after
    assert len(receiver.got) == 1


def test_a_disabled_webhook_is_not_tried(people: People, as_person: AsPerson) -> None:
    hook = webhook()
    Webhook.objects.update(enabled=False)

    answer = as_person(people.admin).post(f"/webhooks/{hook.pk}/test/", follow=True)

    assert "is disabled: nothing is sent to it" in answer.text
    assert not Delivery.objects.exists()


def test_a_deleted_webhook_takes_its_deliveries_along(people: People, as_person: AsPerson) -> None:
    hook = webhook()
    deliveries()

    as_person(people.admin).post(f"/webhooks/{hook.pk}/delete/")

    assert (Webhook.objects.count(), Delivery.objects.count()) == (0, 0)


@pytest.mark.parametrize("path", ["", "new/", "{hook}/", "{hook}/edit/", "deliveries/{delivery}/"])
def test_pages_are_for_admins(path: str, people: People, as_person: AsPerson) -> None:
    hook = webhook()
    there = "/webhooks/" + path.format(hook=hook.pk, delivery=deliveries()[0].pk)

    assert [as_person(getattr(people, one)).get(there).status_code for one in PERSONS] == [200, 403, 403, 403]
    assert Client().get(there).status_code == 302


@pytest.mark.parametrize("person", PERSONS[1:])
def test_nobody_else_changes_anything(person: str, people: People, as_person: AsPerson) -> None:
    hook = webhook()
    (one,) = deliveries()
    client = as_person(getattr(people, person))
    paths = ["new/", f"{hook.pk}/edit/", f"{hook.pk}/delete/", f"{hook.pk}/test/", f"deliveries/{one.pk}/resend/"]

    assert {client.post(f"/webhooks/{path}", FORM).status_code for path in paths} == {403}
    assert (Webhook.objects.get().url, Delivery.objects.get().attempt) == ("https://example.org/", 0)


def test_pages_cost_the_same_with_many_deliveries(people: People, as_person: AsPerson) -> None:
    client, hook = as_person(people.admin), webhook()

    def cost(path: str) -> int:
        client.get(path)
        with CaptureQueriesContext(connection) as seen:
            client.get(path)
        return len(seen)

    deliveries(1)
    few = [cost("/webhooks/"), cost(f"/webhooks/{hook.pk}/")]
    webhook("two")
    deliveries(20)

    assert [cost("/webhooks/"), cost(f"/webhooks/{hook.pk}/")] == few


def test_webhooks_are_searched_filtered_and_sorted_as_in_any_list(people: People, as_person: AsPerson) -> None:
    webhook("hook-10")
    webhook("hook-2", url="https://billing.example.org/")
    off = webhook_create(name="hook-1", url="https://example.org/", events=["volume.*"], secret=SECRET, enabled=False)
    client = as_person(people.admin)

    def names(**query: str) -> list[str]:
        return [row.name for row in client.get("/webhooks/", query).context["rows"]]

    assert names() == ["hook-1", "hook-2", "hook-10"]
    assert names(q="billing") == ["hook-2"]
    assert names(q="volume") == names(enabled="false") == names(q=str(off.pk)[:8]) == ["hook-1"]
    assert SECRET not in client.get("/webhooks/", {"export": "json"}).getvalue().decode()
