"""The audit log app."""

from django.apps import AppConfig


class AuditLogConfig(AppConfig):
    """Entries of the audit log, their chain, and how services write them."""

    name = "controlplane.audit_log"
    label = "audit_log"
    verbose_name = "Audit log"

    def ready(self) -> None:
        """Follow what the Django admin saves by itself."""
        from controlplane.audit_log.recording.admin_edits import admin_edits_follow  # noqa: PLC0415

        admin_edits_follow()
