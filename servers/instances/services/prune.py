"""This module removes deleted instances and images after a time, with all that hangs on them, in short transactions."""

import uuid
from collections.abc import Collection
from typing import Any

from django.db.models import Exists, Model, OuterRef, QuerySet

from controlplane.infra.db import now_plus
from controlplane.infra.retention import BATCH, DAY_S
from servers.conf import server_options
from servers.images.domain.images import ImageStatus
from servers.models import (
    AttemptRecord,
    BuildRequest,
    ConsoleLog,
    FirstBootData,
    GuestCounterChunk,
    GuestPassword,
    Image,
    Instance,
    InstanceAction,
    InstanceActionEvent,
    InstanceFault,
    InstanceMapping,
    RequestSpec,
    Screenshot,
    ServerGroupMember,
)

OF_AN_INSTANCE: tuple[type[Model], ...] = (
    InstanceAction,
    AttemptRecord,
    InstanceFault,
    InstanceMapping,
    RequestSpec,
    ServerGroupMember,
    ConsoleLog,
    GuestCounterChunk,
    FirstBootData,
    GuestPassword,
    Screenshot,
)
"""Rows that name their instance without a foreign key. Steps go with their actions, tags with the row itself."""
ENDED_BY: tuple[tuple[type[Model], str], ...] = (
    (InstanceAction, "started_at"),
    (AttemptRecord, "finished_at"),
    (InstanceFault, "created_at"),
)
"""History, and the time after which it is old where no instance is left that could say so."""


def deleted_instances_prune() -> int:
    """Remove what was deleted more than DELETED_RETENTION_DAYS ago (0: nothing). Returns how many instances went.

    The row of an instance goes last: cut off anywhere, the next round finds it again and goes on.
    """
    days = server_options().deleted_retention_days
    removed = 0
    while days:
        old = Instance.objects.filter(deleted_at__lt=now_plus(-days * DAY_S)).order_by("deleted_at")
        ids = list(old.values_list("pk", flat=True)[:BATCH])
        if not ids:
            _ownerless_prune(days)
            break
        _instances_remove(ids)
        removed += len(ids)
    return removed


def project_records_purge(project_id: uuid.UUID) -> None:
    """Remove the records of a project's deleted instances and images, whenever they were deleted: for a project that
    is removed itself. In the caller's transaction.
    """
    gone = Instance.objects.filter(project_id=project_id, deleted_at__isnull=False)
    while ids := list(gone.order_by().values_list("pk", flat=True)[:BATCH]):
        _instances_remove(ids)
    _batches_delete(Image.objects.filter(project_id=project_id, status=ImageStatus.DELETED))


def _instances_remove(ids: Collection[uuid.UUID]) -> None:
    for model in OF_AN_INSTANCE:
        _batches_delete(model._default_manager.filter(instance_uuid__in=ids))
    # Deleting an instance takes its tags along, in one statement for all.
    Instance.objects.filter(pk__in=ids, deleted_at__isnull=False).delete()


def deleted_images_prune() -> int:
    """Remove the rows of images deleted more than DELETED_RETENTION_DAYS ago (0: none). Returns how many.

    Those of the installation stay: by its row `up` knows that somebody deleted the demo image and does not want it.
    """
    days = server_options().deleted_retention_days
    if not days:
        return 0
    gone = Image.objects.filter(status=ImageStatus.DELETED, project__isnull=False)
    return _batches_delete(gone.filter(deleted_at__lt=now_plus(-days * DAY_S)))


def _ownerless_prune(days: float) -> None:
    """Remove the history of requests that were deleted before they became a row.

    Invariant: a row becomes a request in one transaction, and the other way round, so a statement that finds neither
    has found an instance that is gone.
    """
    rows = Instance.objects.filter(pk=OuterRef("instance_uuid"))
    requests = BuildRequest.objects.filter(instance_uuid=OuterRef("instance_uuid"))
    for model, time in ENDED_BY:
        old = model._default_manager.filter(**{f"{time}__lt": now_plus(-days * DAY_S)})
        _batches_delete(old.filter(~Exists(rows), ~Exists(requests)))


def _batches_delete(rows: "QuerySet[Any]") -> int:
    removed = 0
    while keys := list(rows.order_by().values_list("pk", flat=True)[:BATCH]):
        if rows.model is InstanceAction:
            _batches_delete(InstanceActionEvent.objects.filter(action__in=keys))
        rows.model._default_manager.filter(pk__in=keys).delete()
        removed += len(keys)
    return removed
