"""What a hint can be about. A topic is one line of printable text."""

from uuid import UUID

INSTANCES = "instances"
"""The instances of all projects."""
HOSTS = "hosts"
WORK = "work"
VOLUMES = "volumes"
"""The volumes, snapshots and backups of all projects."""


def project_topic(project_id: UUID | str) -> str:
    """The instances of one project."""
    return f"instances:{project_id}"


def instance_topic(instance_id: UUID | str) -> str:
    """One instance, with its journey."""
    return f"instance:{instance_id}"


def host_topic(host: str) -> str:
    """One host, with the instances on it."""
    return f"host:{host}"


def project_volumes_topic(project_id: UUID | str) -> str:
    """The volumes, snapshots and backups of one project."""
    return f"volumes:{project_id}"


def volume_topic(volume_id: UUID | str) -> str:
    """One volume, with its snapshots and attachments."""
    return f"volume:{volume_id}"
