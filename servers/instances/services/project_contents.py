"""What a project still has of instances and images when it is to be removed, and what goes with it."""

import uuid

from servers.images.domain.images import ImageStatus
from servers.instances.services.prune import project_records_purge
from servers.models import BuildRequest, Image, Instance, InstanceMapping
from servers.networks.services.project_purge import default_group_purge

COUNTED = ("servers.InstanceMapping", "servers.BuildRequest", "servers.Image")


def project_purge(project_id: uuid.UUID) -> None:
    """Remove what holds nothing: its default security group, the records of what was deleted. In the caller's
    transaction.
    """
    default_group_purge(project_id)
    project_records_purge(project_id)


def project_contents_count(project_id: uuid.UUID) -> dict[str, int]:
    """In words, after `project_purge`."""
    living = Instance.objects.filter(project_id=project_id, deleted_at__isnull=True).count()
    awaited = BuildRequest.objects.filter(project_id=project_id).count()
    instances = living + awaited
    mapped = InstanceMapping.objects.filter(project_id=project_id).count()
    images = Image.objects.filter(project_id=project_id).exclude(status=ImageStatus.DELETED.value).count()
    return {
        "instance" if instances == 1 else "instances": instances,
        "records of instances that are neither there nor deleted": max(0, mapped - instances),
        "image" if images == 1 else "images": images,
    }
