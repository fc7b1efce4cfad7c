"""The dashboard app."""

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    """Pages that cross apps, and `manage.py up`. It has no models."""

    name = "controlplane.dashboard"
    label = "dashboard"
    verbose_name = "Dashboard"
