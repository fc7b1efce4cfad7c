"""How busy hosts were: a fixed number of rows for each host, written over again and again."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class HostUsageSample(models.Model):
    """Cell scope. The last report of a host within one step of time. `slot` counts the steps and begins anew after the
    last one, so a host has no more rows than there are slots, however long it lives.
    """

    host = models.CharField(max_length=255)
    step_s = models.PositiveIntegerField()
    slot = models.PositiveIntegerField()
    at_s = models.BigIntegerField(help_text=_("Unix seconds, by the database's clock."))
    cpu_percent = models.FloatField(null=True)
    memory_percent = models.FloatField(null=True)
    disk_percent = models.FloatField(null=True)
    vcpus_used = models.PositiveIntegerField(default=0, help_text=_("What its instances take, as its agent counts it."))
    memory_used_mib = models.PositiveBigIntegerField(default=0)
    disk_used_gib = models.PositiveBigIntegerField(default=0)
    running_guests = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["host", "step_s", "at_s"]
        constraints = [models.UniqueConstraint(fields=["host", "step_s", "slot"], name="host_usage_sample_slot")]

    def __str__(self) -> str:
        return f"{self.host} {self.step_s} {self.at_s}"
