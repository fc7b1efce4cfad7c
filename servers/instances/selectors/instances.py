"""Instances as callers may see them: rows of the cell, and build requests that have no row yet."""

import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

from django.db import connection
from django.db.models import Count, JSONField, QuerySet, Value
from django.db.models.expressions import RawSQL

from controlplane.identity.domain import Caller
from controlplane.infra.among import uuids_value
from controlplane.infra.db import uuid_value
from controlplane.infra.prepared import PreparedQuery
from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _
from servers.instances.domain.instance_details import InstanceDetails
from servers.instances.selectors.pending import pending_instance
from servers.models import (
    AttemptRecord,
    BuildRequest,
    ConsoleLog,
    Instance,
    InstanceAction,
    InstanceFault,
    InstanceTag,
    RequestSpec,
)


def instance_row(instance_id: uuid.UUID) -> Instance:
    """The row, whoever asks. Raises NotFound."""
    instance = Instance.objects.filter(pk=instance_id).first()
    if instance is None:
        raise NotFound(_("Instance {instance_id} does not exist.", instance_id=instance_id))
    return instance


def instance_get(*, caller: Caller, instance_id: uuid.UUID) -> Instance:
    """An instance of the caller's project, or any for an admin; a build request as an unsaved row. Raises NotFound."""
    # A row and a build request follow one another in one transaction. It is asked for the likelier one first, and for
    # the row again, in case it got one between the two questions.
    instance = _living(instance_id) or _pending(instance_id) or _living(instance_id)
    if instance is None or not (caller.sees_all or instance.project_id == caller.own_project_id):
        raise NotFound(_("Instance {instance_id} does not exist.", instance_id=instance_id), field=None)
    return instance


def instance_details(instance: Instance) -> InstanceDetails:
    """What its owner may change of it. One query, none where its tags were read along."""
    known = instance.known_tags
    tags = [row.tag for row in instance.tags.all()] if known is None else known
    return InstanceDetails(
        instance.name,
        instance.description,
        dict(instance.metadata),
        tuple(sorted(tags)),
        instance.access_ip_v4,
        instance.access_ip_v6,
        instance.hostname,
        instance.disk_config,
    )


def instance_tags_read(instances: Iterable[Instance]) -> None:
    """Read the tags of these along, where they are not known yet. One query, none where all are."""
    unknown = {
        one.pk: one
        for one in instances
        if one.known_tags is None and "tags" not in getattr(one, "_prefetched_objects_cache", ())
    }
    if not unknown:
        return
    found: dict[uuid.UUID, list[str]] = {pk: [] for pk in unknown}
    for row in _TAGS.run([uuids_value(unknown)]):
        found[row.instance_id].append(row.tag)
    for pk, tags in found.items():
        unknown[pk].known_tags = tags


_TAGS_SQL = {
    "postgresql": "(SELECT coalesce(json_agg(tag), '[]')::text FROM servers_instancetag"
    " WHERE instance_id = servers_instance.id)",
    "sqlite": "(SELECT json_group_array(tag) FROM servers_instancetag WHERE instance_id = servers_instance.id)",
}


def _one_with_tags(instance_id: uuid.UUID) -> QuerySet[Instance]:
    tags = RawSQL(_TAGS_SQL[connection.vendor], [], output_field=JSONField())  # noqa: S611 - a constant
    rows = Instance.objects.filter(pk=instance_id, deleted_at__isnull=True).order_by()
    return rows.annotate(known_tags=tags)  # type: ignore[no-redef]  # it fills the attribute of this name


_LIVING = PreparedQuery("instance_living", _one_with_tags, types=["uuid"])
_TAGS = PreparedQuery(
    "instance_tags", lambda ids: InstanceTag.objects.filter(instance__pk__among=ids).order_by("tag"), types=["uuid[]"]
)


def _living(instance_id: uuid.UUID) -> Instance | None:
    return next(iter(_LIVING.run([uuid_value(instance_id)])), None)


def _pending(instance_id: uuid.UUID) -> Instance | None:
    request = BuildRequest.objects.filter(instance_uuid=instance_id).first()
    return pending_instance(request) if request else None


def instances_visible(*, caller: Caller, all_projects: bool = False) -> QuerySet[Instance]:
    """Living instances in the caller's project; of every project for an admin who asks."""
    rows = instances_ever(caller=caller, all_projects=all_projects)
    return rows.filter(deleted_at__isnull=True)


def instances_ever(*, caller: Caller, all_projects: bool = False) -> QuerySet[Instance]:
    """The same and those that were deleted, for as long as their rows stay."""
    rows = Instance.objects.prefetch_related("tags")
    return rows if all_projects and caller.sees_all else rows.filter(project_id=caller.project_id)


