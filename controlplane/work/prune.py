"""Old rows of ended work go: what they did stands in actions, decisions and heals."""

from controlplane.infra.retention import rows_prune
from controlplane.work.conf import work_options
from controlplane.work.models import Work


def work_prune() -> int:
    """Remove what ended more than WORK_RETENTION_DAYS ago (0: nothing). Returns how many."""
    return rows_prune(Work, by="finished_at", days=work_options().work_retention_days)
