"""The work app."""

from django.apps import AppConfig

from controlplane.work import checks


class WorkConfig(AppConfig):
    """Rows of work, wake-ups, named leases and heals; the only importer of django_q."""

    name = "controlplane.work"
    label = "work"
    verbose_name = "Work and queues"

    def ready(self) -> None:
        """Register the checks of queues and leases; django-q2's own rows are not shown in the admin."""
        from controlplane.work.admin.work import queue_rows_hide  # noqa: PLC0415

        checks.register_all()
        queue_rows_hide()
