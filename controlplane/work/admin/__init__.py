"""Work and heals in the Django admin."""

from controlplane.work.admin import heals, work

__all__ = ["heals", "work"]
