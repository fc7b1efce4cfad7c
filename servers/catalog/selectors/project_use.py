"""What many projects use of their quotas, for lists: as many queries for fifty projects as for one."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import BigIntegerField, Count, Exists, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from servers.catalog.domain.quota import QuotaAmounts
from servers.models import BuildRequest, Instance
from servers.states import TaskState, VmState


def quota_usages(*, project_ids: Sequence[uuid.UUID]) -> Mapping[uuid.UUID, QuotaAmounts]:
    """By project what `quota_usage` counts for one; those that use nothing are left out. Two queries."""
    rows = _counted().filter(project_id__in=project_ids)
    made = Instance.objects.filter(pk=OuterRef("instance_uuid"))
    waiting = BuildRequest.objects.filter(~Exists(made), project_id__in=project_ids)
    found: dict[uuid.UUID, QuotaAmounts] = {}
    for each in (*_summed(rows), *_summed(waiting)):
        before = found.get(each["project_id"], QuotaAmounts(0, 0, 0))
        found[each["project_id"]] = QuotaAmounts(
            before.instances + each["many"], before.cores + each["cores"], before.ram_mib + each["ram_mib"]
        )
    return found


def use_order(column: str) -> Coalesce:
    """What each project uses, to sort projects by: a column of its instances summed, or `pk` for how many there are.
    What has no row yet is not in it.
    """
    own = _counted().filter(project_id=OuterRef("pk")).order_by().values("project_id")
    found = own.annotate(found=Count("pk") if column == "pk" else Sum(column)).values("found")
    return Coalesce(Subquery(found, output_field=BigIntegerField()), 0)


def _counted() -> "QuerySet[Instance]":
    counted = Q(task_state=TaskState.RESTORING) | ~Q(vm_state=VmState.SOFT_DELETE)
    return Instance.objects.filter(counted, deleted_at__isnull=True)


def _summed(rows: "QuerySet[Instance] | QuerySet[BuildRequest]") -> list[dict[str, Any]]:
    sums = {"many": Count("pk"), "cores": Sum("vcpus", default=0), "ram_mib": Sum("memory_mib", default=0)}
    return list(rows.order_by().values("project_id").annotate(**sums))
