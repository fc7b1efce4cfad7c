"""Rows of background work."""

from controlplane.work.models.heal import Heal
from controlplane.work.models.named_lease import NamedLease
from controlplane.work.models.wakeup import Wakeup
from controlplane.work.models.work import Work, WorkState

__all__ = ["Heal", "NamedLease", "Wakeup", "Work", "WorkState"]
