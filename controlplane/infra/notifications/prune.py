"""Old notifications go, with their deliveries and attempts."""

from controlplane.infra.db import now_plus
from controlplane.infra.models import Notification
from controlplane.infra.notifications.conf import notification_options

BATCH = 500
DAY_S = 86400.0


def notifications_prune() -> int:
    """Remove what is older than the retention, a batch at a time; gives how many events."""
    days = notification_options().retention_days
    removed = 0
    while days:
        old = Notification.objects.filter(created_at__lt=now_plus(-days * DAY_S)).order_by("created_at")
        keys = list(old.values_list("pk", flat=True)[:BATCH])
        if not keys:
            break
        Notification.objects.filter(pk__in=keys).delete()
        removed += len(keys)
    return removed
