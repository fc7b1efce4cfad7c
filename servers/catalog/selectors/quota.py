"""Counting what a project uses. Usage is counted each time and never stored, as in Nova."""

import uuid
from dataclasses import dataclass

from django.db.models import Count, Q, Sum

from controlplane.identity.domain.quota import COUNTED_LIMITS, OWNER_LIMITS, USER_LIMITS
from controlplane.identity.selectors import quota_limits, user_quota
from controlplane.infra.db import uuid_value
from controlplane.infra.prepared import PreparedStatement
from controlplane.kernel.texts import gettext_noop
from servers.catalog.domain.quota import UNLIMITED, ImageAmounts, QuotaAmounts
from servers.images.domain.images import ImageStatus
from servers.models import Image, KeyPair, ServerGroup
from servers.states import TaskState, VmState

# Asked for every create: one statement for both tables, where the ORM would need two and longer to write them.
_USAGE = """
SELECT count(*), COALESCE(SUM(vcpus), 0), COALESCE(SUM(memory_mib), 0)
  FROM (SELECT vcpus, memory_mib FROM servers_instance
         WHERE project_id = %s AND deleted_at IS NULL
           AND (vm_state <> %s OR task_state = %s){of_user}
        UNION ALL
        SELECT vcpus, memory_mib FROM servers_buildrequest AS request
         WHERE project_id = %s{of_user}
           AND NOT EXISTS (SELECT 1 FROM servers_instance AS made WHERE made.id = request.instance_uuid)) AS held
"""
_STATES = (VmState.SOFT_DELETE.value, TaskState.RESTORING.value)
_OF_PROJECT = PreparedStatement(
    "quota_usage", lambda: _USAGE.format(of_user=""), types=["uuid", "text", "text", "uuid"]
)
_OF_USER = PreparedStatement(
    "quota_usage_of_user",
    lambda: _USAGE.format(of_user=" AND user_id = %s"),
    types=["uuid", "text", "text", "uuid", "uuid", "uuid"],
)


def quota_usage(*, project_id: uuid.UUID, user_id: uuid.UUID | None = None) -> QuotaAmounts:
    """Instances that are not deleted, and build requests that have no instance yet; of one user where it is named.
    One query.

    As in Nova, what is soft-deleted does not count; it does from the moment on at which it is being restored.
    """
    project = uuid_value(project_id)
    if user_id is None:
        rows = _OF_PROJECT.rows([project, *_STATES, project])
    else:
        user = uuid_value(user_id)
        rows = _OF_USER.rows([project, *_STATES, user, project, user])
    ((instances, cores, ram_mib),) = rows
    return QuotaAmounts(instances=int(instances), cores=int(cores), ram_mib=int(ram_mib))


def user_quota_amounts(*, project_id: uuid.UUID, user_id: uuid.UUID) -> QuotaAmounts | None:
    """What this user may have in this project; -1 for no limit but the project's, None where there is none at all."""
    row = user_quota(project_id=project_id, user_id=user_id)
    if row is None:
        return None
    own = {name: getattr(row, name) for name in COUNTED_LIMITS}
    return QuotaAmounts(**{name: UNLIMITED if limit is None else limit for name, limit in own.items()})


def user_quota_shown(*, project_id: uuid.UUID, user_id: uuid.UUID) -> dict[str, int] | None:
    """All limits of this user in this project, by name; as above."""
    row = user_quota(project_id=project_id, user_id=user_id)
    if row is None:
        return None
    own = {name: getattr(row, name) for name in USER_LIMITS}
    return {name: UNLIMITED if limit is None else limit for name, limit in own.items()}


def owner_quota_usage(*, project_id: uuid.UUID, user_id: uuid.UUID | None = None) -> dict[str, int]:
    """Key pairs of the user, and server groups of the project, or of the user in it. Of what each request is measured
    by, nothing is in use, as in Nova.
    """
    used = dict.fromkeys(OWNER_LIMITS, 0)
    groups = ServerGroup.objects.filter(project_id=project_id)
    used["server_groups"] = (groups if user_id is None else groups.filter(user_id=user_id)).count()
    used["key_pairs"] = 0 if user_id is None else KeyPair.objects.filter(user_id=user_id).count()
    return used


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


_EACH = {
    "server_group_members": gettext_noop("Members of a server group"),
    "key_pairs": gettext_noop("Key pairs of a user"),
    "metadata_items": gettext_noop("Metadata items"),
    "injected_files": gettext_noop("Injected files"),
    "injected_file_content_bytes": gettext_noop("Bytes of an injected file"),
    "injected_file_path_bytes": gettext_noop("Bytes of its path"),
}


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
        return gettext_noop("unlimited") if self.limit == UNLIMITED else str(max(0, self.limit - self.used))


def quota_state(*, project_id: uuid.UUID) -> list[QuotaLine]:
    """What the project uses of what it may."""
    used, limits = quota_usage(project_id=project_id), quota_limit_amounts(project_id=project_id)
    return [
        QuotaLine(gettext_noop("Instances"), "", used.instances, limits.instances),
        QuotaLine(gettext_noop("vCPUs"), "", used.cores, limits.cores),
        QuotaLine(gettext_noop("Memory"), "MiB", used.ram_mib, limits.ram_mib),
    ]


def owner_quota_state(*, project_id: uuid.UUID) -> list[QuotaLine]:
    """What the project has of what is not counted in instances, and what one request may have, for people."""
    used, limits = owner_quota_usage(project_id=project_id), quota_limits(project_id=project_id)
    lines = [QuotaLine(gettext_noop("Server groups"), "", used["server_groups"], limits.server_groups)]
    return lines + [QuotaLine(label, "", 0, getattr(limits, name)) for name, label in _EACH.items()]


def image_quota_state(*, project_id: uuid.UUID) -> list[QuotaLine]:
    """What the project's images use of what they may."""
    used, limits = image_quota_usage(project_id=project_id), image_quota_limits(project_id=project_id)
    limit_mib = limits.image_bytes // 2**20 if limits.image_bytes > 0 else limits.image_bytes
    return [
        QuotaLine(gettext_noop("Images"), "", used.images, limits.images),
        QuotaLine(gettext_noop("Image data"), "MiB", -(-used.image_bytes // 2**20), limit_mib),
        QuotaLine(gettext_noop("Image uploads now"), "", used.image_uploads, limits.image_uploads),
    ]
