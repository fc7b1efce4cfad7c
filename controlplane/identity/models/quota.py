"""Limits beside those of projects: the class that all fall back to, and what one user may have of a project."""

from typing import Any

from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.infra.models import Timestamped

_LIMIT: dict[str, Any] = {"null": True, "blank": True, "validators": [MinValueValidator(-1)]}
_UNSET = _("Empty: the installation's setting; -1: unlimited.")
_UNSET_OF_USER = _("Empty: no limit but the project's; -1: likewise.")


class QuotaClass(Timestamped):
    """What every project may have that has no limit of its own. Nova's class `default` is the only one."""

    name = models.CharField(max_length=64, unique=True, default="default", editable=False)
    instances = models.IntegerField(**_LIMIT, help_text=_UNSET)
    cores = models.IntegerField(**_LIMIT, help_text=_UNSET)
    ram_mib = models.IntegerField("RAM (MiB)", **_LIMIT, help_text=_UNSET)
    images = models.IntegerField(**_LIMIT, help_text=_UNSET)
    image_bytes = models.BigIntegerField("bytes of images", **_LIMIT, help_text=_UNSET)
    image_uploads = models.IntegerField("image uploads", **_LIMIT, help_text=_UNSET)
    networks = models.IntegerField(**_LIMIT, help_text=_UNSET)
    subnets = models.IntegerField(**_LIMIT, help_text=_UNSET)
    ports = models.IntegerField(**_LIMIT, help_text=_UNSET)
    routers = models.IntegerField(**_LIMIT, help_text=_UNSET)
    floating_ips = models.IntegerField("floating addresses", **_LIMIT, help_text=_UNSET)
    security_groups = models.IntegerField("security groups", **_LIMIT, help_text=_UNSET)
    security_group_rules = models.IntegerField("security group rules", **_LIMIT, help_text=_UNSET)
    volumes = models.IntegerField(**_LIMIT, help_text=_UNSET)
    volume_gib = models.IntegerField("volumes and snapshots (GiB)", **_LIMIT, help_text=_UNSET)
    volume_snapshots = models.IntegerField("volume snapshots", **_LIMIT, help_text=_UNSET)
    volume_backups = models.IntegerField("volume backups", **_LIMIT, help_text=_UNSET)
    volume_backup_gib = models.IntegerField("volume backups (GiB)", **_LIMIT, help_text=_UNSET)
    metadata_items = models.IntegerField("metadata items", **_LIMIT, help_text=_UNSET)
    injected_files = models.IntegerField("injected files", **_LIMIT, help_text=_UNSET)
    injected_file_content_bytes = models.IntegerField("bytes of an injected file", **_LIMIT, help_text=_UNSET)
    injected_file_path_bytes = models.IntegerField("bytes of its path", **_LIMIT, help_text=_UNSET)
    key_pairs = models.IntegerField("key pairs of a user", **_LIMIT, help_text=_UNSET)
    server_groups = models.IntegerField("server groups", **_LIMIT, help_text=_UNSET)
    server_group_members = models.IntegerField("members of a server group", **_LIMIT, help_text=_UNSET)

    class Meta:
        ordering = ["name"]
        verbose_name_plural = "quota classes"

    def __str__(self) -> str:
        return self.name


class UserQuota(Timestamped):
    """What one user may have of what a project may have. Counted are the instances that this user made in it, with
    key pairs wherever they were made, and server groups.
    """

    project = models.ForeignKey("identity.Project", on_delete=models.CASCADE, related_name="user_quotas")
    user = models.ForeignKey("identity.User", on_delete=models.CASCADE, related_name="+")
    instances = models.IntegerField(**_LIMIT, help_text=_UNSET_OF_USER)
    cores = models.IntegerField(**_LIMIT, help_text=_UNSET_OF_USER)
    ram_mib = models.IntegerField("RAM (MiB)", **_LIMIT, help_text=_UNSET_OF_USER)
    metadata_items = models.IntegerField("metadata items", **_LIMIT, help_text=_UNSET_OF_USER)
    injected_files = models.IntegerField("injected files", **_LIMIT, help_text=_UNSET_OF_USER)
    injected_file_content_bytes = models.IntegerField("bytes of an injected file", **_LIMIT, help_text=_UNSET_OF_USER)
    injected_file_path_bytes = models.IntegerField("bytes of its path", **_LIMIT, help_text=_UNSET_OF_USER)
    key_pairs = models.IntegerField("key pairs of a user", **_LIMIT, help_text=_UNSET_OF_USER)
    server_groups = models.IntegerField("server groups", **_LIMIT, help_text=_UNSET_OF_USER)
    server_group_members = models.IntegerField("members of a server group", **_LIMIT, help_text=_UNSET_OF_USER)

    class Meta:
        ordering = ["project", "user"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "user"],
                name="user_quota_once",
                violation_error_message="The user has limits in this project already.",
            )
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.project}"
