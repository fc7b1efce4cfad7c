"""An instance that has no row yet, built from its build request."""

import uuid
from typing import Any

from servers.models import Instance

NOT_COLUMNS = {"tags", "networks", "created_at"}


def instance_from_body(body: dict[str, Any]) -> Instance:
    """The unsaved instance that a build request describes."""
    fields = {key: value for key, value in body.items() if key not in NOT_COLUMNS}
    for name in ("id", "project_id", "user_id", "reservation_id", "flavor_id", "image_id", "decision_id"):
        if fields.get(name):
            fields[name] = uuid.UUID(str(fields[name]))
    return Instance(**fields)
