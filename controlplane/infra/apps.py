"""The infra app."""

from django.apps import AppConfig
from django.core.signals import request_started

from controlplane.infra import kill_points
from controlplane.infra.persistent_connections import ended_connections_close
from controlplane.kernel.kill_points import is_on


class InfraConfig(AppConfig):
    """The ground floor in Django. It has no models; its migrations hand its former ones to their apps."""

    name = "controlplane.infra"
    label = "infra"
    verbose_name = "Infrastructure"

    def ready(self) -> None:
        """Register the lookup `among`, and what is looked at before each request. Let a drill strike at commits and
        steps where its environment asks for that.
        """
        from controlplane.infra import among  # noqa: F401, PLC0415 - registers itself, on fields that apps have first

        request_started.connect(ended_connections_close)
        if is_on():
            kill_points.install()
