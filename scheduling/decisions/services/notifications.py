"""Tells of select_destinations: that it began, and how it ended. Written with its decision, in one statement."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from controlplane.notifications.models import Priority
from controlplane.notifications.outbox import events_wanted, events_write
from controlplane.notifications.serializer import Event, publisher
from scheduling.domain.notification_payload import Payload, failure_payload, request_spec_payload
from scheduling.domain.request.schedule_request import ScheduleRequest

START, END, ERROR = (f"scheduler.select_destinations.{phase}" for phase in ("start", "end", "error"))
SCHEDULER_EVENTS = (START, END, ERROR)
BINARY = "nova-scheduler"


@contextmanager
def emit_select_destinations(*, request: ScheduleRequest, duration_us: int, problem: str | None) -> Iterator[None]:
    """Around what saves a decision: writes, with it, what is wanted of start and of end, or of error for a `problem`.

    The start was `duration_us` ago; it is written now, since one that no decision follows decided nothing. Where
    nothing is wanted, this costs nothing, and opens no transaction.
    """
    wanted = events_wanted((START, END if problem is None else ERROR))
    if not wanted:
        yield
        return
    with transaction.atomic():
        yield
        events_write(list(_events(request, wanted, duration_us, problem)))


def _events(request: ScheduleRequest, wanted: frozenset[str], duration_us: int, problem: str | None) -> Iterator[Event]:
    now, spec = timezone.now(), request_spec_payload(request)
    if START in wanted:
        yield _event(START, request, spec, now - timedelta(microseconds=duration_us))
    if END in wanted:
        yield _event(END, request, spec, now)
    if ERROR in wanted and problem is not None:
        payload = failure_payload(spec, exception="NoValidHost", message=problem)
        yield _event(ERROR, request, payload, now, Priority.ERROR)


def _event(
    event_type: str,
    request: ScheduleRequest,
    payload: Payload,
    happened_at: datetime,
    priority: Priority = Priority.INFO,
) -> Event:
    return Event(
        event_type=event_type,
        publisher_id=publisher(BINARY),
        payload=payload,
        happened_at=happened_at,
        priority=priority,
        project_id=UUID(request.project_id),
        request_id=request.request_id,
    )
