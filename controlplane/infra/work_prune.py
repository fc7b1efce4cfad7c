"""Old rows of ended work go: what they did stands in actions, decisions and heals."""

from django.conf import settings

from controlplane.infra.db import now_plus
from controlplane.infra.models import Work

BATCH = 500
DAY_S = 86400.0


def work_prune() -> int:
    """Remove what ended more than WORK_RETENTION_DAYS ago (0: nothing), a batch at a time. Returns how many."""
    days: float = settings.KILONOVA["WORK_RETENTION_DAYS"]
    removed = 0
    while days:
        old = Work.objects.filter(finished_at__lt=now_plus(-days * DAY_S)).order_by("finished_at")
        keys = list(old.values_list("pk", flat=True)[:BATCH])
        if not keys:
            break
        Work.objects.filter(pk__in=keys).delete()
        removed += len(keys)
    return removed
