"""A project: the owner of instances, and what quotas are counted against."""

from django.core.validators import MinValueValidator
from django.db import models

from controlplane.infra.models import Timestamped, UuidKeyed

_FROM_UNLIMITED = [MinValueValidator(-1)]


class Project(UuidKeyed, Timestamped):
    """A tenant. Disabled, it refuses every caller but keeps all it owns, and what runs goes on running.

    A quota that is empty means the installation's default, and -1 that there is no limit, as in Nova.
    """

    name = models.CharField(
        max_length=64,
        unique=True,
        error_messages={"unique": "A project with this name exists already."},
    )
    description = models.CharField(max_length=255, blank=True)
    enabled = models.BooleanField(default=True, help_text="Off: nobody can act in this project.")
    quota_instances = models.IntegerField(
        "instances", null=True, blank=True, validators=_FROM_UNLIMITED, help_text="Empty: the default; -1: unlimited."
    )
    quota_cores = models.IntegerField(
        "cores",
        null=True,
        blank=True,
        validators=_FROM_UNLIMITED,
        help_text="vCPUs of all instances. Empty: the default; -1: unlimited.",
    )
    quota_ram_mib = models.IntegerField(
        "RAM (MiB)",
        null=True,
        blank=True,
        validators=_FROM_UNLIMITED,
        help_text="Memory of all instances. Empty: the default; -1: unlimited.",
    )
    quota_images = models.IntegerField(
        "images", null=True, blank=True, validators=_FROM_UNLIMITED, help_text="Empty: the default; -1: unlimited."
    )
    quota_image_bytes = models.BigIntegerField(
        "bytes of images",
        null=True,
        blank=True,
        validators=_FROM_UNLIMITED,
        help_text="Files of all images together. Empty: the default; -1: unlimited.",
    )
    quota_image_uploads = models.IntegerField(
        "image uploads",
        null=True,
        blank=True,
        validators=_FROM_UNLIMITED,
        help_text="Uploads at the same time. Empty: the default; -1: unlimited.",
    )

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
