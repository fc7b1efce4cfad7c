"""A project: the owner of instances, and what quotas are counted against."""

from django.db import models

from controlplane.infra.models import Timestamped, UuidKeyed


class Project(UuidKeyed, Timestamped):
    """A tenant. Disabled, it refuses every caller but keeps all it owns, and what runs goes on running.

    A quota that is empty means the installation's default.
    """

    name = models.CharField(
        max_length=64,
        unique=True,
        error_messages={"unique": "A project with this name exists already."},
    )
    description = models.CharField(max_length=255, blank=True)
    enabled = models.BooleanField(default=True, help_text="Off: nobody can act in this project.")
    quota_instances = models.PositiveIntegerField("instances", null=True, blank=True, help_text="Empty: the default.")
    quota_cores = models.PositiveIntegerField(
        "cores", null=True, blank=True, help_text="vCPUs of all instances. Empty: the default."
    )
    quota_ram_mib = models.PositiveIntegerField(
        "RAM (MiB)", null=True, blank=True, help_text="Memory of all instances. Empty: the default."
    )

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
