"""The launcher app."""

import gc

from django.apps import AppConfig

from controlplane.kernel.gc_pause import gc_resume


class LauncherConfig(AppConfig):
    """`manage.py up`: a whole installation on one machine. It has no models."""

    name = "controlplane.launcher"
    label = "launcher"
    verbose_name = "Launcher"

    def ready(self) -> None:
        """The last app is there: what is loaded stays, so no collection goes through it from now on."""
        gc.freeze()
        gc_resume()
