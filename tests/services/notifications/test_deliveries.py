"""From the outbox to a receiver: signed, tried again, given up, sent again, and never by two at once."""

import json
import time
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone

from controlplane.kernel.errors import Conflict, Fenced, NotFound
from controlplane.notifications.deliveries import (
    deliveries_expire,
    delivery_finish,
    delivery_take,
    retry_wait_s,
    webhooks_due,
)
from controlplane.notifications.fan_out import delivery_resend, event_resend, events_fan_out
from controlplane.notifications.http_client import WebhookResponse
from controlplane.notifications.models import Delivery, DeliveryAttempt, DeliveryState, Notification, Webhook
from controlplane.notifications.outbox import events_write
from controlplane.notifications.prune import notifications_prune
from controlplane.notifications.sender import notifications_deliver, webhook_drain
from controlplane.notifications.serializer import Event
from controlplane.notifications.signature import SIGNATURE_HEADER
from controlplane.notifications.test_delivery import webhook_try
from controlplane.notifications.webhooks import webhook_create, webhook_update
from tests.fixtures.receivers import Receiver, signature_fits

pytestmark = pytest.mark.django_db
SECRET = "0123456789abcdef-secret"
REQUEST = "req-00000000-0000-4000-8000-000000000001"
RECEIVED = WebhookResponse(204, "", "", 3)
BUSY = WebhookResponse(503, "the receiver answered 503", "busy", 3)


def hook(url: str = "http://127.0.0.1:9/", name: str = "hook", events: tuple[str, ...] = ("*",)) -> Webhook:
    return webhook_create(name=name, url=url, events=events, secret=SECRET)


def happened(event_type: str = "scheduler.select_destinations.end") -> Notification:
    event = Event(event_type, "nova-scheduler:lab", {"nova_object.name": "X"}, timezone.now(), request_id=REQUEST)
    return events_write([event])[0]


def only() -> Delivery:
    return Delivery.objects.get()


def due_now() -> None:
    Delivery.objects.update(next_at=timezone.now() - timedelta(seconds=1))
    Webhook.objects.update(retry_at=timezone.now() - timedelta(seconds=1))


def test_event_is_offered_to_those_who_want_it_and_once(notifying: Any) -> None:
    wants = hook(name="wants", events=("scheduler.*",))
    hook(name="other", events=("instance.*",))
    happened()
    assert (events_fan_out(), events_fan_out()) == (1, 0)
    assert [row.webhook_id for row in Delivery.objects.all()] == [wants.pk]


def test_webhook_gets_nothing_that_is_older_than_itself(notifying: Any) -> None:
    happened()
    hook()
    events_fan_out()
    assert Delivery.objects.count() == 0


def test_receiver_gets_the_event_signed(notifying: Any, receiver: Receiver) -> None:
    made, row = hook(receiver.url), happened()
    events_fan_out()
    assert webhook_drain(made.pk) == 1
    ((headers, body),) = receiver.got
    reported = json.loads(body)
    assert (reported["message_id"], reported["event_type"]) == (str(row.pk), row.event_type)
    assert signature_fits(secret=SECRET, header=headers[SIGNATURE_HEADER], body=body, now=time.time())
    assert (headers["X-Kilonova-Event"], headers["X-Kilonova-Attempt"]) == (row.event_type, "1")
    assert headers["X-OpenStack-Request-Id"] == REQUEST
    assert SECRET not in str(receiver.got)


def test_delivered_event_is_done_and_the_attempt_is_in_the_log(notifying: Any, receiver: Receiver) -> None:
    made = hook(receiver.url)
    happened()
    events_fan_out()
    webhook_drain(made.pk)
    assert (only().state, only().error) == (DeliveryState.DONE, "")
    attempt = DeliveryAttempt.objects.get()
    assert (attempt.number, attempt.status, attempt.answer) == (1, 204, "")


def test_receiver_that_fails_is_asked_again_later(notifying: Any, receiver: Receiver) -> None:
    receiver.answers = [500, 200]
    made = hook(receiver.url)
    happened()
    events_fan_out()
    before = timezone.now()
    assert webhook_drain(made.pk) == 0
    waiting = only()
    assert (waiting.state, waiting.error) == (DeliveryState.WAITING, "the receiver answered 500")
    made.refresh_from_db()
    assert made.retry_at is not None
    assert made.retry_at > before + timedelta(seconds=3)
    assert webhooks_due() == []
    assert webhook_drain(made.pk) == 0  # not before its time
    due_now()
    assert webhook_drain(made.pk) == 1
    assert only().state == DeliveryState.DONE
    assert [(one.number, one.status) for one in DeliveryAttempt.objects.all()] == [(1, 500), (2, 200)]


