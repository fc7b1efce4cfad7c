"""When a host last failed a build, and whether its failures disabled it."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.infra.json_field import JsonField


class BuildFailures(models.Model):
    """Cell scope. One row for a host that failed a build; how many count stands in `ComputeNode.failed_builds`.

    `disabled_at` is set while the host is disabled for its failures, and by nobody else: an operator's word clears
    it, and then only an operator enables the host.
    """

    host = models.CharField(max_length=255, unique=True)
    total = models.PositiveBigIntegerField(
        default=0, help_text=_("Builds failed by this host since it was first seen.")
    )
    last_failed_at = models.DateTimeField(help_text=_("By the database's clock."))
    last_reason = models.TextField(blank=True, help_text=_("Step and message of the last one."))
    decayed_at = models.DateTimeField(help_text=_("From when the next half-life counts."))
    disabled_at = models.DateTimeField(null=True, blank=True)
    recent = JsonField(
        default=list, blank=True, help_text=_("The last ones, oldest first: instance, time and reason of each.")
    )

    class Meta:
        ordering = ["host"]
        verbose_name_plural = "build failures"

    def __str__(self) -> str:
        return self.host
