"""What the scheduler saw: fleets and the names of their hosts, each kept once however many decisions saw it."""

from django.db import models
from django.utils.translation import gettext_lazy as _

DIGEST_LENGTH = 40


class FleetSnapshot(models.Model):
    """API scope. Named by its content and never changed, so writers need no lock between them.

    A whole fleet, or what changed since `base` (a digest, no foreign key: what is pruned is simply not there).
    """

    digest = models.CharField(max_length=DIGEST_LENGTH, primary_key=True)
    base = models.CharField(
        max_length=DIGEST_LENGTH, blank=True, db_index=True, help_text=_("Empty for a whole fleet.")
    )
    content = models.BinaryField()
    size = models.PositiveIntegerField(help_text=_("Bytes of the content."))
    host_count = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        ordering = ["-created_at", "digest"]

    def __str__(self) -> str:
        return f"{'changes' if self.base else 'fleet'} {self.digest[:12]} of {self.host_count} hosts"


class HostNames(models.Model):
    """API scope. The names of the hosts and nodes that decisions speak of by row; named by its content.

    `unused_since` warns before it is pruned: who writes a decision clears it, and so keeps the row.
    """

    digest = models.CharField(max_length=DIGEST_LENGTH, primary_key=True)
    content = models.BinaryField()
    host_count = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)
    unused_since = models.DateTimeField(null=True, blank=True, help_text=_("No decision spoke of it when last looked."))

    class Meta:
        ordering = ["-created_at", "digest"]

    def __str__(self) -> str:
        return f"names of {self.host_count} hosts"
