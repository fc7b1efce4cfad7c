"""The launcher app."""

from django.apps import AppConfig


class LauncherConfig(AppConfig):
    """`manage.py up`: a whole installation on one machine. It has no models."""

    name = "controlplane.launcher"
    label = "launcher"
    verbose_name = "Launcher"
