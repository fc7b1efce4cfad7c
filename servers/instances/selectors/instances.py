"""Instances as callers may see them: rows of the cell, and build requests that have no row yet."""

import uuid
from collections.abc import Iterator, Sequence
from typing import Any, overload

from django.db.models import Count, QuerySet, Value

from controlplane.identity.domain import Caller
from controlplane.kernel.errors import NotFound
from servers.instances.domain.instance_details import InstanceDetails
from servers.instances.selectors.pending import pending_instance
from servers.models import (
    AttemptRecord,
    BuildRequest,
    ConsoleLog,
    Instance,
    InstanceAction,
    InstanceFault,
    RequestSpec,
)


def instance_row(instance_id: uuid.UUID) -> Instance:
    """The row, whoever asks. Raises NotFound."""
    instance = Instance.objects.filter(pk=instance_id).first()
    if instance is None:
        raise NotFound(f"Instance {instance_id} does not exist.")
    return instance


def instance_get(*, caller: Caller, instance_id: uuid.UUID) -> Instance:
    """An instance of the caller's project, or any for an admin; a build request as an unsaved row. Raises NotFound."""
    instance = _pending(instance_id) or Instance.objects.filter(pk=instance_id, deleted_at__isnull=True).first()
    if instance is None:
        instance = _pending(instance_id)  # it was scheduled again between the two questions
    if instance is None or not (caller.is_admin or instance.project_id == caller.project_id):
        raise NotFound(f"Instance {instance_id} does not exist.", field=None)
    return instance


def instance_details(instance: Instance) -> InstanceDetails:
    """What its owner may change of it. One query, none where its tags were read along."""
    tags = instance.pending_tags if instance.is_pending else [row.tag for row in instance.tags.all()]
    return InstanceDetails(instance.name, instance.description, dict(instance.metadata), tuple(sorted(tags)))


def _pending(instance_id: uuid.UUID) -> Instance | None:
    request = BuildRequest.objects.filter(instance_uuid=instance_id).first()
    return pending_instance(request) if request else None


def instances_visible(*, caller: Caller, all_projects: bool = False) -> QuerySet[Instance]:
    """Living instances in the caller's project; of every project for an admin who asks."""
    rows = Instance.objects.filter(deleted_at__isnull=True).prefetch_related("tags")
    return rows if all_projects and caller.is_admin else rows.filter(project_id=caller.project_id)


def pending_instances(*, caller: Caller, all_projects: bool = False) -> QuerySet[BuildRequest]:
    """The requests of instances that have no row yet, newest first."""
    rows = BuildRequest.objects.order_by("-created_at", "batch_index", "pk")
    return rows if all_projects and caller.is_admin else rows.filter(project_id=caller.project_id)


def instances_unknown(*, caller: Caller, ids: list[uuid.UUID]) -> list[uuid.UUID]:
    """Which of these are no living instances of the caller's project."""
    rows = Instance.objects.filter(pk__in=ids, deleted_at__isnull=True)
    if not caller.is_admin:
        rows = rows.filter(project_id=caller.project_id)
    known = set(rows.values_list("pk", flat=True))
    return [one for one in ids if one not in known]


def instances_on(*, host: str) -> list[Instance]:
    """Living instances of a host, newest first, at most 500. For admins."""
    return list(Instance.objects.filter(host=host, deleted_at__isnull=True).order_by("-created_at")[:500])


class PendingFirst(Sequence[Instance]):
    """Instances without a row, then those with one: two queries as one sequence that a paginator can slice.

    Only the bodies of a slice are read.
    """

    def __init__(self, pending: QuerySet[BuildRequest], rows: QuerySet[Instance]) -> None:
        self.pending, self.rows = pending, rows
        self._counts: tuple[int, int] | None = None

    def _counted(self) -> tuple[int, int]:
        """Requests and rows, in one statement, so that one that gets its row at this moment counts once."""
        if self._counts is None:
            parts: list[QuerySet[Any, Any]] = [
                query.order_by().values(part=Value(part)).annotate(many=Count("pk")).values_list("part", "many")
                for part, query in enumerate((self.pending, self.rows))
            ]
            counts = dict(parts[0].union(parts[1], all=True))
            self._counts = counts.get(0, 0), counts.get(1, 0)
        return self._counts

    def __len__(self) -> int:
        return sum(self._counted())

    @overload
    def __getitem__(self, index: int) -> Instance: ...
    @overload
    def __getitem__(self, index: slice) -> list[Instance]: ...
    def __getitem__(self, index: int | slice) -> Instance | list[Instance]:
        if isinstance(index, int):
            return self[index : index + 1][0]
        start, stop, _ = index.indices(len(self))
        ahead, _ = self._counted()
        if start >= ahead:
            return list(self.rows[start - ahead : stop - ahead])
        head = [pending_instance(request) for request in self.pending[start : min(stop, ahead)]]
        if stop <= ahead:
            return head
        # One that got its row between the two queries is in both: the build request wins.
        return [*head, *self.rows.exclude(pk__in=[one.pk for one in head])[: stop - ahead]]

    def __iter__(self) -> Iterator[Instance]:
        yield from self[:]


def latest_faults(instance_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, InstanceFault]:
    """The newest fault of each, in one query."""
    rows = InstanceFault.objects.filter(instance_uuid__in=instance_ids).order_by("created_at", "id")
    return {row.instance_uuid: row for row in rows}


def console_log_tail(*, instance_id: uuid.UUID, lines: int) -> str:
    """The last `lines` lines of the serial log as last sent by the agent; empty when it has written nothing."""
    row = ConsoleLog.objects.filter(pk=instance_id).first()
    return "\n".join(row.output.splitlines()[-lines:]) if row and lines > 0 else ""


def is_host_forced(instance_id: uuid.UUID) -> bool:
    """Whether its creator, an admin, named the host or node (`zone:host`, `zone:host:node` or `zone::node`)."""
    spec = RequestSpec.objects.filter(instance_uuid=instance_id).first()
    return spec is not None and spec.typed_body.is_host_forced


def journey(instance_id: uuid.UUID) -> dict[str, Any]:
    """Everything behind the timeline: actions with their steps, attempts, faults. Four queries."""
    actions = InstanceAction.objects.filter(instance_uuid=instance_id).prefetch_related("events").order_by("started_at")
    return {
        "actions": list(actions),
        "attempts": list(AttemptRecord.objects.filter(instance_uuid=instance_id).order_by("number")),
        "faults": list(InstanceFault.objects.filter(instance_uuid=instance_id).order_by("created_at")),
    }
