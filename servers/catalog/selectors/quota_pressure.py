"""Projects that have used up nearly all that they may have."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from controlplane.identity.models import Project
from controlplane.identity.selectors import limits_of_project, quota_defaults
from servers.catalog.domain.quota import UNLIMITED, QuotaAmounts

NEAR = 0.9
_LABELS = {"instances": ("instances", ""), "cores": ("vCPUs", ""), "ram_mib": ("memory", "MiB")}


@dataclass(frozen=True, slots=True)
class QuotaPressure:
    """One limit of a project that is nearly reached, or was reached. `unit` is as pages write amounts."""

    project_id: UUID
    project: str
    resource: str
    unit: str
    used: int
    limit: int

    @property
    def share(self) -> float:
        """How much of it is used, from NEAR on; above 1 where the limit was lowered since."""
        return self.used / self.limit if self.limit else 1.0


def quota_pressures(used: Mapping[UUID, QuotaAmounts]) -> list[QuotaPressure]:
    """Of these projects with what they use, the fullest first. Two queries."""
    defaults = quota_defaults()
    found = []
    for project in Project.objects.filter(pk__in=used, enabled=True):
        limits = limits_of_project(project, defaults)
        for name, (label, unit) in _LABELS.items():
            amount, limit = getattr(used[project.pk], name), getattr(limits, name)
            if limit != UNLIMITED and amount and amount >= NEAR * limit:
                found.append(QuotaPressure(project.pk, project.name, label, unit, amount, limit))
    return sorted(found, key=lambda one: -one.share)
