"""Old rows of ended work go: what they did stands in actions, decisions and heals."""

from django.conf import settings

from controlplane.infra.retention import rows_prune
from controlplane.work.models import Work


def work_prune() -> int:
    """Remove what ended more than WORK_RETENTION_DAYS ago (0: nothing). Returns how many."""
    return rows_prune(Work, by="finished_at", days=settings.KILONOVA["WORK_RETENTION_DAYS"])
