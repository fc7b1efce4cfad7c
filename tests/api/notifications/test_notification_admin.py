"""Notifications in Django's admin: secrets are written and not shown, refusals are told, events are sent again."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from controlplane.identity.models import User
from controlplane.notifications.fan_out import events_fan_out
from controlplane.notifications.models import Delivery, DeliveryAttempt, DeliveryState, Notification, Webhook
from controlplane.notifications.outbox import events_write
from controlplane.notifications.secret_encryption import secret_decrypt
from controlplane.notifications.serializer import Event
from controlplane.notifications.webhooks import webhook_create

pytestmark = pytest.mark.django_db
SECRET = "0123456789abcdef-secret"
FORM = {"name": "lab", "url": "https://example.org/", "events": ["scheduler.*", ""], "enabled": "on", "secret": SECRET}


@pytest.fixture
def browser() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser(username="root", password="a-long-password"))
    return client


def add(browser: Client, **changes: Any) -> Any:
    return browser.post(reverse("admin:notifications_webhook_add"), {**FORM, **changes}, follow=True)


def failed_delivery() -> Delivery:
    webhook_create(name="lab", url="https://example.org/", events=["*"], secret=SECRET)
    events_write([Event("scheduler.select_destinations.end", "nova-scheduler:lab", {}, timezone.now())])
    events_fan_out()
    row = Delivery.objects.get()
    DeliveryAttempt.objects.create(delivery=row, number=1, duration_ms=3, status=503, error="busy")
    Delivery.objects.update(state=DeliveryState.FAILED, attempt=12)
    return row


def test_webhook_is_added_and_its_secret_is_shown_nowhere(browser: Client) -> None:
    page = add(browser).content.decode()
    row = Webhook.objects.get()
    assert (row.url, row.events, secret_decrypt(row.encrypted_secret)) == (FORM["url"], ["scheduler.*"], SECRET)
    change = browser.get(reverse("admin:notifications_webhook_change", args=[row.pk])).content.decode()
    assert SECRET not in page + change
    assert row.encrypted_secret not in page + change


def test_webhook_that_is_changed_keeps_its_secret(browser: Client) -> None:
    add(browser)
    row = Webhook.objects.get()
    form = {**FORM, "url": "https://example.org/new", "secret": ""}
    assert browser.post(reverse("admin:notifications_webhook_change", args=[row.pk]), form).status_code == 302
    row.refresh_from_db()
    assert (row.url, secret_decrypt(row.encrypted_secret)) == ("https://example.org/new", SECRET)


def test_patterns_are_boxes_and_lines_and_each_counts_once(browser: Client) -> None:
    add(browser, events=["*.error", "volume.*", "instance.lock\r\n volume.* \r\n\r\ninstance.unlock"])
    row = Webhook.objects.get()
    assert row.events == ["*.error", "volume.*", "instance.lock", "instance.unlock"]
    page = browser.get(reverse("admin:notifications_webhook_change", args=[row.pk])).text
    chosen = re.findall(r'type="checkbox" name="events" value="([^"]*)" checked', page)
    assert chosen == ["*.error", "volume.*"]
    assert ">instance.lock\ninstance.unlock</textarea>" in page


def test_refused_form_shows_what_was_chosen(browser: Client) -> None:
    page = add(browser, events=["volume.*", "my.<own>"], url="ftp://x").text
    assert 'value="volume.*" checked' in page
    assert ">my.&lt;own&gt;</textarea>" in page
    assert not Webhook.objects.exists()


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("url", "ftp://example.org/", "begins with http"),
        ("secret", "short", "16 to 200"),
        ("events", "x" * 101, "Each pattern"),
        ("events", ["", "\n"], "required"),
    ],
)
def test_wrong_webhook_is_refused_in_words(browser: Client, field: str, value: str, words: str) -> None:
    assert words in add(browser, **{field: value}).content.decode()
    assert Webhook.objects.count() == 0


def test_webhook_is_deleted_with_its_deliveries(browser: Client) -> None:
    row = failed_delivery().webhook
    browser.post(reverse("admin:notifications_webhook_delete", args=[row.pk]), {"post": "yes"})
    assert (Webhook.objects.count(), Delivery.objects.count(), Notification.objects.count()) == (0, 0, 1)


def test_pages_show_the_event_its_deliveries_and_the_log_of_attempts(browser: Client) -> None:
    row = failed_delivery()
    event = browser.get(reverse("admin:notifications_notification_change", args=[row.notification_id])).content.decode()
    delivery = browser.get(reverse("admin:notifications_delivery_change", args=[row.pk])).content.decode()
    assert "scheduler.select_destinations.end" in event
    assert "503" in delivery
    assert "busy" in delivery


@pytest.mark.parametrize("model", ["delivery", "notification"])
def test_what_failed_is_sent_again(browser: Client, model: str) -> None:
    row = failed_delivery()
    chosen = row.pk if model == "delivery" else row.notification_id
    browser.post(
        reverse(f"admin:notifications_{model}_changelist"), {"action": "send_again", "_selected_action": [str(chosen)]}
    )
    row.refresh_from_db()
    assert row.state == DeliveryState.WAITING
    assert row.max_attempts > row.attempt


def test_who_may_only_look_cannot_send_again() -> None:
    row = failed_delivery()
    viewer = User.objects.create_user(username="viewer", password="a-long-password", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_delivery"))
    client = Client()
    client.force_login(viewer)
    data = {"action": "send_again", "_selected_action": [str(row.pk)]}
    client.post(reverse("admin:notifications_delivery_changelist"), data)
    row.refresh_from_db()
    assert row.state == DeliveryState.FAILED
