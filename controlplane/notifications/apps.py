"""The notifications app."""

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    """The outbox, webhooks and deliveries."""

    name = "controlplane.notifications"
    label = "notifications"
    verbose_name = "Notifications"

    def ready(self) -> None:
        """Declare the periodic tasks and the check; models cannot be imported before all apps are loaded."""
        from django.core.checks import register  # noqa: PLC0415

        from controlplane.notifications.checks import check_event_patterns  # noqa: PLC0415
        from controlplane.notifications.jobs import periodic_tasks_register  # noqa: PLC0415

        periodic_tasks_register()
        register(check_event_patterns)
