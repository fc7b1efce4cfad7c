"""Which open pages are to look again when something of an instance changes."""

import uuid
from collections.abc import Iterable

from controlplane.work.hints import INSTANCES, changed, host_topic, instance_topic, project_topic
from servers.models import BuildRequest


def instance_changed(instance_id: uuid.UUID, *, project_id: uuid.UUID, host: str = "") -> None:
    """Call it in the transaction of what lists show: states, host, that it came or went."""
    topics = instance_topic(instance_id), project_topic(project_id), INSTANCES
    changed(*topics, host_topic(host)) if host else changed(*topics)


def journey_changed(instance_id: uuid.UUID) -> None:
    """Call it in the transaction of what the instance's own page alone shows."""
    changed(instance_topic(instance_id))


def requests_changed(requests: Iterable[BuildRequest]) -> None:
    """Call it in the transaction in which these came or went."""
    for request in requests:
        instance_changed(request.instance_uuid, project_id=request.project_id)
