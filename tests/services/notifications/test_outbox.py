"""What is written into the outbox, when, and at what price."""

import json
import logging
import time
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from controlplane.infra.request_id import request_id_scope
from controlplane.notifications.models import Notification, Priority
from controlplane.notifications.outbox import events_wanted, events_write
from controlplane.notifications.serializer import Event
from controlplane.notifications.webhooks import REMEMBERED_S, webhook_create, webhook_update

pytestmark = pytest.mark.django_db

REQUEST = "req-00000000-0000-4000-8000-000000000001"
START, ERROR = "scheduler.select_destinations.start", "scheduler.select_destinations.error"


def event(event_type: str = START, **changes: Any) -> Event:
    values = {"publisher_id": "nova-scheduler:lab", "payload": {"nova_object.name": "X"}, "happened_at": timezone.now()}
    return Event(event_type=event_type, **{**values, **changes})


def subscribed(*events: str, **changes: Any) -> Any:
    given = {"name": "hook", "url": "https://example.org/", "secret": "s" * 20, **changes}
    with transaction.atomic():
        return webhook_create(events=events, **given)


def test_nothing_is_wanted_without_webhooks_and_patterns(notifying: Any) -> None:
    assert events_wanted((START, ERROR)) == frozenset()


def test_event_that_a_webhook_wants_is_wanted(notifying: Any) -> None:
    subscribed("*.error")
    assert events_wanted((START, ERROR)) == {ERROR}


def test_event_that_only_a_disabled_webhook_wants_is_not_wanted(notifying: Any) -> None:
    subscribed("*", enabled=False)
    assert events_wanted((START,)) == frozenset()


def test_event_that_settings_name_is_wanted_without_any_webhook(notifying: Any) -> None:
    notifying(EVENTS=("scheduler.*",))
    assert events_wanted((START, "instance.create.start")) == {START}


def test_format_none_wants_nothing_and_asks_nothing(notifying: Any) -> None:
    notifying(FORMAT="none", EVENTS=("*",))
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert events_wanted((START,)) == frozenset()
    assert len(asked) == 0


def test_webhooks_are_not_asked_for_at_each_event(notifying: Any) -> None:
    events_wanted((START,))
    began = time.monotonic()
    with CaptureQueriesContext(connection) as asked:
        for _ in range(100):
            events_wanted((START,))
    passed = time.monotonic() - began
    assert len(asked) <= 1 + passed // REMEMBERED_S  # once in so long, however slow this machine is


def test_events_are_written_in_one_statement_with_request_and_project(notifying: Any) -> None:
    with request_id_scope(REQUEST), CaptureQueriesContext(connection) as asked:
        events_write([event(), event(ERROR, priority=Priority.ERROR)])
    assert len(asked) == 1
    assert [row.request_id for row in Notification.objects.all()] == [REQUEST, REQUEST]
    assert {row.priority for row in Notification.objects.all()} == {"INFO", "ERROR"}


def test_no_event_costs_no_statement(notifying: Any) -> None:
    with CaptureQueriesContext(connection) as asked:
        assert events_write([]) == []
    assert len(asked) == 0


@pytest.mark.django_db(transaction=True)
def test_event_of_a_change_that_is_rolled_back_was_never_told(notifying: Any, caplog: pytest.LogCaptureFixture) -> None:
    notifying(LOG=True)
    with caplog.at_level(logging.INFO, "notifications"), pytest.raises(ZeroDivisionError), transaction.atomic():
        events_write([event()])
        raise ZeroDivisionError
    assert Notification.objects.count() == 0
    assert caplog.records == []


@pytest.mark.django_db(transaction=True)
def test_written_event_goes_to_the_log_as_it_is_sent(notifying: Any, caplog: pytest.LogCaptureFixture) -> None:
    notifying(LOG=True)
    with caplog.at_level(logging.INFO, "notifications"), transaction.atomic():
        (row,) = events_write([event()])
    reported = json.loads(caplog.records[0].getMessage())
    assert (reported["message_id"], reported["event_type"], reported["payload"]) == (str(row.pk), START, row.payload)


def test_change_of_a_webhook_counts_at_once_in_this_process(
    notifying: Any, django_capture_on_commit_callbacks: Any
) -> None:
    made = subscribed("compute_task.*")
    assert events_wanted((START,)) == frozenset()
    with django_capture_on_commit_callbacks(execute=True):
        webhook_update(webhook_id=made.pk, events=["scheduler.*"])
    assert events_wanted((START,)) == {START}
