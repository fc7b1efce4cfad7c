"""Tells of services: that one came, went, was switched, died or came back. Payloads are Nova's (34), where Nova tells
it at all.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC

from django.utils import timezone

from controlplane.notifications.models import Priority
from controlplane.notifications.outbox import events_wanted, events_write
from controlplane.notifications.serializer import Event
from scheduling.domain.notification_payload import Payload, nova_object
from scheduling.models import Service

CREATE, CHANGE, DELETE = (f"service.{word}" for word in ("create", "update", "delete"))
BUILD_FAILURES = "service.build_failures"
DOWN, UP = "service.down", "service.up"
SERVICE_EVENTS = (CREATE, CHANGE, DELETE, BUILD_FAILURES, DOWN, UP)


def emit_service_updates(event_type: str, services: Iterable[Service]) -> None:
    """Write the event of each, if it is wanted; in the transaction of the change, before rows go. Else it is free.

    Heartbeats are no changes: Nova tells of `disabled`, its reason, and `forced_down`, and so do we.
    """
    if events_wanted((event_type,)):
        now = timezone.now()
        events_write([Event(event_type, f"{one.binary}:{one.host}", _payload(one), now) for one in services])


def emit_build_failures_disabled(
    service: Service, *, reason: str, failed: int, limit: int, builds: Sequence[Mapping[str, str]]
) -> None:
    """Write that the host's failed builds disabled it, and which these were; beside its `service.update`."""
    if events_wanted((BUILD_FAILURES,)):
        data = {
            "uuid": str(service.pk),
            "host": service.host,
            "binary": service.binary,
            "reason": reason,
            "failed_builds": failed,
            "limit": limit,
            "builds": [dict(one) for one in builds],
        }
        payload = {**nova_object("ServiceBuildFailuresPayload", "1.0", data), "nova_object.namespace": "kilonova"}
        publisher = f"{service.binary}:{service.host}"
        events_write([Event(BUILD_FAILURES, publisher, payload, timezone.now(), priority=Priority.ERROR)])


def emit_service_liveness(event_type: str, services: Sequence[Service], *, running_guests: Mapping[str, int]) -> None:
    """Write that these went down, or are up again, with how many guests each host said last that it runs."""
    if events_wanted((event_type,)):
        now, priority = timezone.now(), Priority.ERROR if event_type == DOWN else Priority.INFO
        events_write(
            [
                Event(
                    event_type,
                    f"{one.binary}:{one.host}",
                    _liveness_payload(one, running_guests.get(one.host)),
                    now,
                    priority=priority,
                )
                for one in services
            ]
        )


def _liveness_payload(service: Service, running_guests: int | None) -> Payload:
    """ServiceLivenessPayload 1.0, ours: what ServiceStatusPayload says, and the guests."""
    data = {**_status(service), "running_guests": running_guests}
    return {**nova_object("ServiceLivenessPayload", "1.0", data), "nova_object.namespace": "kilonova"}


def _payload(service: Service) -> Payload:
    """ServiceStatusPayload 1.1."""
    return nova_object("ServiceStatusPayload", "1.1", _status(service))


def _status(service: Service) -> dict[str, object]:
    seen = service.last_seen_up
    return {
        "uuid": str(service.pk),
        "host": service.host,
        "binary": service.binary,
        "topic": service.binary.removeprefix("nova-"),
        "report_count": service.report_count,
        "disabled": service.disabled,
        "disabled_reason": service.disabled_reason or None,
        "availability_zone": None,
        "last_seen_up": None if seen is None else seen.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "forced_down": service.forced_down,
        "version": service.version,
    }
