"""What a hint can be about. A topic is one line of printable text."""

from uuid import UUID

INSTANCES = "instances"
"""The instances of all projects."""
HOSTS = "hosts"
WORK = "work"


def project_topic(project_id: UUID | str) -> str:
    """The instances of one project."""
    return f"instances:{project_id}"


def instance_topic(instance_id: UUID | str) -> str:
    """One instance, with its journey."""
    return f"instance:{instance_id}"


def host_topic(host: str) -> str:
    """One host, with the instances on it."""
    return f"host:{host}"
