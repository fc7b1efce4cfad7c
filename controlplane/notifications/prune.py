"""Old notifications go, with their deliveries and attempts."""

from controlplane.infra.models import Notification
from controlplane.infra.notifications.conf import notification_options
from controlplane.infra.retention import rows_prune


def notifications_prune() -> int:
    """Remove what is older than the retention; gives how many events."""
    return rows_prune(Notification, by="created_at", days=notification_options().retention_days)
