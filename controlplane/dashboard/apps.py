"""The dashboard app."""

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    """The pages. It has no models."""

    name = "controlplane.dashboard"
    label = "dashboard"
    verbose_name = "Dashboard"
