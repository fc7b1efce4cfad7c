"""Writing events: in the transaction of what they report, in one statement, and only those that somebody wants."""

import json
import logging
from collections.abc import Iterable, Sequence
from functools import partial

from django.db import transaction

from controlplane.infra.request_id import current_request_id
from controlplane.notifications.conf import notification_options
from controlplane.notifications.models import Notification
from controlplane.notifications.serializer import Event, message
from controlplane.notifications.webhooks import is_wanted, patterns_wanted

log = logging.getLogger("notifications")


def events_wanted(event_types: Iterable[str]) -> frozenset[str]:
    """Which of these events are to be written: ask before a payload is made. Mostly without a query."""
    options = notification_options()
    if options.format == "none":
        return frozenset()
    patterns = patterns_wanted().union(options.events)
    return frozenset(each for each in event_types if is_wanted(each, patterns)) if patterns else frozenset()


def events_write(events: Sequence[Event]) -> list[Notification]:
    """Write these, in one statement. Call it inside the transaction of what they report."""
    if not events:
        return []
    rows = [
        Notification(
            event_type=each.event_type,
            publisher_id=each.publisher_id,
            priority=each.priority,
            payload=dict(each.payload),
            request_id=each.request_id or current_request_id(),
            project_id=each.project_id,
            happened_at=each.happened_at,
        )
        for each in events
    ]
    Notification.objects.bulk_create(rows)
    if notification_options().log:
        transaction.on_commit(partial(_log, rows), robust=True)
    return rows


def _log(rows: Sequence[Notification]) -> None:
    for row in rows:
        log.info("%s", json.dumps(message(row), separators=(",", ":")))
