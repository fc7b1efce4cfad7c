"""A project: the owner of instances, and what quotas are counted against."""

from typing import Any

from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.infra.models import Timestamped, UuidKeyed

_FROM_UNLIMITED = [MinValueValidator(-1)]
_LIMIT: dict[str, Any] = {
    "null": True,
    "blank": True,
    "validators": _FROM_UNLIMITED,
    "help_text": _("Empty: the default; -1: unlimited."),
}


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
    enabled = models.BooleanField(default=True, help_text=_("Off: nobody can act in this project."))
    quota_instances = models.IntegerField(
        "instances",
        null=True,
        blank=True,
        validators=_FROM_UNLIMITED,
        help_text=_("Empty: the default; -1: unlimited."),
    )
    quota_cores = models.IntegerField(
        "cores",
        null=True,
        blank=True,
        validators=_FROM_UNLIMITED,
        help_text=_("vCPUs of all instances. Empty: the default; -1: unlimited."),
    )
    quota_ram_mib = models.IntegerField(
        "RAM (MiB)",
        null=True,
        blank=True,
        validators=_FROM_UNLIMITED,
        help_text=_("Memory of all instances. Empty: the default; -1: unlimited."),
    )
    quota_images = models.IntegerField(
        "images", null=True, blank=True, validators=_FROM_UNLIMITED, help_text=_("Empty: the default; -1: unlimited.")
    )
    quota_image_bytes = models.BigIntegerField(
        "bytes of images",
        null=True,
        blank=True,
        validators=_FROM_UNLIMITED,
        help_text=_("Files of all images together. Empty: the default; -1: unlimited."),
    )
    quota_image_uploads = models.IntegerField(
        "image uploads",
        null=True,
        blank=True,
        validators=_FROM_UNLIMITED,
        help_text=_("Uploads at the same time. Empty: the default; -1: unlimited."),
    )
    quota_networks = models.IntegerField("networks", **_LIMIT)
    quota_subnets = models.IntegerField("subnets", **_LIMIT)
    quota_ports = models.IntegerField("ports", **_LIMIT)
    quota_routers = models.IntegerField("routers", **_LIMIT)
    quota_floating_ips = models.IntegerField("floating addresses", **_LIMIT)
    quota_security_groups = models.IntegerField("security groups", **_LIMIT)
    quota_security_group_rules = models.IntegerField("security group rules", **_LIMIT)
    quota_volumes = models.IntegerField("volumes", **_LIMIT)
    quota_volume_gib = models.IntegerField("volumes and snapshots (GiB)", **_LIMIT)
    quota_volume_snapshots = models.IntegerField("volume snapshots", **_LIMIT)
    quota_volume_backups = models.IntegerField("volume backups", **_LIMIT)
    quota_volume_backup_gib = models.IntegerField("volume backups (GiB)", **_LIMIT)
    quota_metadata_items = models.IntegerField("metadata items", **_LIMIT)
    quota_injected_files = models.IntegerField("injected files", **_LIMIT)
    quota_injected_file_content_bytes = models.IntegerField("bytes of an injected file", **_LIMIT)
    quota_injected_file_path_bytes = models.IntegerField("bytes of its path", **_LIMIT)
    quota_key_pairs = models.IntegerField("key pairs of a user", **_LIMIT)
    quota_server_groups = models.IntegerField("server groups", **_LIMIT)
    quota_server_group_members = models.IntegerField("members of a server group", **_LIMIT)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
