"""An instance that has no row yet, built from its build request."""

import uuid
from datetime import datetime
from typing import Any

from servers.models import BuildRequest, Instance

NOT_COLUMNS = {"tags", "created_at"}
UUIDS = ("id", "project_id", "user_id", "reservation_id", "flavor_id", "image_id", "decision_id")


def instance_from_body(body: dict[str, Any]) -> Instance:
    """The unsaved instance that a build request describes."""
    fields = {key: value for key, value in body.items() if key not in NOT_COLUMNS}
    for name in UUIDS:
        if fields.get(name):
            fields[name] = uuid.UUID(str(fields[name]))
    instance = Instance(**fields)
    instance.pending_tags = list(body.get("tags", []))
    return instance


def pending_instance(request: BuildRequest) -> Instance:
    """The instance as the API shows it until its row exists."""
    instance = instance_from_body(request.instance_body)
    instance.is_pending = True
    instance.created_at = first_asked_at(request) or request.created_at
    instance.updated_at = request.created_at
    return instance


def first_asked_at(request: BuildRequest) -> datetime | None:
    """When the instance was made that this request schedules again; None for the first request for an instance."""
    asked_at = request.instance_body.get("created_at")
    return datetime.fromisoformat(asked_at) if asked_at else None