def test_receiver_that_fails_is_spared_the_rest_of_the_round(notifying: Any, receiver: Receiver) -> None:
    receiver.answers = [500]
    made = hook(receiver.url)
    for _ in range(3):
        happened()
    events_fan_out()
    webhook_drain(made.pk)
    assert len(receiver.got) == 1


def reported(receiver: Receiver) -> list[str]:
    return [json.loads(body)["message_id"] for _, body in receiver.got]


def test_events_after_one_that_failed_wait_for_it_and_keep_their_order(notifying: Any, receiver: Receiver) -> None:
    receiver.answers = [503, 200]
    made = hook(receiver.url)
    first, second = happened(), happened()
    events_fan_out()
    webhook_drain(made.pk)
    third = happened()
    events_fan_out()
    assert webhook_drain(made.pk) == 0
    Webhook.objects.update(retry_at=timezone.now())
    assert webhook_drain(made.pk) == 3
    assert reported(receiver) == [str(row.pk) for row in (first, first, second, third)]


def test_event_that_is_refused_for_what_is_in_it_stops_no_others(notifying: Any, receiver: Receiver) -> None:
    receiver.answers = [422, 200]
    made = hook(receiver.url)
    first, second = happened(), happened()
    events_fan_out()
    assert webhook_drain(made.pk) == 0
    assert webhook_drain(made.pk) == 1
    assert reported(receiver) == [str(first.pk), str(second.pk)]
    due_now()
    assert webhook_drain(made.pk) == 1
    assert reported(receiver)[-1] == str(first.pk)


def test_one_delivery_of_a_webhook_is_under_way_at_a_time_whoever_sends_it(notifying: Any) -> None:
    made = hook()
    happened()
    happened()
    events_fan_out()
    first = delivery_take(webhook_id=made.pk, owner="one")
    assert first is not None
    assert delivery_take(webhook_id=made.pk, owner="two") is None
    delivery_finish(taken=first, answer=RECEIVED)
    assert delivery_take(webhook_id=made.pk, owner="two") is not None


def test_trial_and_resend_and_change_do_not_wait_for_a_stopped_queue(notifying: Any, receiver: Receiver) -> None:
    receiver.answers = [503, 503, 200]
    made = hook(receiver.url)
    happened()
    events_fan_out()
    webhook_drain(made.pk)
    trial = webhook_try(webhook_id=made.pk)
    webhook_drain(made.pk)
    assert reported(receiver)[-1] == str(trial.notification_id)
    assert webhooks_due() == []
    webhook_update(webhook_id=made.pk, events=["*"])
    assert webhooks_due() == [made.pk]
    assert webhook_drain(made.pk) == 2


def test_redirect_is_not_followed(notifying: Any, receiver: Receiver) -> None:
    receiver.answers = [302]
    made = hook(receiver.url)
    happened()
    events_fan_out()
    webhook_drain(made.pk)
    assert (len(receiver.got), only().error) == (1, "the receiver answered 302")


def test_receiver_that_is_slow_is_a_failed_attempt(notifying: Any, receiver: Receiver) -> None:
    notifying(TIMEOUT_S=0.1)
    receiver.pause_s = 0.5
    slow = hook(receiver.url)
    happened()
    events_fan_out()
    webhook_drain(slow.pk)
    assert "no answer within 0.1 s" in only().error


@pytest.mark.usefixtures("notifying")
def test_receiver_that_is_not_there_is_a_failed_attempt() -> None:
    gone = hook(url="http://127.0.0.1:1/")
    happened()
    events_fan_out()
    webhook_drain(gone.pk)
    assert "Connection refused" in only().error


def test_receiver_that_drips_its_answer_is_cut_off_at_the_deadline_of_the_whole(
    notifying: Any, receiver: Receiver
) -> None:
    notifying(TIMEOUT_S=0.3)
    receiver.drips = True
    made = hook(receiver.url)
    happened()
    events_fan_out()
    webhook_drain(made.pk)  # the receiver would drip for ever
    assert "no answer within 0.3 s" in only().error


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_address_that_is_not_public_gets_nothing_unless_settings_name_its_network(
    notifying: Any, receiver: Receiver, name: str
) -> None:
    made = hook(receiver.url.replace("127.0.0.1", name))
    happened()
    events_fan_out()
    notifying(ALLOWED_NETWORKS=())
    webhook_drain(made.pk)
    assert receiver.got == []
    assert "loopback" in only().error


def test_secret_that_cannot_be_read_is_a_failed_attempt(notifying: Any, receiver: Receiver, settings: Any) -> None:
    made = hook(receiver.url)
    happened()
    events_fan_out()
    settings.SECRET_KEY = "another-" + "y" * 50
    webhook_drain(made.pk)
    assert receiver.got == []
    assert "set the secret anew" in only().error


