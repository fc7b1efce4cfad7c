"""Old notifications go, with their deliveries and attempts."""

from controlplane.infra.retention import rows_prune
from controlplane.notifications.conf import notification_options
from controlplane.notifications.models import Notification


def notifications_prune() -> int:
    """Remove what is older than the retention; gives how many events."""
    return rows_prune(Notification, by="created_at", days=notification_options().retention_days)
