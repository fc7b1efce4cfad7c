"""Sessions that have expired and old entries of the admin's log go."""

from importlib import import_module

from django.conf import settings
from django.contrib.admin.models import LogEntry

from controlplane.identity.conf import identity_options
from controlplane.infra.retention import rows_prune


def sessions_prune() -> None:
    """Remove expired sessions, as `manage.py clearsessions` does."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()


def admin_log_prune() -> int:
    """Remove what is older than ADMIN_LOG_RETENTION_DAYS (0: nothing). Returns how many."""
    return rows_prune(LogEntry, by="action_time", days=identity_options().admin_log_retention_days)
