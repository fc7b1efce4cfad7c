"""The notifications app."""

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    """The outbox, webhooks and deliveries."""

    name = "controlplane.notifications"
    label = "notifications"
    verbose_name = "Notifications"

    def ready(self) -> None:
        """Declare the periodic tasks, the check and the column of secrets; models cannot be imported before all apps
        are loaded.
        """
        from django.core.checks import register  # noqa: PLC0415

        from controlplane.infra.secret_columns import SecretColumn, secret_column_register  # noqa: PLC0415
        from controlplane.notifications.checks import check_event_patterns  # noqa: PLC0415
        from controlplane.notifications.jobs import periodic_tasks_register  # noqa: PLC0415
        from controlplane.notifications.models import Webhook  # noqa: PLC0415
        from controlplane.notifications.secret_encryption import PURPOSE  # noqa: PLC0415

        periodic_tasks_register()
        secret_column_register(SecretColumn("secret of webhook", Webhook, "encrypted_secret", PURPOSE))
        register(check_event_patterns)
