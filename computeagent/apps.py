"""The app of the agent: it has a management command and no rows."""

from django.apps import AppConfig


class ComputeAgentConfig(AppConfig):
    """What runs on a hypervisor."""

    name = "computeagent"
    label = "computeagent"
    verbose_name = "Compute agent"
