"""Admin: what every app's stands on, and the ground floor's own rows."""

from controlplane.infra.admin import heals, notifications, work
from controlplane.infra.admin.bases import ReadOnlyAdmin, ReadOnlyInline, ThroughServicesAdmin, run_on_each

__all__ = ["ReadOnlyAdmin", "ReadOnlyInline", "ThroughServicesAdmin", "heals", "notifications", "run_on_each", "work"]
