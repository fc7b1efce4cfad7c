"""All living instances in numbers, from one look at an index: by state, by project, and how fast they become more."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Case, Count, F, IntegerField, Min, Q, QuerySet, Sum, When

from controlplane.identity.domain import Caller
from controlplane.infra.db import db_now, now_plus
from servers.catalog.domain.quota import QuotaAmounts
from servers.models import BuildRequest, Instance
from servers.states import TaskState, VmState, api_status

GROWTH_DAYS = 30.0
DAY_S = 86400.0
UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class Living:
    """`statuses` are those of the API, but UNKNOWN for what is on hosts that are silent; `used` is by project, as quota
    counts it. `grown` is by how much more is taken than GROWTH_DAYS ago, or than the first `age_days` ago.
    """

    statuses: Mapping[str, int]
    used: Mapping[UUID, QuotaAmounts]
    grown: Mapping[str, int]
    age_days: float
    unknown_by_host: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many there are, requests included that have no instance yet."""
        return sum(self.statuses.values())

    @property
    def unknown(self) -> int:
        """How many are on hosts that are silent."""
        return sum(self.unknown_by_host.values())


def living(*, caller: Caller, silent: Collection[str]) -> Living:
    """Of all projects for an admin, else of the caller's. Four queries, and one more where hosts are silent."""
    since = now_plus(-GROWTH_DAYS * DAY_S)
    rows = Instance.objects.filter(deleted_at__isnull=True).order_by()
    waiting = BuildRequest.objects.order_by()
    if not caller.sees_all:
        rows, waiting = rows.filter(project_id=caller.project_id), waiting.filter(project_id=caller.project_id)
    is_new = Q(created_at__gte=since)
    grouped = rows.values_list("project_id", "vm_state", "task_state").annotate(
        Count("pk"),
        Sum("vcpus"),
        Sum("memory_mib"),
        new_vcpus=_sum_where(is_new, "vcpus"),
        new_memory=_sum_where(is_new, "memory_mib"),
        first=Min("created_at"),
    )
    statuses: Counter[str] = Counter()
    used: defaultdict[UUID, Counter[str]] = defaultdict(Counter)
    grown: Counter[str] = Counter()
    oldest: datetime | None = None
    for project, vm_state, task, many, vcpus, memory, new_vcpus, new_memory, first in grouped:
        oldest = first if oldest is None else min(oldest, first)
        statuses[api_status(vm_state, task)] += many
        grown.update(VCPU=new_vcpus, MEMORY_MB=new_memory)
        if vm_state != VmState.SOFT_DELETE or task == TaskState.RESTORING:
            used[project].update(instances=many, cores=vcpus, ram_mib=memory)
    for project, many, vcpus, memory in waiting.values_list("project").annotate(
        Count("pk"), Sum("vcpus"), Sum("memory_mib")
    ):
        statuses["BUILD"] += many
        used[project].update(instances=many, cores=vcpus, ram_mib=memory)
    by_host = _on_silent_hosts(rows.filter(host__in=silent), statuses) if silent else {}
    return Living(
        statuses=dict(sorted((name, many) for name, many in statuses.items() if many)),
        used={project: QuotaAmounts(**of) for project, of in used.items()},
        grown=_net(grown, caller, since),
        age_days=GROWTH_DAYS if oldest is None else min(GROWTH_DAYS, (db_now() - oldest) / timedelta(days=1)),
        unknown_by_host=by_host,
    )


def _sum_where(condition: Q, column: str) -> Sum:
    return Sum(Case(When(condition, then=F(column)), default=0, output_field=IntegerField()))


def _on_silent_hosts(rows: QuerySet[Instance], statuses: Counter[str]) -> dict[str, int]:
    """Count those of silent hosts as UNKNOWN, and no longer as what they were: {host: how many}."""
    found: Counter[str] = Counter()
    for host, vm_state, task, many in rows.values_list("host", "vm_state", "task_state").annotate(Count("pk")):
        statuses[api_status(vm_state, task)] -= many
        statuses[UNKNOWN] += many
        found[host] += many
    return dict(found)


def _net(grown: Counter[str], caller: Caller, since: Any) -> dict[str, int]:
    """Less what was there at the beginning of the time and is deleted since."""
    gone = Instance.objects.filter(deleted_at__gte=since, created_at__lt=since).order_by()
    gone = gone if caller.sees_all else gone.filter(project_id=caller.project_id)
    less = gone.aggregate(VCPU=Sum("vcpus", default=0), MEMORY_MB=Sum("memory_mib", default=0))
    return {name: many - less[name] for name, many in grown.items()}
