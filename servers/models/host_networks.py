"""How far each host is with its networks."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.infra.json_field import JsonField


class HostNetworkState(models.Model):
    """API scope. `wanted_revision` grows in the transaction of each change that concerns the host; `behind_since` is
    when it grew beyond what is applied, and means nothing while the host is not behind.
    """

    host = models.CharField(max_length=255, unique=True)
    wanted_revision = models.PositiveBigIntegerField(default=0)
    applied_revision = models.PositiveBigIntegerField(default=0)
    applied_at = models.DateTimeField(null=True, blank=True, help_text=_("By the database's clock."))
    behind_since = models.DateTimeField(null=True, blank=True, help_text=_("By the database's clock."))
    problems = JsonField(
        default=list, blank=True, help_text=_("What the host could not do: objects of `kind`, `id` and `message`.")
    )

    class Meta:
        ordering = ["host"]

    def __str__(self) -> str:
        return self.host
