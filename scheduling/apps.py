"""The app: rows that every installation has are made after migrating, checks are registered."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate, pre_migrate

from scheduling import checks


class SchedulingConfig(AppConfig):
    """Fleet and scheduler."""

    name = "scheduling"
    label = "scheduling"
    verbose_name = "Scheduling"

    def ready(self) -> None:
        """Connect once; `dispatch_uid` keeps a second import from doing it twice."""
        # Models cannot be imported before all apps are loaded, and services import models.
        from controlplane.notifications.event_types import event_types_register  # noqa: PLC0415
        from scheduling.conf import scheduling_options  # noqa: PLC0415
        from scheduling.decisions.services.notifications import SCHEDULER_EVENTS  # noqa: PLC0415
        from scheduling.domain.plugins.loading import plugin_modules_allow  # noqa: PLC0415
        from scheduling.fleet.services.cells import cells_ensure_after_migrate  # noqa: PLC0415
        from scheduling.fleet.services.change_triggers import (  # noqa: PLC0415
            fleet_triggers_drop_before_migrate,
            fleet_triggers_ensure_after_migrate,
        )
        from scheduling.fleet.services.notifications import SERVICE_EVENTS  # noqa: PLC0415
        from scheduling.jobs import periodic_tasks_register  # noqa: PLC0415

        checks.register_all()
        periodic_tasks_register()
        event_types_register({*SCHEDULER_EVENTS, *SERVICE_EVENTS})
        plugin_modules_allow(lambda: scheduling_options().scheduler_plugin_modules)
        post_migrate.connect(
            cells_ensure_after_migrate, sender=self, dispatch_uid="scheduling.cells_ensure_after_migrate"
        )
        pre_migrate.connect(
            fleet_triggers_drop_before_migrate,
            sender=self,
            dispatch_uid="scheduling.fleet_triggers_drop_before_migrate",
        )
        # Of any app: the tables of others are watched as well, and each may be made anew by its own migrations.
        post_migrate.connect(
            fleet_triggers_ensure_after_migrate, dispatch_uid="scheduling.fleet_triggers_ensure_after_migrate"
        )
