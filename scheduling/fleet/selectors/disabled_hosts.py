"""Hosts that the control plane disabled by itself."""

from dataclasses import dataclass
from datetime import datetime

from scheduling.models import BuildFailures


@dataclass(frozen=True, slots=True)
class FailingHost:
    """A host that is disabled since its builds failed. `reason` is what the last one said."""

    host: str
    reason: str
    disabled_at: datetime | None


def hosts_disabled_by_failures() -> list[FailingHost]:
    """The last one first. One query."""
    rows = BuildFailures.objects.filter(disabled_at__isnull=False).order_by("-disabled_at", "host")
    return [FailingHost(*row) for row in rows.values_list("host", "last_reason", "disabled_at")]
