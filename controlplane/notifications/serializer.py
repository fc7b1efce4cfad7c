"""What is sent, in the form that receivers get: Nova's envelope around a versioned payload."""

import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from controlplane.notifications.models import Notification, Priority


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at `happened_at`. `payload` is plain JSON values, an object in Nova's versioned form."""

    event_type: str
    publisher_id: str
    payload: Mapping[str, Any]
    happened_at: datetime
    priority: Priority = Priority.INFO
    project_id: UUID | None = None
    request_id: str = ""


def publisher(binary: str) -> str:
    """How Nova names the publisher: the service's binary, and the machine it runs on."""
    return f"{binary}:{socket.gethostname()}"


def message(row: Notification) -> dict[str, Any]:
    """The whole of what is sent, as values."""
    return {
        "message_id": str(row.pk),
        "event_type": row.event_type,
        "publisher_id": row.publisher_id,
        "priority": row.priority,
        "timestamp": row.happened_at.isoformat(),
        "request_id": row.request_id,
        "project_id": None if row.project_id is None else str(row.project_id),
        "payload": row.payload,
    }


def body(row: Notification) -> bytes:
    """The same bytes each time, since a signature is over them."""
    return json.dumps(message(row), sort_keys=True, separators=(",", ":")).encode()