def test_event_is_given_up_after_its_last_attempt(notifying: Any, receiver: Receiver) -> None:
    notifying(ATTEMPTS=2)
    receiver.answers = [500]
    made = hook(receiver.url)
    happened()
    events_fan_out()
    for _ in range(3):
        webhook_drain(made.pk)
        due_now()
    assert (only().state, len(receiver.got)) == (DeliveryState.FAILED, 2)


def test_event_is_given_up_after_its_deadline(notifying: Any) -> None:
    hook()
    happened()
    events_fan_out()
    Delivery.objects.update(deadline_at=timezone.now() - timedelta(seconds=1))
    assert webhooks_due() == []
    assert deliveries_expire() == 1
    assert only().state == DeliveryState.FAILED


def test_disabled_webhook_is_not_served(notifying: Any) -> None:
    made = hook()
    happened()
    events_fan_out()
    assert webhooks_due() == [made.pk]
    webhook_update(webhook_id=made.pk, enabled=False)
    assert webhooks_due() == []


def test_delivery_is_taken_by_one(notifying: Any) -> None:
    made = hook()
    happened()
    events_fan_out()
    assert delivery_take(webhook_id=made.pk, owner="one") is not None
    assert delivery_take(webhook_id=made.pk, owner="two") is None


def test_expired_lease_is_taken_over_and_the_first_owner_is_fenced_off(notifying: Any) -> None:
    made = hook()
    happened()
    events_fan_out()
    first = delivery_take(webhook_id=made.pk, owner="one")
    assert first is not None
    Delivery.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    second = delivery_take(webhook_id=made.pk, owner="two")
    assert second is not None
    with pytest.raises(Fenced):
        delivery_finish(taken=first, answer=BUSY)
    assert delivery_finish(taken=second, answer=RECEIVED)
    assert only().state == DeliveryState.DONE


def test_sender_that_died_in_the_last_attempt_leaves_a_failed_delivery(notifying: Any) -> None:
    notifying(ATTEMPTS=1)
    made = hook()
    happened()
    events_fan_out()
    delivery_take(webhook_id=made.pk, owner="dies")
    assert deliveries_expire() == 0
    Delivery.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert deliveries_expire() == 1


def test_failed_delivery_is_sent_again_with_new_attempts(notifying: Any, receiver: Receiver) -> None:
    notifying(ATTEMPTS=1)
    receiver.answers = [500, 500, 200]
    made, row = hook(receiver.url), happened()
    events_fan_out()
    webhook_drain(made.pk)
    delivery_resend(delivery_id=only().pk)
    webhook_drain(made.pk)
    assert only().state == DeliveryState.FAILED
    event_resend(notification_id=row.pk)
    webhook_drain(made.pk)
    assert (only().state, only().notification_id) == (DeliveryState.DONE, row.pk)
    assert len({json.loads(body)["message_id"] for _, body in receiver.got}) == 1


def test_event_can_be_sent_to_a_webhook_that_came_later(notifying: Any, receiver: Receiver) -> None:
    row = happened()
    events_fan_out()
    made = hook(receiver.url)
    assert event_resend(notification_id=row.pk) == 1
    assert webhook_drain(made.pk) == 1


def test_resend_of_what_nobody_wants_or_is_not_there_is_refused(notifying: Any) -> None:
    row = happened()
    with pytest.raises(Conflict):
        event_resend(notification_id=row.pk)
    for call, name in ((event_resend, "notification_id"), (delivery_resend, "delivery_id")):
        with pytest.raises(NotFound):
            call(**{name: uuid4()})


def test_waits_double_up_to_an_hour() -> None:
    assert [retry_wait_s(attempt) for attempt in (1, 2, 3, 10, 12, 1000)] == [5, 10, 20, 2560, 3600, 3600]


def test_old_notifications_go_with_their_deliveries(notifying: Any) -> None:
    hook()
    old, new = happened(), happened()
    events_fan_out()
    Notification.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=8))
    assert notifications_prune() == 1
    assert [row.notification_id for row in Delivery.objects.all()] == [new.pk]


def test_retention_of_zero_keeps_everything(notifying: Any) -> None:
    notifying(RETENTION_DAYS=0.0)
    Notification.objects.filter(pk=happened().pk).update(created_at=timezone.now() - timedelta(days=800))
    assert notifications_prune() == 0


@pytest.mark.django_db(transaction=True)
def test_slow_webhook_delays_no_other(notifying: Any, receiver: Receiver) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("threads do not share this database")
    stuck = hook(name="stuck", url="http://10.255.255.1/")
    notifying(TIMEOUT_S=1.0)
    hook(receiver.url)
    happened()
    notifications_deliver()
    until = time.monotonic() + 60
    while not receiver.got and time.monotonic() < until:
        time.sleep(0.02)
    assert len(receiver.got) == 1
    while Delivery.objects.filter(webhook=stuck, attempt=1, state="running").exists() and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.1)
