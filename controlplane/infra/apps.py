"""The infra app."""

from django.apps import AppConfig

from controlplane.infra import checks, kill_points
from controlplane.kernel.kill_points import is_on


class InfraConfig(AppConfig):
    """Work rows, doorbells and notifications, and the only importer of django_q."""

    name = "controlplane.infra"
    label = "infra"
    verbose_name = "Work and queues"

    def ready(self) -> None:
        """Register checks, declare the clean-ups; models cannot be imported before all apps are loaded."""
        from controlplane.infra.admin.work import queue_rows_hide  # noqa: PLC0415
        from controlplane.infra.notifications.jobs import chores_register  # noqa: PLC0415

        checks.register_all()
        chores_register()
        queue_rows_hide()
        if is_on():
            kill_points.install()
