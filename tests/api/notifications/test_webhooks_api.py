"""/api/webhooks/, /api/deliveries/ and /api/notifications/: for admins; a secret goes in and never comes out."""

import json
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.notifications.fan_out import events_fan_out
from controlplane.notifications.models import Delivery, DeliveryState, Notification, Webhook
from controlplane.notifications.outbox import events_write
from controlplane.notifications.secret_encryption import secret_decrypt
from controlplane.notifications.sender import webhook_drain
from controlplane.notifications.serializer import Event
from controlplane.notifications.webhooks import webhook_create
from tests.fixtures.receivers import Receiver
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db
SECRET = "0123456789abcdef-secret"
BODY = {"name": "lab", "url": "https://example.org/", "events": ["instance.*"], "secret": SECRET}


@pytest.fixture
def admin() -> APIClient:
    return world.client_of(world.people().admin)


def event(event_type: str = "instance.create.end") -> Notification:
    return events_write([Event(event_type, "nova-compute:h1", {"a": 1}, timezone.now())])[0]


def delivered_to(url: str = "https://example.org/") -> Delivery:
    webhook_create(name="lab", url=url, events=["instance.*"], secret=SECRET)
    event()
    events_fan_out()
    return Delivery.objects.get()


def test_webhook_is_made_listed_changed_and_removed(admin: APIClient) -> None:
    made = admin.post("/api/webhooks/", BODY, format="json")
    assert made.status_code == 201
    path = f"/api/webhooks/{made.json()['id']}/"
    assert admin.get("/api/webhooks/").json()["results"][0]["name"] == "lab"
    changed = admin.patch(path, {"events": ["*"], "enabled": False}, format="json")
    assert (changed.status_code, changed.json()["events"], changed.json()["enabled"]) == (200, ["*"], False)
    assert secret_decrypt(Webhook.objects.get().encrypted_secret) == SECRET
    assert admin.delete(path).status_code == 204
    assert admin.get(path).status_code == 404


def test_secret_is_in_no_answer_and_can_be_changed(admin: APIClient) -> None:
    made = admin.post("/api/webhooks/", BODY, format="json")
    path = f"/api/webhooks/{made.json()['id']}/"
    changed = admin.patch(path, {"secret": "another-secret-of-theirs"}, format="json")
    answers = [made, changed, admin.get(path), admin.get("/api/webhooks/")]
    row = Webhook.objects.get()
    assert secret_decrypt(row.encrypted_secret) == "another-secret-of-theirs"
    reported = b"".join(one.content for one in answers).decode()
    assert "secret" not in reported
    assert row.encrypted_secret not in reported


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"url": "ftp://example.org/"}, "url"),
        ({"secret": "short"}, "secret"),
        ({"events": []}, "events"),
        ({"event": ["*"]}, "event"),
        ({"name": " "}, "name"),
    ],
)
def test_wrong_field_is_named_and_nothing_is_made(admin: APIClient, change: dict[str, Any], field: str) -> None:
    answer = admin.post("/api/webhooks/", {**BODY, **change}, format="json")
    assert (answer.status_code, list(answer.json()["error"]["reasons"])) == (400, [field])
    assert Webhook.objects.count() == 0


def test_name_that_is_taken_is_a_conflict_and_none_can_be_changed(admin: APIClient) -> None:
    made = admin.post("/api/webhooks/", BODY, format="json").json()
    assert admin.post("/api/webhooks/", BODY, format="json").status_code == 409
    assert admin.patch(f"/api/webhooks/{made['id']}/", {"name": "other"}, format="json").status_code == 400


def test_trial_reaches_its_receiver_signed_and_goes_to_nobody_else(
    admin: APIClient, receiver: Receiver, settings: Any
) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "NOTIFICATION_ALLOWED_NETWORKS": ("127.0.0.1",)}
    webhook_create(name="other", url=receiver.url, events=["*"], secret=SECRET)
    made = admin.post("/api/webhooks/", {**BODY, "url": receiver.url}, format="json").json()
    answer = admin.post(f"/api/webhooks/{made['id']}/test/")
    assert (answer.status_code, answer.json()["event_type"]) == (202, "webhook.test")
    events_fan_out()
    webhook_drain(Webhook.objects.get(name="lab").pk)
    (headers, content) = receiver.got[0]
    assert (headers["X-Kilonova-Event"], Delivery.objects.count()) == ("webhook.test", 1)
    assert json.loads(content)["payload"]["nova_object.data"]["name"] == "lab"
    reported = admin.get(f"/api/deliveries/{answer.json()['id']}/").json()
    assert (reported["state"], [one["status"] for one in reported["attempts"]]) == ("done", [204])


def test_trial_of_a_disabled_webhook_is_a_conflict(admin: APIClient) -> None:
    made = admin.post("/api/webhooks/", {**BODY, "enabled": False}, format="json").json()
    assert admin.post(f"/api/webhooks/{made['id']}/test/").status_code == 409


def test_deliveries_are_filtered_and_sent_again(admin: APIClient) -> None:
    row = delivered_to()
    Delivery.objects.update(state=DeliveryState.FAILED, attempt=12)
    found = admin.get(f"/api/deliveries/?state=failed&webhook={row.webhook_id}").json()["results"]
    assert [(one["id"], one["event_type"], one["webhook_name"]) for one in found] == [
        (str(row.pk), "instance.create.end", "lab")
    ]
    assert admin.get("/api/deliveries/?state=waiting").json()["count"] == 0
    again = admin.post(f"/api/deliveries/{row.pk}/resend/")
    assert (again.status_code, again.json()["state"], again.json()["max_attempts"]) == (202, "waiting", 25)


def test_notification_shows_what_is_sent_and_goes_to_all_who_want_it_now(admin: APIClient) -> None:
    row = event()
    path = f"/api/notifications/{row.pk}/"
    assert admin.get(path).json()["message"]["payload"] == {"a": 1}
    assert admin.post(f"{path}resend/").status_code == 409
    webhook_create(name="late", url="https://example.org/", events=["*"], secret=SECRET)
    assert admin.post(f"{path}resend/").json() == {"webhooks": 1}
    assert admin.get("/api/notifications/?event_type=instance.create.end").json()["count"] == 1


@pytest.mark.parametrize("name", ["member", "reader", "stranger"])
def test_others_than_admins_are_refused_everything(name: str) -> None:
    client, row = world.client_of(getattr(world.people(), name)), delivered_to()
    hook = f"/api/webhooks/{row.webhook_id}/"
    reads = ["/api/webhooks/", hook, "/api/deliveries/", f"/api/deliveries/{row.pk}/", "/api/notifications/"]
    reads.append(f"/api/notifications/{row.notification_id}/")
    acts = [f"{hook}test/", f"/api/deliveries/{row.pk}/resend/", f"/api/notifications/{row.notification_id}/resend/"]
    answers = [client.get(path) for path in reads] + [client.post(path) for path in acts]
    answers += [client.post("/api/webhooks/", BODY, format="json"), client.patch(hook, {}, format="json")]
    answers.append(client.delete(hook))
    assert {answer.status_code for answer in answers} == {403}
    assert Webhook.objects.count() == 1


@pytest.mark.parametrize("path", ["webhooks", "deliveries", "notifications"])
def test_what_is_not_there_is_not_found(admin: APIClient, path: str) -> None:
    assert admin.get(f"/api/{path}/no-uuid/").status_code == 404
    assert admin.get(f"/api/{path}/00000000-0000-0000-0000-000000000000/").status_code == 404
