"""Counting what a project uses. Usage is counted each time and never stored, as in Nova."""

import uuid
from dataclasses import dataclass

from django.db import connection
from django.db.models import Count, Q, Sum

from controlplane.identity.selectors import quota_limits
from controlplane.infra.db import uuid_value
from servers.catalog.domain.quota import UNLIMITED, ImageAmounts, QuotaAmounts
from servers.images.domain.images import ImageStatus
from servers.models import Image
from servers.states import TaskState, VmState

# Asked for every create: one statement for both tables, where the ORM would need two and longer to write them.
_USAGE = """
SELECT count(*), COALESCE(SUM(vcpus), 0), COALESCE(SUM(memory_mib), 0)
  FROM (SELECT vcpus, memory_mib FROM servers_instance
         WHERE project_id = %s AND deleted_at IS NULL AND (vm_state <> %s OR task_state = %s)
        UNION ALL
        SELECT vcpus, memory_mib FROM servers_buildrequest AS request
         WHERE project_id = %s
           AND NOT EXISTS (SELECT 1 FROM servers_instance AS made WHERE made.id = request.instance_uuid)) AS held
"""


def quota_usage(*, project_id: uuid.UUID) -> QuotaAmounts:
    """Instances that are not deleted, and build requests that have no instance yet. One query.

    As in Nova, what is soft-deleted does not count; it does from the moment on at which it is being restored.
    """
    project = uuid_value(project_id)
    with connection.cursor() as cursor:
        cursor.execute(_USAGE, [project, VmState.SOFT_DELETE.value, TaskState.RESTORING.value, project])
        instances, cores, ram_mib = cursor.fetchone()
    return QuotaAmounts(instances=int(instances), cores=int(cores), ram_mib=int(ram_mib))


def quota_limit_amounts(*, project_id: uuid.UUID) -> QuotaAmounts:
    """The project's limits; -1 means unlimited."""
    limits = quota_limits(project_id=project_id)
    return QuotaAmounts(instances=limits.instances, cores=limits.cores, ram_mib=limits.ram_mib)


def image_quota_usage(*, project_id: uuid.UUID, apart_from: uuid.UUID | None = None) -> ImageAmounts:
    """Images that are not deleted, with the bytes that uploads under way announced or sent so far. One query."""
    rows = Image.objects.filter(project_id=project_id).exclude(status=ImageStatus.DELETED)
    if apart_from is not None:
        rows = rows.exclude(pk=apart_from)
    counts = rows.aggregate(
        images=Count("pk"),
        image_bytes=Sum("size_bytes", default=0),
        image_uploads=Count("pk", filter=Q(status=ImageStatus.SAVING)),
    )
    return ImageAmounts(**{name: int(value) for name, value in counts.items()})


def image_quota_limits(*, project_id: uuid.UUID) -> ImageAmounts:
    """The project's limits; -1 means unlimited."""
    limits = quota_limits(project_id=project_id)
    return ImageAmounts(limits.images, limits.image_bytes, limits.image_uploads)


@dataclass(frozen=True, slots=True)
class QuotaLine:
    """One resource for people: `limit` is -1 and `left` says so when there is none."""

    label: str
    unit: str
    used: int
    limit: int

    @property
    def left(self) -> str:
        """How much more may be asked for."""
        return "unlimited" if self.limit == UNLIMITED else str(max(0, self.limit - self.used))


def quota_state(*, project_id: uuid.UUID) -> list[QuotaLine]:
    """What the project uses of what it may."""
    used, limits = quota_usage(project_id=project_id), quota_limit_amounts(project_id=project_id)
    return [
        QuotaLine("Instances", "", used.instances, limits.instances),
        QuotaLine("vCPUs", "", used.cores, limits.cores),
        QuotaLine("Memory", "MiB", used.ram_mib, limits.ram_mib),
    ]


def image_quota_state(*, project_id: uuid.UUID) -> list[QuotaLine]:
    """What the project's images use of what they may."""
    used, limits = image_quota_usage(project_id=project_id), image_quota_limits(project_id=project_id)
    limit_mib = limits.image_bytes // 2**20 if limits.image_bytes > 0 else limits.image_bytes
    return [
        QuotaLine("Images", "", used.images, limits.images),
        QuotaLine("Image data", "MiB", -(-used.image_bytes // 2**20), limit_mib),
        QuotaLine("Image uploads now", "", used.image_uploads, limits.image_uploads),
    ]