def instance_ever(*, caller: Caller, instance_id: uuid.UUID) -> Instance:
    """One of them, or of any project for an admin; a build request as an unsaved row. Raises NotFound."""
    found = instances_ever(caller=caller, all_projects=True).filter(pk=instance_id).first()
    return found or instance_get(caller=caller, instance_id=instance_id)


def pending_instances(*, caller: Caller, all_projects: bool = False) -> QuerySet[BuildRequest]:
    """The requests of instances that have no row yet, newest first."""
    rows = BuildRequest.objects.order_by("-created_at", "batch_index", "pk")
    return rows if all_projects and caller.sees_all else rows.filter(project_id=caller.project_id)


def instances_unknown(*, caller: Caller, ids: list[uuid.UUID], everywhere: bool = False) -> list[uuid.UUID]:
    """Which of these are no living instances of the caller's project, and no requests for one; of any, for
    administrators and `everywhere`.
    """
    requests = BuildRequest.objects.filter(instance_uuid__in=ids)
    rows = Instance.objects.filter(pk__in=ids, deleted_at__isnull=True)
    if not caller.sees_all and not everywhere:
        requests, rows = requests.filter(project_id=caller.project_id), rows.filter(project_id=caller.project_id)
    # Requests first: one that gets its row between the two questions is in the second answer.
    known = {*requests.values_list("instance_uuid", flat=True), *rows.values_list("pk", flat=True)}
    return [one for one in ids if one not in known]


def instances_on(*, host: str) -> list[Instance]:
    """Living instances of a host, newest first, at most 500. For admins."""
    return list(Instance.objects.filter(host=host, deleted_at__isnull=True).order_by("-created_at")[:500])


class PendingFirst(Sequence[Instance]):
    """Instances without a row, then those with one: two queries as one sequence that a paginator can slice, or walk.

    Only the bodies of a slice are read.
    """

    def __init__(self, pending: QuerySet[BuildRequest], rows: QuerySet[Instance]) -> None:
        self.pending, self.rows = pending, rows
        self.parts = pending, rows
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

    def shown(self, found: Sequence[tuple[int, Any]]) -> list[Instance]:
        """Of both parts. One that gets its row while the pages are read may be on two of them, and on none twice."""
        instances = (row if part else pending_instance(row) for part, row in found)
        return list({one.pk: one for one in reversed(list(instances))}.values())[::-1]


def latest_faults(instance_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, InstanceFault]:
    """The newest fault of each, in one query; none where nothing is asked for."""
    if not instance_ids:
        return {}
    rows = InstanceFault.objects.filter(instance_uuid__among=instance_ids).order_by("created_at", "id")
    return {row.instance_uuid: row for row in rows}


def console_log_tail(*, instance_id: uuid.UUID, lines: int) -> str:
    """The last `lines` lines of the serial log as last sent by the agent; empty when it has written nothing."""
    row = ConsoleLog.objects.filter(pk=instance_id).first()
    return "\n".join(row.output.splitlines()[-lines:]) if row and lines > 0 else ""


def console_log_stored(*, instance_id: uuid.UUID) -> bytes:
    """All of the serial log that is kept, as bytes of UTF-8."""
    row = ConsoleLog.objects.filter(pk=instance_id).first()
    return row.output.encode() if row else b""


def is_host_forced(instance_id: uuid.UUID) -> bool:
    """Whether its creator, an admin, named the host or node (`zone:host`, `zone:host:node` or `zone::node`)."""
    spec = RequestSpec.objects.filter(instance_uuid=instance_id).first()
    return spec is not None and spec.typed_body.is_host_forced


def instance_actions(*, instance_id: uuid.UUID) -> QuerySet[InstanceAction]:
    """What was asked for, the newest first: not what only a guest did by itself, which nobody asked for."""
    return (
        InstanceAction.objects.filter(instance_uuid=instance_id).exclude(request_id="").order_by("-started_at", "-id")
    )


def journey(instance_id: uuid.UUID) -> dict[str, Any]:
    """Everything behind the timeline: actions with their steps, attempts, faults. Four queries."""
    actions = InstanceAction.objects.filter(instance_uuid=instance_id).prefetch_related("events").order_by("started_at")
    return {
        "actions": list(actions),
        "attempts": list(AttemptRecord.objects.filter(instance_uuid=instance_id).order_by("number")),
        "faults": list(InstanceFault.objects.filter(instance_uuid=instance_id).order_by("created_at")),
    }
