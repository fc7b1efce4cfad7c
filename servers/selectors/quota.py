"""Counting what a project uses. Usage is counted each time and never stored, as in Nova."""

import uuid
from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Sum
from django.db.models.functions import Coalesce

from controlplane.identity.selectors import quota_limits
from servers.domain.quota import UNLIMITED, Amounts
from servers.domain.states import VmState
from servers.models import BuildRequest, Instance


def quota_usage(*, project_id: uuid.UUID) -> Amounts:
    """Instances that are not deleted, and build requests that have no instance yet. Two queries."""
    living = Instance.objects.filter(project_id=project_id, deleted_at__isnull=True)
    rows = living.exclude(vm_state=VmState.SOFT_DELETE).aggregate(
        instances=Count("pk"), cores=Coalesce(Sum("vcpus"), 0), ram_mib=Coalesce(Sum("memory_mib"), 0)
    )
    has_instance = Exists(Instance.objects.filter(pk=OuterRef("instance_uuid")))
    pending = BuildRequest.objects.filter(~has_instance, project_id=project_id).aggregate(
        instances=Count("pk"), cores=Coalesce(Sum("vcpus"), 0), ram_mib=Coalesce(Sum("memory_mib"), 0)
    )
    return Amounts(**{name: rows[name] + pending[name] for name in ("instances", "cores", "ram_mib")})


def quota_limit_amounts(*, project_id: uuid.UUID) -> Amounts:
    """The project's limits; -1 means unlimited."""
    limits = quota_limits(project_id=project_id)
    return Amounts(instances=limits.instances, cores=limits.cores, ram_mib=limits.ram_mib)


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
