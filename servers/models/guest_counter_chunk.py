"""What guests have used, sampled by their hosts: a few rows for each guest, however long it lives."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class GuestCounterChunk(models.Model):
    """Up to 20 samples of one guest, packed (`servers.instances.domain.guest_samples`), `step_s` seconds apart.

    The last hour is kept by the minute and a day by five minutes: about 20 rows of 1 KiB a guest. No foreign key: each
    sample would lock the row of its instance.
    """

    instance_uuid = models.UUIDField()
    step_s = models.PositiveSmallIntegerField()
    starts_s = models.BigIntegerField(help_text=_("When the chunk began, in Unix seconds by the database's clock."))
    last_s = models.BigIntegerField(help_text=_("When its last sample came."))
    samples = models.BinaryField()

    class Meta:
        ordering = ["instance_uuid", "step_s", "starts_s"]
        constraints = [
            models.UniqueConstraint(
                fields=["instance_uuid", "step_s", "starts_s"], name="guest_counter_chunk_once_per_time"
            )
        ]
        indexes = [models.Index(fields=["step_s", "starts_s"], name="guest_counter_chunk_age")]

    def __str__(self) -> str:
        return f"{self.instance_uuid} {self.step_s} {self.starts_s}"
