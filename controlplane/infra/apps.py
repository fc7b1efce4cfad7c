"""The infra app."""

from django.apps import AppConfig


class InfraConfig(AppConfig):
    """Work rows and doorbells, and the only importer of django_q."""

    name = "controlplane.infra"
    label = "infra"
    verbose_name = "Work and queues"
